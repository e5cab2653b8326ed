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
	next  int    // row of the batch to be written
	buf   []byte // room for one item
	rest  []byte // of buf, not yet read
	err   error  // the source's: it is what ended the create
}

func newCreateBody(b *batch) *createBody {
	c := &createBody{batch: b, src: b.stream.src}
	c.rest = append(c.buf, wire.BatchHead...)
	return c
}

// Read implements io.Reader. A row that cannot be read, or is no longer as long
// as it was counted, breaks the create off: what has left of it is no JSON.
func (c *createBody) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
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
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// more writes the next row, or after the last the end of the list.
func (c *createBody) more() error {
	b := c.batch
	defer func() { c.next++ }()
	if c.next == len(b.rows) {
		c.rest = append(c.buf[:0], wire.BatchTail...)
		return nil
	}
	row := &b.rows[c.next].row
	body, err := c.src.Body(row.Index)
	if err != nil {
		return rowError(row.Index, err)
	}
	if len(body) != row.Facts.Size {
		return rowError(row.Index, errSizeChanged)
	}
	c.buf = wire.AppendBatchItem(c.buf[:0], b.rowID(row.Index), body)
	c.rest = c.buf
	if c.next == 0 {
		c.rest = c.buf[len(","):] // the first has none
	}
	return nil
}

var errSizeChanged = errors.New("its body is not as long as it was")

func rowError(row int, err error) error { return fmt.Errorf("reading row %d: %w", row+1, err) }
