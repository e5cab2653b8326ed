package flotilla

import (
	"errors"
	"fmt"
	"io"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// createBody writes a create as it is read: one row's body is in memory at a
// time, however many make the batch.
type createBody struct {
	batch *batch
	src   Source
	next  int       // row of the batch to be written
	buf   []byte    // what stands around a body
	parts [3][]byte // not yet read: what stands before a body, the body, what stands after it
	err   error     // the source's: it is what ended the create
}

func newCreateBody(b *batch) *createBody {
	return &createBody{batch: b, src: b.stream.src, parts: [3][]byte{[]byte(wire.BatchHead)}}
}

// Read implements io.Reader. A row that cannot be read, or is no longer as long
// as it was counted, breaks the create off: what has left of it is no JSON.
func (c *createBody) Read(p []byte) (int, error) {
	for {
		for i := range c.parts {
			if part := c.parts[i]; len(part) > 0 {
				n := copy(p, part)
				c.parts[i] = part[n:]
				return n, nil
			}
		}
		if c.err == nil && c.next > len(c.batch.rows) {
			return 0, io.EOF
		}
		if c.err == nil {
			c.err = c.more()
		}
		if c.err != nil {
			return 0, c.err
		}
	}
}

// more writes the next row, or after the last the end of the list.
func (c *createBody) more() error {
	b := c.batch
	defer func() { c.next++ }()
	if c.next == len(b.rows) {
		c.parts = [3][]byte{[]byte(wire.BatchTail)}
		return nil
	}
	row := &b.rows[c.next]
	body, err := c.src.Body(row.index)
	if err != nil {
		return rowError(row.index, err)
	}
	if len(body) != int(row.size) {
		return rowError(row.index, errSizeChanged)
	}
	// The body is not copied: what a row without one has ends with its brace.
	c.buf = wire.AppendBatchItem(c.buf[:0], b.rowID(row.index), nil)
	before, after := c.buf[:len(c.buf)-len("}")], c.buf[len(c.buf)-len("}"):]
	if c.next == 0 {
		before = before[len(","):] // the first has none
	}
	c.parts = [3][]byte{before, body, after}
	return nil
}

var errSizeChanged = errors.New("its body is not as long as it was")

func rowError(row int, err error) error { return fmt.Errorf("reading row %d: %w", row+1, err) }
