package wire

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// SyntaxError is a fault in JSON and its place.
type SyntaxError struct {
	Offset int // of the byte at fault, from 0
	Fault  string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Fault, e.Offset+1) }

// maxDepth bounds nesting: the API's parser gives up near a thousand levels,
// and a bound keeps hostile input from growing any stack.
const maxDepth = 1000

// Valid checks that b is one JSON value that the API's parser takes: RFC 8259,
// UTF-8, no half of a surrogate pair in an escape ("The request body is not
// valid JSON: no low surrogate in string"), at most 1,000 levels deep.
func Valid(b []byte) error {
	c := checker{b: b, strict: true}
	return c.run()
}

// wellFormed is Valid for what others have sent us, where bytes that are not
// UTF-8 and half surrogates are no reason to throw an answer away.
func wellFormed(b []byte) bool {
	c := checker{b: b}
	return c.run() == nil
}

// checker walks JSON without recursion; arrays marks by one bit a level which
// levels are arrays.
type checker struct {
	b       []byte
	i       int
	strict  bool
	high    bool // a byte over 0x7f was seen
	depth   int
	arrays  [maxDepth/64 + 1]uint64
	failure *SyntaxError
}

func (c *checker) run() error {
	for c.value() && c.after() {
	}
	if c.failure != nil {
		return c.failure
	}
	if c.strict && c.high && !utf8.Valid(c.b) {
		return &SyntaxError{firstBadUTF8(c.b), "bytes that are not UTF-8"}
	}
	return nil
}

func (c *checker) fail(at int, fault string) bool {
	if at >= len(c.b) {
		fault = "unexpected end"
	}
	c.failure = &SyntaxError{at, fault}
	return false
}

func (c *checker) space() {
	for c.i < len(c.b) && isSpace(c.b[c.i]) {
		c.i++
	}
}

func (c *checker) peek() byte {
	if c.i < len(c.b) {
		return c.b[c.i]
	}
	return 0
}

// value reads openings up to and including one scalar or empty container; false
// on a fault.
func (c *checker) value() bool {
	for {
		c.space()
		switch ch := c.peek(); {
		case ch == '{' || ch == '[':
			empty, ok := c.open(ch)
			if !ok || empty {
				return ok
			}
		case ch == '"':
			return c.str()
		case ch == '-' || isDigit(ch):
			return c.number()
		case ch == 't':
			return c.word("true")
		case ch == 'f':
			return c.word("false")
		case ch == 'n':
			return c.word("null")
		default:
			return c.fail(c.i, "expected a value")
		}
	}
}

// open enters a container, up to its first value; empty says that it closed at once.
func (c *checker) open(ch byte) (empty, ok bool) {
	if c.depth == maxDepth {
		return false, c.fail(c.i, "nested deeper than 1,000 levels")
	}
	c.i++
	c.space()
	if c.peek() == ch+2 { // '[' + 2 == ']', '{' + 2 == '}'
		c.i++
		return true, true
	}
	word, bit := &c.arrays[c.depth/64], uint64(1)<<(c.depth%64)
	*word &^= bit
	c.depth++
	if ch == '[' {
		*word |= bit
		return false, true
	}
	return false, c.key()
}

// key reads a member's name and colon.
func (c *checker) key() bool {
	if c.peek() != '"' {
		return c.fail(c.i, "expected a field name in quotes")
	}
	if !c.str() {
		return false
	}
	c.space()
	if c.peek() != ':' {
		return c.fail(c.i, "expected a colon after a field name")
	}
	c.i++
	return true
}

// after reads what follows a value: closings, then a comma (true: another value
// comes) or the end.
func (c *checker) after() bool {
	for {
		c.space()
		if c.depth == 0 {
			if c.i < len(c.b) {
				return c.fail(c.i, "more after the end of the value")
			}
			return false
		}
		array := c.arrays[(c.depth-1)/64]>>((c.depth-1)%64)&1 == 1
		switch ch := c.peek(); {
		case ch == ']' && array, ch == '}' && !array:
			c.i++
			c.depth--
		case ch == ',':
			c.i++
			c.space()
			return array || c.key()
		case array:
			return c.fail(c.i, "expected a comma or ] in a list")
		default:
			return c.fail(c.i, "expected a comma or } in an object")
		}
	}
}

func (c *checker) word(w string) bool {
	for k := range len(w) {
		if c.i+k >= len(c.b) || c.b[c.i+k] != w[k] {
			return c.fail(c.i+k, "expected "+w)
		}
	}
	c.i += len(w)
	return true
}

func (c *checker) digits() bool {
	if !isDigit(c.peek()) {
		return c.fail(c.i, "expected a digit")
	}
	for isDigit(c.peek()) {
		c.i++
	}
	return true
}

func (c *checker) number() bool {
	if c.peek() == '-' {
		c.i++
	}
	if c.peek() == '0' {
		c.i++
	} else if !c.digits() {
		return false
	}
	if c.peek() == '.' {
		c.i++
		if !c.digits() {
			return false
		}
	}
	if ch := c.peek(); ch == 'e' || ch == 'E' {
		c.i++
		if s := c.peek(); s == '+' || s == '-' {
			c.i++
		}
		return c.digits()
	}
	return true
}

// str reads a string, the cursor on its opening quote.
func (c *checker) str() bool {
	c.i++
	for {
		c.plain()
		if c.i >= len(c.b) {
			return c.fail(c.i, "")
		}
		switch ch := c.b[c.i]; {
		case ch == '"':
			c.i++
			return true
		case ch == '\\':
			if !c.escape() {
				return false
			}
		case ch < ' ':
			return c.fail(c.i, "a raw control character in a string")
		default:
			c.i++
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain skips, eight at a time, bytes that mean nothing in a string: all but
// quote, backslash and control characters.
func (c *checker) plain() {
	b, i := c.b, c.i
	var seen uint64
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		stop := ((x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if stop != 0 {
			n := bits.TrailingZeros64(stop) / 8
			i += n
			seen |= x & (1<<(8*n) - 1)
			break
		}
		seen |= x
	}
	for ; i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\'; i++ {
		seen |= uint64(b[i])
	}
	c.i = i
	c.high = c.high || seen&highs != 0
}

// escape reads one escape sequence, or two that make a surrogate pair.
func (c *checker) escape() bool {
	at := c.i
	c.i++
	switch c.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.i++
		return true
	case 'u':
	default:
		return c.fail(c.i, "an escape that JSON does not have")
	}
	r, ok := hex4(c.b[c.i+1:])
	if !ok {
		return c.fail(at, "an escape \\u without four hexadecimal digits")
	}
	c.i += 5
	if !c.strict || r < 0xd800 || r > 0xdfff {
		return true
	}
	low, ok := lowSurrogate(c.b[c.i:])
	if r >= 0xdc00 || !ok || low == 0 {
		return c.fail(at, "half of a surrogate pair, which the API refuses")
	}
	c.i += 6
	return true
}

// hex4 reads the four digits of a \u escape.
func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, ch := range b[:4] {
		switch {
		case isDigit(ch):
			r = r<<4 | rune(ch-'0')
		case ch|0x20 >= 'a' && ch|0x20 <= 'f':
			r = r<<4 | rune(ch|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// lowSurrogate reads the escape of a low surrogate at the start of b.
func lowSurrogate(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	r, ok := hex4(b[2:])
	return r, ok && r >= 0xdc00 && r <= 0xdfff
}

func firstBadUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

func isSpace(ch byte) bool { return ch == ' ' || ch == '\n' || ch == '\r' || ch == '\t' }
func isDigit(ch byte) bool { return ch-'0' < 10 }
