package wire

import "bytes"

// messages reads the list of messages.
func (p *parser) messages() error {
	if !p.c.enter('[') {
		p.c.raw()
		if p.wasNull() {
			return nil
		}
		return &BodyError{"messages", "is not a list"}
	}
	p.f.Has |= HasMessages
	for p.c.element() {
		if p.c.peek() != '{' {
			return &BodyError{"messages", "holds something that is not an object"}
		}
		p.message()
	}
	return nil
}

func (p *parser) message() {
	p.c.enter('{')
	documents := p.f.Documents
	assistant := false
	for key, ok := p.c.member(); ok; key, ok = p.c.member() {
		switch string(key) {
		case "role":
			role, _ := p.c.text()
			assistant = string(role) == "assistant"
		case "content":
			p.content()
		default:
			p.f.text.add(p.c.raw())
		}
	}
	p.f.Messages++
	p.f.Prefill = assistant
	p.f.AssistantDocument = p.f.AssistantDocument || assistant && p.f.Documents > documents
}

// content reads a string, which is one text block, or a list of blocks.
func (p *parser) content() {
	switch p.c.peek() {
	case '"':
		p.blocks.addKind(textKind)
		p.f.text.add(p.c.str())
	case '[':
		p.c.enter('[')
		for p.c.element() {
			p.block()
		}
	default:
		p.f.text.add(p.c.raw())
	}
}

var textKind = []byte("text")

// block reads one content block. Its type may come after what it rules.
func (p *parser) block() {
	if !p.c.enter('{') {
		p.f.text.add(p.c.raw())
		return
	}
	var kind []byte
	media := false
	for key, ok := p.c.member(); ok; key, ok = p.c.member() {
		switch string(key) {
		case "type":
			kind, _ = p.c.text()
		case "text":
			p.value()
		case "content":
			p.content()
		case "source":
			media = p.source()
		case "cache_control":
			p.cacheControl()
		default:
			p.f.text.add(p.c.raw())
		}
	}
	p.blocks.addKind(kind)
	switch {
	case string(kind) == "document":
		p.f.Documents += asCount(media)
	case media || string(kind) == "image":
		p.f.Images++
	}
}

func asCount(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// value weighs a string's inside, or anything else as it stands.
func (p *parser) value() {
	if p.c.peek() == '"' {
		p.f.text.add(p.c.str())
		return
	}
	p.f.text.add(p.c.raw())
}

// source reads the source of an image or document: media says that its text is
// not in the body (base64, a URL, a file), so that its size tells nothing.
func (p *parser) source() (media bool) {
	if !p.c.enter('{') {
		p.f.text.add(p.c.raw())
		return false
	}
	var kind, data []byte
	for key, ok := p.c.member(); ok; key, ok = p.c.member() {
		switch string(key) {
		case "type":
			kind, _ = p.c.text()
		case "data":
			data, _ = p.c.text()
		case "content":
			p.content()
		default:
			p.c.raw()
		}
	}
	switch string(kind) {
	case "text":
		p.f.text.add(data)
		return false
	case "content":
		return false
	}
	return true
}

// cacheControl notes the life of a cache entry: 5 minutes unless it says so.
func (p *parser) cacheControl() {
	v := p.c.raw()
	if len(v) < 2 || v[0] != '{' {
		return
	}
	c := cursor{b: v}
	c.enter('{')
	long := false
	for key, ok := c.member(); ok; key, ok = c.member() {
		if s, isText := c.text(); isText && string(key) == "ttl" {
			long = string(s) == "1h"
		}
	}
	p.f.Cache1h = p.f.Cache1h || long
	p.f.Cache5m = p.f.Cache5m || !long
}

// clientTools are the versioned tools that the caller runs itself: their cost
// is in the tokens of the bodies alone.
var clientTools = [...]string{"custom", "bash_", "text_editor_", "computer_", "memory_"}

// tools weighs the definitions and names the first tool that costs beyond them.
func (p *parser) tools() {
	if !p.c.enter('[') {
		p.c.raw()
		return
	}
	for p.c.element() {
		p.f.Tools++
		def := p.c.raw()
		p.f.text.add(def)
		p.tool(def)
	}
}

func (p *parser) tool(def []byte) {
	c := cursor{b: def}
	if !c.enter('{') {
		return
	}
	for {
		key, ok := c.member()
		switch {
		case !ok:
			return
		case string(key) == "type":
			if kind, isText := c.text(); isText && p.f.Metered == "" && !runByClient(kind) {
				p.f.Metered = decode(kind)
			}
		case string(key) == "cache_control":
			sub := parser{c: c}
			sub.cacheControl()
			c = sub.c
			p.f.Cache1h = p.f.Cache1h || sub.f.Cache1h
			p.f.Cache5m = p.f.Cache5m || sub.f.Cache5m
		default:
			c.raw()
		}
	}
}

func runByClient(kind []byte) bool {
	for _, prefix := range clientTools {
		if bytes.HasPrefix(kind, []byte(prefix)) {
			return true
		}
	}
	return false
}
