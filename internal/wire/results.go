package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Types of a ResultLine. Only a succeeded row is billed (facts/claude-api.md
// 4.4).
const (
	RowSucceeded = "succeeded"
	RowErrored   = "errored"
	RowCanceled  = "canceled"
	RowExpired   = "expired"
	// RowMissing is ours: the line answers its row with something that is no
	// answer, a type we do not know or a Message that is not whole. Whether it
	// was billed is not known.
	RowMissing = "missing"
)

// ResultLine is one row of a batch's results. Its bytes are the reader's, until
// its next Next.
type ResultLine struct {
	ID     string // custom_id, decoded: see ParseRowID
	Type   string // one of the above
	Number int    // of the line, from 1

	Message []byte // RowSucceeded: the Message, as the server spelled it, on one line
	Facts   MessageFacts

	Refusal  Refusal // RowErrored: the error, read by Classify
	Envelope []byte  // … and its two-level envelope, on one line
	Fault    string  // RowMissing: what is wrong
}

// ResultLineError is a line of results that cannot be read. The reader goes on
// after it: the rows of the other lines are answered all the same, and the one
// it was for is found out by what is left over.
type ResultLineError struct {
	Number int
	Fault  string
}

func (e *ResultLineError) Error() string {
	return fmt.Sprintf("line %d of the results %s", e.Number, e.Fault)
}

// ResultReader reads the results of a batch, JSON lines in any order. Lines end
// at a line feed only and may have up to MaxLine bytes; blank ones are skipped
// and unknown members ignored. That the stream was cut exactly at the end of a
// line cannot be seen here: who reads compares the ids with those that were
// sent (facts/claude-api.md 4.4, facts/peer-faults.md 15).
type ResultReader struct {
	lines   *LineReader
	message []byte // room for a Message or an envelope that had to be put on one line
}

// NewResultReader reads results from r, which it buffers.
func NewResultReader(r io.Reader) *ResultReader {
	return &ResultReader{lines: NewLineReader(r)}
}

// Next is the next row. Its errors are io.EOF after the last, a
// *ResultLineError after which it can go on, and for good: io.ErrUnexpectedEOF
// where the last line was cut, a *LongLineError, an error of the reader.
func (r *ResultReader) Next() (ResultLine, error) {
	line, err := r.lines.Next()
	if errors.Is(err, io.EOF) {
		return ResultLine{}, io.EOF
	}
	if err != nil {
		return ResultLine{}, fmt.Errorf("reading results: %w", err)
	}
	if !wellFormed(line.Bytes) {
		if line.Torn {
			return ResultLine{}, fmt.Errorf("line %d of the results: %w", line.Number, io.ErrUnexpectedEOF)
		}
		return ResultLine{}, &ResultLineError{line.Number, "is not JSON"}
	}
	return r.read(line)
}

// read takes a line apart.
func (r *ResultReader) read(line Line) (ResultLine, error) {
	c := cursor{b: line.Bytes}
	if !c.enter('{') {
		return ResultLine{}, &ResultLineError{line.Number, "is not an object"}
	}
	row := ResultLine{Number: line.Number}
	var result []byte
	for key, ok := c.member(); ok; key, ok = c.member() {
		switch string(key) {
		case "custom_id":
			row.ID = c.word()
		case "result":
			result = c.raw()
		default:
			c.raw()
		}
	}
	if row.ID == "" {
		return ResultLine{}, &ResultLineError{line.Number, "has no custom_id"}
	}
	r.result(&row, result)
	return row, nil
}

// result reads what became of the row.
func (r *ResultReader) result(row *ResultLine, raw []byte) {
	var message, failure []byte
	c := cursor{b: raw}
	if c.enter('{') {
		for key, ok := c.member(); ok; key, ok = c.member() {
			switch string(key) {
			case "type":
				row.Type = c.word()
			case "message":
				message = c.raw()
			case "error":
				failure = c.raw()
			default:
				c.raw()
			}
		}
	}
	switch row.Type {
	case RowSucceeded:
		r.succeeded(row, message)
	case RowErrored:
		r.errored(row, failure)
	case RowCanceled, RowExpired:
	default:
		row.Fault = fmt.Sprintf("its result is of type %q", row.Type)
		row.Type = RowMissing
	}
}

func (r *ResultReader) succeeded(row *ResultLine, message []byte) {
	facts, err := ReadMessage(message)
	if err != nil {
		row.Type, row.Fault = RowMissing, err.Error()
		return
	}
	row.Message, row.Facts = r.oneLine(message), facts
}

// errored takes the envelope. One without its outer level is put into one, so
// that whoever keeps it finds the form that the sync tier gives.
func (r *ResultReader) errored(row *ResultLine, failure []byte) {
	if c := (cursor{b: failure}); readObject(nil, &c).get("error") == nil {
		if len(failure) == 0 {
			failure = []byte("null")
		}
		failure = append(append([]byte(`{"type":"error","error":`), failure...), '}')
	}
	row.Envelope = r.oneLine(failure)
	row.Refusal = Classify(0, nil, row.Envelope)
}

// oneLine takes out a carriage return between tokens, the one line break that a
// line of results can hold; the common case copies nothing.
func (r *ResultReader) oneLine(b []byte) []byte {
	if bytes.IndexByte(b, '\r') < 0 {
		return b
	}
	r.message = OneLine(r.message[:0], b)
	return r.message
}

// RetryableRow says whether a row that came back errored may be sent again as
// it is: all but what is the request's own fault (invalid_request_error,
// request_too_large, not_found_error; facts/claude-api.md 4.4). Trouble of the
// account is the org's and not the row's, and is met again by whoever sends it.
func RetryableRow(r *Refusal) bool {
	switch r.Class {
	case Invalid:
		return false
	case NoModel:
		return r.Type != "not_found_error"
	}
	return true
}
