package wire

import "strconv"

// AppendEvents appends to dst the events that a stream of a whole Message would
// have had (facts/claude-api.md 1.5): an [Assembler] fed with them gives the
// Message back, member by member in its order. Each block comes in one piece.
// The error is a *NotMessageError.
func AppendEvents(dst, message []byte) ([]byte, error) {
	if _, err := ReadMessage(message); err != nil {
		return dst, err
	}
	c := cursor{b: OneLine(nil, message)} // a line break would end the data of an event
	m := readObject(nil, &c)
	dst = appendStart(dst, m)
	content := cursor{b: m.get("content")}
	content.enter('[')
	for index := int64(0); content.element(); index++ {
		dst = appendBlock(dst, index, content.raw())
	}
	return appendStop(dst, m), nil
}

// isLate says whether a member of a Message is only known at its end.
func isLate(name []byte) bool {
	switch string(name) {
	case "stop_reason", "stop_sequence", "stop_details", "container":
		return true
	}
	return false
}

// appendStart appends message_start: the Message without content, without what
// is known at its end, and with one output token at most.
func appendStart(dst []byte, m object) []byte {
	dst = beginEvent(dst, "message_start")
	dst = append(dst, `,"message":`...)
	head := make(object, len(m))
	for i, member := range m {
		switch {
		case string(member.name) == "content":
			member.value = []byte("[]")
		case isLate(member.name):
			member.value = []byte("null")
		case string(member.name) == "usage":
			member.value = atStart(member.value)
		}
		head[i] = member
	}
	return append(head.append(dst), eventEnd...)
}

// atStart is a usage before any output.
func atStart(usage []byte) []byte {
	c := cursor{b: usage}
	u := readObject(nil, &c)
	if n, ok := number(u.get("output_tokens")); ok && n > 1 {
		u = u.set([]byte("output_tokens"), []byte("1"))
	}
	return u.append(nil)
}

// appendStop appends message_delta and message_stop.
func appendStop(dst []byte, m object) []byte {
	var late object
	for _, member := range m {
		if isLate(member.name) {
			late = append(late, member)
		}
	}
	dst = beginEvent(dst, "message_delta")
	dst = append(dst, `,"delta":`...)
	dst = late.append(dst)
	dst = append(dst, `,"usage":`...)
	dst = append(dst, m.get("usage")...)
	dst = append(dst, eventEnd...)
	return append(beginEvent(dst, "message_stop"), eventEnd...)
}

// appendBlock appends the start of a content block, what it holds as deltas, and
// its end.
func appendBlock(dst []byte, index int64, raw []byte) []byte {
	c := cursor{b: raw}
	b := readObject(nil, &c)
	if b == nil { // no block that anybody knows: its start has to do
		dst = beginBlock(dst, "content_block_start", index)
		dst = append(append(dst, `,"content_block":`...), raw...)
		dst = append(dst, eventEnd...)
		return append(beginBlock(dst, "content_block_stop", index), eventEnd...)
	}
	start, deltas := split(b)
	dst = beginBlock(dst, "content_block_start", index)
	dst = append(dst, `,"content_block":`...)
	dst = append(start.append(dst), eventEnd...)
	for _, d := range deltas {
		dst = beginBlock(dst, "content_block_delta", index)
		dst = append(dst, `,"delta":`...)
		dst = append(d.append(dst), eventEnd...)
	}
	return append(beginBlock(dst, "content_block_stop", index), eventEnd...)
}

// split divides a block into what its start shows and the deltas that fill it.
// Blocks without a type of delta come whole with their start.
func split(b object) (start object, deltas []object) {
	start = append(start, b...)
	switch kind := string(inside(b.get("type"))); kind {
	case "text":
		deltas = fill(start, deltas, "text_delta")
		deltas = spread(start, deltas, "citations_delta")
	case "thinking":
		deltas = fill(start, deltas, "thinking_delta")
		deltas = fill(start, deltas, "signature_delta")
	case "tool_use", "server_tool_use", "mcp_tool_use":
		deltas = fill(start, deltas, "input_json_delta")
	}
	return start, deltas
}

// fill empties a member of a block's start that a type of delta fills in one piece.
func fill(start object, deltas []object, delta string) []object {
	rule := ruleOf([]byte(delta))
	value := start.get(rule.member)
	if rule.join == joinJSON {
		if len(value) <= len("{}") || value[0] != '{' {
			return deltas
		}
		start.set([]byte(rule.member), []byte("{}"))
		return append(deltas, piece(rule, appendQuoted(nil, value)))
	}
	if len(value) <= len(`""`) || value[0] != '"' {
		return deltas
	}
	start.set([]byte(rule.member), []byte(`""`))
	return append(deltas, piece(rule, value))
}

// spread empties a list of a block's start that a type of delta fills element by
// element.
func spread(start object, deltas []object, delta string) []object {
	rule := ruleOf([]byte(delta))
	c := cursor{b: start.get(rule.member)}
	if !c.enter('[') {
		return deltas
	}
	for c.element() {
		deltas = append(deltas, piece(rule, c.raw()))
	}
	start.set([]byte(rule.member), []byte("[]"))
	return deltas
}

func piece(rule *deltaRule, value []byte) object {
	return object{{[]byte("type"), []byte(`"` + rule.delta + `"`)}, {[]byte(rule.field), value}}
}

// appendQuoted appends JSON as a JSON string.
func appendQuoted(dst, v []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, ch := range v {
		switch {
		case ch == '"' || ch == '\\':
			dst = append(dst, '\\', ch)
		case ch < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[ch>>4], hex[ch&15])
		default:
			dst = append(dst, ch)
		}
	}
	return append(dst, '"')
}

const eventEnd = "}\n\n"

// beginEvent begins an event and its data, which repeats its name.
func beginEvent(dst []byte, name string) []byte {
	dst = append(dst, "event: "...)
	dst = append(dst, name...)
	dst = append(dst, "\ndata: {\"type\":\""...)
	dst = append(dst, name...)
	return append(dst, '"')
}

func beginBlock(dst []byte, name string, index int64) []byte {
	dst = beginEvent(dst, name)
	dst = append(dst, `,"index":`...)
	return strconv.AppendInt(dst, index, 10)
}
