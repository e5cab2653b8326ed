package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line that is read, as in the official clients: 32 MiB
// (facts/claude-api.md 1.5).
const MaxLine = 32 << 20

// firstBuffer is what a LineReader begins with: some lines of ordinary length.
const firstBuffer = 64 << 10

// Line is one row of JSON lines. Bytes are the reader's, until its next Next.
type Line struct {
	Bytes  []byte // without the line feed, and a carriage return before it
	Offset int64  // of Bytes in the input
	End    int64  // offset past the line's end, its line feed included
	Number int    // of the physical line, from 1, blank ones counted
	Torn   bool   // the input ended without a line feed: a last line that may be cut
}

// LongLineError is a line over MaxLine. Nothing can be read after it.
type LongLineError struct {
	Number int
	Offset int64
}

func (e *LongLineError) Error() string {
	return fmt.Sprintf("line %d is longer than %d MiB", e.Number, MaxLine>>20)
}

// LineReader reads JSON lines. Rows end at a line feed only: U+2028, U+2029,
// NEL and a carriage return inside a row are content. Lines of white space are
// skipped, a byte order mark at the very start too.
type LineReader struct {
	r      io.Reader
	buf    []byte // the bytes read and not yet given out are buf[from:]
	from   int
	offset int64 // of buf[from]
	number int
	err    error // the reader's end, io.EOF included
}

// NewLineReader reads lines from r, which it buffers.
func NewLineReader(r io.Reader) *LineReader {
	return &LineReader{r: r, buf: make([]byte, 0, firstBuffer)}
}

// Next is the next line that is not blank; io.EOF after the last, a
// *LongLineError, or an error of the reader.
func (l *LineReader) Next() (Line, error) {
	for {
		line, err := l.physical()
		if err != nil {
			return Line{}, err
		}
		if line.Number == 1 && bytes.HasPrefix(line.Bytes, byteOrderMark) {
			line.Bytes = line.Bytes[len(byteOrderMark):]
			line.Offset += int64(len(byteOrderMark))
		}
		line.Bytes = bytes.TrimSuffix(line.Bytes, []byte("\r"))
		if !blank(line.Bytes) {
			return line, nil
		}
	}
}

var byteOrderMark = []byte("\ufeff")

func blank(b []byte) bool {
	for _, ch := range b {
		if !isSpace(ch) {
			return false
		}
	}
	return true
}

// physical is the next line, blank or not.
func (l *LineReader) physical() (Line, error) {
	seen := 0 // bytes of buf[from:] known to hold no line feed
	for {
		n := bytes.IndexByte(l.buf[l.from+seen:], '\n')
		if n >= 0 {
			seen += n
		} else {
			seen = len(l.buf) - l.from
		}
		switch {
		case seen > MaxLine:
			return Line{}, &LongLineError{l.number + 1, l.offset}
		case n >= 0:
			return l.take(seen, 1), nil
		}
		if l.err != nil {
			if seen > 0 && errors.Is(l.err, io.EOF) {
				return l.take(seen, 0), nil
			}
			return Line{}, l.err
		}
		l.fill()
	}
}

// take gives out n bytes and passes over the line end after them.
func (l *LineReader) take(n, end int) Line {
	l.number++
	line := Line{
		Bytes: l.buf[l.from : l.from+n : l.from+n], Offset: l.offset,
		End: l.offset + int64(n+end), Number: l.number, Torn: end == 0,
	}
	l.from += n + end
	l.offset = line.End
	return line
}

// fill reads more, making room by moving what is left to the front or, when it
// fills the buffer, by doubling.
func (l *LineReader) fill() {
	if l.from > 0 {
		l.buf = l.buf[:copy(l.buf, l.buf[l.from:])]
		l.from = 0
	}
	if len(l.buf) == cap(l.buf) {
		grown := make([]byte, len(l.buf), 2*cap(l.buf))
		copy(grown, l.buf)
		l.buf = grown
	}
	for range 100 { // a reader that gives nothing and no error is broken
		n, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
		l.buf = l.buf[:len(l.buf)+n]
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}
