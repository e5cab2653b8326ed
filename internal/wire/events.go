package wire

import (
	"bytes"
)

// events cuts a text/event-stream into the data of its events, fed in pieces
// of any size. Lines end at LF or CRLF; comments, event names, ids and unknown
// fields are passed over, since an event's data repeats its name (facts/
// claude-api.md 1.5).
type events struct {
	line  []byte // the piece of a line that has come so far
	data  []byte // of the event so far, lines joined by LF
	has   bool   // the event has data
	begun bool   // the first line has been read
}

func (e *events) reset() {
	e.line, e.data, e.has, e.begun = e.line[:0], e.data[:0], false, false
}

// feed takes the next piece and calls each for the data of every event that it
// completes, until each returns false. Only a line over MaxLine, or an event
// of that size, is an error.
func (e *events) feed(p []byte, each func(data []byte) bool) error {
	for {
		n := bytes.IndexByte(p, '\n')
		if len(e.line)+max(n, 0) > MaxLine || n < 0 && len(e.line)+len(p) > MaxLine || len(e.data) > MaxLine {
			return errLongEvent
		}
		if n < 0 {
			e.line = append(e.line, p...)
			return nil
		}
		line := p[:n]
		if len(e.line) > 0 {
			e.line = append(e.line, line...)
			line = e.line
		}
		p = p[n+1:]
		done := e.take(line)
		e.line = e.line[:0]
		if done && !e.dispatch(each) {
			return nil
		}
	}
}

var errLongEvent = &NotMessageError{"an event of its stream is longer than 32 MiB"}

// take reads one line; done says that it ends an event.
func (e *events) take(line []byte) (done bool) {
	if !e.begun {
		line = bytes.TrimPrefix(line, byteOrderMark)
		e.begun = true
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) == 0 {
		return true
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	if string(field) != "data" {
		return false
	}
	if e.has {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, bytes.TrimPrefix(value, []byte(" "))...)
	e.has = true
	return false
}

// dispatch hands over the event, if it has data, and begins the next.
func (e *events) dispatch(each func([]byte) bool) bool {
	if !e.has {
		return true
	}
	more := each(e.data)
	e.data, e.has = e.data[:0], false
	return more
}

// flush is for the end of a stream: an event that lacks only its blank line
// counts if what is there of it is whole.
func (e *events) flush(each func([]byte) bool) {
	if len(e.line) > 0 {
		e.take(e.line)
		e.line = e.line[:0]
	}
	if wellFormed(e.data) {
		e.dispatch(each)
	}
}
