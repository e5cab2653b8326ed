package wire

// Canonical appends the canonical form of a valid body to dst: insignificant
// white space and a top-level stream left out, every other byte as it was, in
// its order (interface.md, Journal and provenance). Bodies that differ in more
// than that differ in it, so that a cache may miss but never hits falsely.
func Canonical(dst, body []byte) []byte {
	c := cursor{b: body}
	if !c.enter('{') {
		return appendTight(dst, body)
	}
	dst = append(dst, '{')
	first := true
	for key, ok := c.member(); ok; key, ok = c.member() {
		value := c.raw()
		if string(key) == "stream" {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, '"')
		dst = append(dst, key...)
		dst = append(dst, '"', ':')
		dst = appendTight(dst, value)
	}
	return append(dst, '}')
}

// appendTight appends JSON without its insignificant white space.
func appendTight(dst, v []byte) []byte {
	c := cursor{b: v}
	for c.peek() != 0 {
		start := c.i
		if c.b[c.i] == '"' {
			c.str()
		} else {
			for c.i < len(c.b) && c.b[c.i] != '"' && !isSpace(c.b[c.i]) {
				c.i++
			}
		}
		dst = append(dst, v[start:c.i]...)
	}
	return dst
}

// OneLine appends an answer to dst without the line breaks outside its strings
// (inside, JSON has them escaped; a raw U+2028 is no line break and stays).
func OneLine(dst, msg []byte) []byte {
	c := cursor{b: msg}
	start := 0
	for c.i < len(msg) {
		switch msg[c.i] {
		case '"':
			c.str()
		case '\n', '\r':
			dst = append(dst, msg[start:c.i]...)
			c.i++
			start = c.i
		default:
			c.i++
		}
	}
	return append(dst, msg[start:]...)
}

var streamTrue = []byte(`"stream":true,`)

// SpliceStream is the wire copy of a valid body whose answer shall come as a
// stream: "stream":true, put in after the first brace, the rest byte for byte.
// A body that has a stream field of its own, true or false, is returned as it
// is; streams says whether the answer will come as a stream.
func SpliceStream(body []byte) (wire []byte, streams bool) {
	c := cursor{b: body}
	if !c.enter('{') {
		return body, false
	}
	at := c.i
	empty := true
	for raw, ok := c.member(); ok; raw, ok = c.member() {
		empty = false
		if string(name(raw)) == "stream" {
			return body, string(c.raw()) == "true"
		}
		c.raw()
	}
	out := make([]byte, 0, len(body)+len(streamTrue))
	out = append(out, body[:at]...)
	out = append(out, streamTrue...)
	if empty { // no comma before the closing brace
		out = out[:len(out)-1]
	}
	return append(out, body[at:]...), true
}
