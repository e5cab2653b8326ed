package emulator

import (
	"slices"

	"github.com/tidwall/gjson"
)

// callTokens is what a call of a tool takes beside its input.
const callTokens = 20

// toolCall is an answer that calls a tool. An input that max_tokens would cut is
// left empty: the API gives no half of one in a whole Message (assumed; no
// source says).
func toolCall(tool, input string, maxTokens int64) composed {
	c := composed{tool: tool, text: input, stop: ToolUse, out: callTokens + (stringShare(input)+perToken/2)/perToken}
	if !gjson.Valid(input) || !gjson.Parse(input).IsObject() {
		c.text = "{}"
	}
	if c.out > maxTokens {
		c.text, c.out, c.stop = "{}", maxTokens, MaxTokens
	}
	return c
}

// appendCall appends a tool_use block with some input.
func (p *reply) appendCall(b []byte, input string) []byte {
	b = append(b, `{"type":"tool_use","id":"`...)
	b = append(b, token("toolu_01", p.key, 22)...)
	b = append(b, `","name":`...)
	b = appendString(b, p.tool)
	b = append(b, `,"input":`...)
	b = append(b, input...)
	return append(b, '}')
}

// maxSampleDepth ends schemas that nest for ever.
const maxSampleDepth = 8

// appendSample appends a value that a JSON schema takes, as far as types, enum,
// const, required and minimum say.
func appendSample(b []byte, schema gjson.Result) []byte { return appendValue(b, schema, 0) }

func appendValue(b []byte, s gjson.Result, depth int) []byte {
	if c := s.Get("const"); c.Exists() {
		return append(b, c.Raw...)
	}
	if e := s.Get("enum.0"); e.Exists() {
		return append(b, e.Raw...)
	}
	switch kindOfSchema(s) {
	case "object":
		return appendObject(b, s, depth)
	case "array":
		return append(b, "[]"...)
	case "integer", "number":
		if low := s.Get("minimum"); low.Exists() {
			return append(b, low.Raw...)
		}
		return append(b, '1')
	case "boolean":
		return append(b, "true"...)
	case "null":
		return append(b, "null"...)
	}
	return append(b, `"sample"`...)
}

// kindOfSchema is the type, the first one where there are several.
func kindOfSchema(s gjson.Result) string {
	t := s.Get("type")
	if t.IsArray() {
		return t.Get("0").Str
	}
	if t.Str == "" && s.Get("properties").Exists() {
		return "object"
	}
	return t.Str
}

// appendObject appends an object with the required properties, in their order.
func appendObject(b []byte, s gjson.Result, depth int) []byte {
	b = append(b, '{')
	if depth < maxSampleDepth {
		var names []string // each once, so that a sample is no longer than its schema
		s.Get("required").ForEach(func(_, name gjson.Result) bool {
			if slices.Contains(names, name.Str) {
				return true
			}
			if len(names) > 0 {
				b = append(b, ',')
			}
			names = append(names, name.Str)
			b = append(appendString(b, name.Str), ':')
			b = appendValue(b, property(s, name.Str), depth+1)
			return true
		})
	}
	return append(b, '}')
}

// property finds a property by its name, which may hold what a path means
// otherwise.
func property(s gjson.Result, name string) (found gjson.Result) {
	s.Get("properties").ForEach(func(k, v gjson.Result) bool {
		if k.Str == name {
			found = v
		}
		return !found.Exists()
	})
	return found
}
