package gateway

import (
	"errors"
	"io"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// textReader reads JSON that is too long to be held, a value at a time. What
// value gives is checked to be JSON that the API takes; around values it knows
// objects and lists by their marks. Faults are *wire.SyntaxError with their
// place in the whole.
type textReader struct {
	r     io.Reader
	buf   []byte
	at    int   // buf[at:] is not yet read
	base  int64 // place of buf[0] in the whole
	total int64 // bytes read of r
	err   error // the end of r, io.EOF included
}

// readChunk is how much is read at once.
const readChunk = 64 << 10

// fill reads more, and moves what is not yet read to the front when there is no
// room behind it.
func (c *textReader) fill() error {
	if c.err != nil {
		return c.err
	}
	if cap(c.buf)-len(c.buf) < readChunk {
		rest := c.buf[c.at:]
		to := c.buf[:0]
		if len(rest)+readChunk > cap(c.buf) {
			to = make([]byte, 0, max(2*cap(c.buf), len(rest)+readChunk))
		}
		c.base += int64(c.at)
		c.buf, c.at = append(to, rest...), 0
	}
	n, err := c.r.Read(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	c.total += int64(n)
	if err != nil {
		c.err = err
	}
	if n > 0 {
		return nil
	}
	return err
}

// peek is the next byte that is not white space.
func (c *textReader) peek() (byte, error) {
	for {
		for c.at < len(c.buf) {
			if b := c.buf[c.at]; b != ' ' && b != '\n' && b != '\r' && b != '\t' {
				return b, nil
			}
			c.at++
		}
		if err := c.fill(); errors.Is(err, io.EOF) {
			return 0, c.fail("unexpected end")
		} else if err != nil {
			return 0, err
		}
	}
}

// fail is a fault at the place that comes next.
func (c *textReader) fail(fault string) error {
	return &wire.SyntaxError{Offset: int(c.base) + c.at, Fault: fault}
}

// end makes sure that nothing follows.
func (c *textReader) end() error {
	_, err := c.peek()
	if err == nil {
		return c.fail("more after the end of the value")
	}
	if errors.Is(c.err, io.EOF) {
		return nil
	}
	return err
}

// members reads an object: member is called with the raw text of each name, and
// reads the value.
func (c *textReader) members(member func(name []byte) error) error {
	return c.list('}', func() error {
		if b, err := c.peek(); err != nil {
			return err
		} else if b != '"' {
			return c.fail("expected a field name in quotes")
		}
		name, err := c.value()
		if err != nil {
			return err
		}
		name = append([]byte(nil), name...) // the next peek may move it
		if b, err := c.peek(); err != nil {
			return err
		} else if b != ':' {
			return c.fail("expected a colon after a field name")
		}
		c.at++
		return member(name)
	})
}

// elements reads a list; element reads one value.
func (c *textReader) elements(element func() error) error { return c.list(']', element) }

// list reads what stands between an opening mark, which comes next, and its end.
func (c *textReader) list(end byte, item func() error) error {
	c.at++
	b, err := c.peek()
	if err != nil {
		return err
	}
	if b == end {
		c.at++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		b, err := c.peek()
		switch {
		case err != nil:
			return err
		case b == end:
			c.at++
			return nil
		case b != ',':
			return c.fail("expected a comma or " + string(end))
		}
		c.at++
	}
}

// value reads one whole value, which is the reader's until the next read. One
// over wire.MaxLine is errUpload.
func (c *textReader) value() ([]byte, error) {
	if _, err := c.peek(); err != nil {
		return nil, err
	}
	var s span
	for n := 0; ; {
		if n += s.pass(c.buf[c.at+n:]); s.whole {
			return c.took(n)
		}
		if n > wire.MaxLine {
			return nil, errUpload
		}
		err := c.fill()
		switch {
		case errors.Is(err, io.EOF):
			return c.took(n)
		case err != nil:
			return nil, err
		}
	}
}

// took gives out the next n bytes, checked.
func (c *textReader) took(n int) ([]byte, error) {
	raw := c.buf[c.at : c.at+n : c.at+n]
	var at *wire.SyntaxError
	if err := wire.Valid(raw); errors.As(err, &at) {
		return nil, &wire.SyntaxError{Offset: int(c.base) + c.at + at.Offset, Fault: at.Fault}
	} else if err != nil {
		return nil, err
	}
	c.at += n
	return raw, nil
}

// span finds where a value ends, whatever is wrong inside of it.
type span struct {
	depth  int
	text   bool // inside a string
	escape bool // behind a backslash there
	word   bool // inside a number, true, false or null
	whole  bool
}

// pass goes over the bytes that belong to the value, and says how many.
func (s *span) pass(b []byte) int {
	for i, ch := range b {
		switch {
		case s.escape:
			s.escape = false
		case s.text:
			s.escape = ch == '\\'
			s.text = ch != '"'
			s.whole = !s.text && s.depth == 0
		case s.word && (ch == ',' || ch == ']' || ch == '}' || ch == ':' || ch <= ' '):
			s.whole = true
			return i
		case s.word:
		case ch == '"':
			s.text = true
		case ch == '{' || ch == '[':
			s.depth++
		case ch == '}' || ch == ']':
			s.depth--
			s.whole = s.depth <= 0
		default:
			s.word = s.depth == 0
		}
		if s.whole {
			return i + 1
		}
	}
	return len(b)
}
