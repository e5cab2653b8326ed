package emulator

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// request is a Messages body that was read, with the fields that matter here.
type request struct {
	model                 string
	entry                 *entry
	index                 int // in the catalog
	maxTokens             int64
	stream                bool
	fast                  bool
	est                   int64 // 0: not counted yet
	geo                   string
	messages              gjson.Result
	system, tools         gjson.Result
	temperature, topP     gjson.Result
	topK, thinking        gjson.Result
	toolChoice, stops     gjson.Result
	speed, tier           gjson.Result
	cacheControl          gjson.Result
	modelField, maxField  gjson.Result
	streamField, geoField gjson.Result
	marked                bool     // a cache_control occurs somewhere
	marks                 []Prefix // of [request.prefixes]
	unknown               string   // the first field that no version knows
	unbatched             string   // the first field that batches do not take
	longOut               bool     // the longest answers of batches are asked for
}

// fields gives where each known field of a body goes.
func (r *request) field(name string) *gjson.Result {
	switch name {
	case "model":
		return &r.modelField
	case "max_tokens":
		return &r.maxField
	case "messages":
		return &r.messages
	case "stream":
		return &r.streamField
	case "system":
		return &r.system
	case "temperature":
		return &r.temperature
	case "top_p":
		return &r.topP
	case "top_k":
		return &r.topK
	case "stop_sequences":
		return &r.stops
	case "thinking":
		return &r.thinking
	case "tools":
		return &r.tools
	case "tool_choice":
		return &r.toolChoice
	case "speed":
		return &r.speed
	case "service_tier":
		return &r.tier
	case "inference_geo":
		return &r.geoField
	case "cache_control":
		return &r.cacheControl
	}
	return nil
}

// passed are fields that are known and change nothing here.
var passed = map[string]bool{
	"metadata": true, "output_config": true, "output_format": true, "container": true,
	"diagnostics": true, "context_management": true, "mcp_servers": true, "compaction": true,
}

// readRequest takes a body apart. It refuses what is not a JSON object.
func readRequest(body []byte) (*request, *apiError) {
	if !gjson.ValidBytes(body) {
		return nil, invalid("The request body is not valid JSON: %s", jsonFault(body))
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		return nil, invalid("The request body is not valid JSON: expected an object")
	}
	r := &request{index: -1, marked: bytes.Contains(body, []byte(`"cache_control"`))}
	root.ForEach(func(k, v gjson.Result) bool {
		name := k.String()
		if r.unbatched == "" && refusedInBatch(name, v) {
			r.unbatched = name
		}
		if f := r.field(name); f != nil {
			*f = v
		} else if !passed[name] && r.unknown == "" {
			r.unknown = name
		}
		return true
	})
	r.stream = r.streamField.Bool()
	return r, nil
}

// jsonFault says where JSON breaks, in the standard library's words: gjson
// only says that it does.
func jsonFault(body []byte) string {
	var v any
	err := json.Unmarshal(body, &v)
	if err == nil {
		return "unknown fault"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// prompt is the text of the last message, which answer rules look at.
func (r *request) prompt() string {
	var last gjson.Result
	r.messages.ForEach(func(_, m gjson.Result) bool {
		last = m
		return true
	})
	return messageText(last)
}

// messageText joins the text blocks of a message.
func messageText(m gjson.Result) string {
	c := m.Get("content")
	if c.Type == gjson.String {
		return c.Str
	}
	var b strings.Builder
	c.ForEach(func(_, block gjson.Result) bool {
		if block.Get("type").Str == "text" {
			b.WriteString(block.Get("text").Str)
		}
		return true
	})
	return b.String()
}
