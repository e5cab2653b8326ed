package wire

import (
	"bytes"
	"encoding/json"
)

// cursor walks JSON that has been checked. It allocates nothing and goes
// forward only; on bytes that were not checked it may stop short but never
// leaves them.
type cursor struct {
	b []byte
	i int
}

func (c *cursor) space() {
	for c.i < len(c.b) && isSpace(c.b[c.i]) {
		c.i++
	}
}

// peek is the first byte of the next token; 0 at the end.
func (c *cursor) peek() byte {
	c.space()
	if c.i < len(c.b) {
		return c.b[c.i]
	}
	return 0
}

// enter steps into an object ('{') or a list ('['); false, moving nothing,
// when the next value is something else.
func (c *cursor) enter(open byte) bool {
	if c.peek() != open {
		return false
	}
	c.i++
	return true
}

// member steps to the next member of the object the cursor is in and gives its
// name, raw and without quotes; false past the last one.
func (c *cursor) member() (name []byte, ok bool) {
	if c.peek() == ',' {
		c.i++
	}
	if c.peek() != '"' {
		c.i = min(c.i+1, len(c.b)) // the closing brace
		return nil, false
	}
	name = c.str()
	if c.peek() == ':' {
		c.i++
	}
	return name, true
}

// element steps to the next element of a list; false past the last one.
func (c *cursor) element() bool {
	switch c.peek() {
	case ',':
		c.i++
		return true
	case ']', '}', 0:
		c.i = min(c.i+1, len(c.b))
		return false
	}
	return true
}

// str reads a string, raw and without quotes. The cursor is on its first quote.
func (c *cursor) str() []byte {
	c.i++
	start := c.i
	for {
		n := bytes.IndexByte(c.b[c.i:], '"')
		if n < 0 {
			c.i = len(c.b)
			return c.b[min(start, c.i):]
		}
		c.i += n + 1
		if end := c.i - 1; !escaped(c.b[start:end]) {
			return c.b[start:end]
		}
	}
}

// escaped says whether the byte after b is escaped: b ends in an odd number of
// backslashes.
func escaped(b []byte) bool {
	n := len(b)
	for n > 0 && b[n-1] == '\\' {
		n--
	}
	return (len(b)-n)%2 == 1
}

// raw reads the next value whatever it is and gives its bytes.
func (c *cursor) raw() []byte {
	first := c.peek()
	start := c.i
	switch first {
	case '"':
		c.str()
	case '{', '[':
		c.nested()
	default:
		for c.i < len(c.b) && !isSpace(c.b[c.i]) && c.b[c.i] != ',' && c.b[c.i] != ']' && c.b[c.i] != '}' {
			c.i++
		}
	}
	return c.b[min(start, len(c.b)):min(c.i, len(c.b))]
}

// nested skips an object or a list.
func (c *cursor) nested() {
	depth := 0
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case '"':
			c.str()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		c.i++
		if depth == 0 {
			return
		}
	}
}

// text reads the next value as a string, raw and without quotes; false, with
// the value skipped, when it is something else.
func (c *cursor) text() (s []byte, ok bool) {
	if c.peek() == '"' {
		return c.str(), true
	}
	c.raw()
	return nil, false
}

// decode is the Go string that a raw JSON string (without quotes) spells.
func decode(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	quoted := append(append([]byte{'"'}, raw...), '"')
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return string(raw)
	}
	return s
}

// name is a raw member name with its escapes undone; the common case copies
// nothing.
func name(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return []byte(decode(raw))
}
