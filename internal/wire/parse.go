package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// BodyError is a fault in a body that is well-formed JSON: a field that is no
// Messages field's type, or one that occurs twice.
type BodyError struct {
	Field string
	Fault string
}

func (e *BodyError) Error() string { return e.Field + ": " + e.Fault }

var errNotObject = errors.New("a request body is a JSON object")

// Parse reads the facts out of a Messages body. Its errors are a *SyntaxError,
// a *BodyError, or that the body is no object. Fields that are required and
// absent are no error here: see [Facts.Missing].
func Parse(body []byte) (Facts, error) {
	p := parser{}
	p.f.MaxTokens = -1
	if err := Valid(body); err != nil {
		return p.f, fmt.Errorf("not valid JSON: %w", err)
	}
	p.c.b = body
	if !p.c.enter('{') {
		return p.f, errNotObject
	}
	for raw, ok := p.c.member(); ok; raw, ok = p.c.member() {
		key := name(raw)
		if p.fields.add(key) {
			return p.f, &BodyError{string(key), "occurs twice"}
		}
		if err := p.field(key); err != nil {
			return p.f, err
		}
	}
	p.f.Shape = p.shape()
	batchable, _ := Batchable(&p.f)
	p.f.Alone = !batchable
	return p.f, nil
}

// parser collects the facts of one body.
type parser struct {
	c      cursor
	f      Facts
	fields names // top-level
	blocks names // content block types, and thinking.type
}

// field reads the value of one top-level field.
func (p *parser) field(key []byte) error {
	f := &p.f
	switch string(key) {
	case "model":
		return p.str(HasModel, "model", &f.Model)
	case "max_tokens":
		return p.count(HasMaxTokens, "max_tokens", &f.MaxTokens)
	case "messages":
		return p.messages()
	case "system":
		f.Has |= HasSystem
		p.content()
	case "stream":
		return p.boolean(HasStream, "stream", &f.Stream)
	case "temperature":
		return p.number(HasTemperature, "temperature", &f.Temperature)
	case "top_p":
		return p.number(HasTopP, "top_p", &f.TopP)
	case "top_k":
		return p.count(HasTopK, "top_k", &f.TopK)
	case "thinking":
		f.Has |= HasThinking
		f.Thinking = p.typed()
	case "tool_choice":
		f.Has |= HasToolChoice
		f.ToolChoice = p.typed()
	case "tools":
		f.Has |= HasTools
		p.tools()
	case "inference_geo":
		return p.str(HasGeo, "inference_geo", &f.Geo)
	case "speed":
		return p.str(HasSpeed, "speed", &f.Speed)
	case "service_tier":
		return p.str(HasServiceTier, "service_tier", &f.ServiceTier)
	case "cache_control":
		f.Has |= HasCacheControl
		p.cacheControl()
	case "output_config":
		f.text.add(p.c.raw()) // a format's schema is read by the model
	case "mcp_servers", "container":
		if v := p.c.raw(); len(v) > 2 && string(v) != "null" && f.Metered == "" {
			f.Metered = string(key)
		}
	case "context_management":
		if bytes.Contains(p.c.raw(), []byte(`"compact`)) && f.Metered == "" {
			f.Metered = "context_management" // a compaction is a turn of its own, billed beside the answer
		}
	case "store", "previous_thread_event_id", "cache_hint", "context_hint", "research_preview_2026_02":
		p.alone(string(key))
	default:
		p.c.raw()
	}
	return nil
}

// str reads a string field; null counts as absent, for all fields.
func (p *parser) str(bit Field, field string, to *string) error {
	if s, ok := p.c.text(); ok {
		p.f.Has |= bit
		*to = decode(s)
		return nil
	} else if p.wasNull() {
		return nil
	}
	return &BodyError{field, "is not a string"}
}

func (p *parser) number(bit Field, field string, to *float64) error {
	v := p.c.raw()
	if string(v) == "null" {
		return nil
	}
	x, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return &BodyError{field, "is not a number"}
	}
	p.f.Has |= bit
	*to = x
	return nil
}

// count reads a whole number that is not negative, however it is spelled
// ("1e3" is 1000, as the API reads it).
func (p *parser) count(bit Field, field string, to *int64) error {
	v := p.c.raw()
	if string(v) == "null" {
		return nil
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		x, ferr := strconv.ParseFloat(string(v), 64)
		if ferr != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return &BodyError{field, "is not a whole number"}
		}
		n = int64(x)
	}
	if n < 0 {
		return &BodyError{field, "is negative"}
	}
	p.f.Has |= bit
	*to = n
	return nil
}

func (p *parser) boolean(bit Field, field string, to *bool) error {
	switch string(p.c.raw()) {
	case "true":
		*to = true
	case "false":
	case "null":
		return nil
	default:
		return &BodyError{field, "is not true or false"}
	}
	p.f.Has |= bit
	return nil
}

// wasNull says whether the value just skipped was null.
func (p *parser) wasNull() bool {
	return bytes.HasSuffix(p.c.b[:p.c.i], []byte("null"))
}

// typed reads an object's type and skips the rest.
func (p *parser) typed() (kind string) {
	if !p.c.enter('{') {
		p.c.raw()
		return ""
	}
	for key, ok := p.c.member(); ok; key, ok = p.c.member() {
		if s, isText := p.c.text(); isText && string(key) == "type" {
			kind = decode(s)
		}
	}
	return kind
}
