package job

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// standingOut is an OUT that was there when the run began.
type standingOut struct {
	has     callSet
	size    int64 // of its whole lines
	lines   int
	torn    bool // a last line was cut off
	ordered bool // its lines are in the order of the input
	amend   bool // a line is stale or doubled: the file is to be rewritten
	stale   callSet
	last    int // call of the last line; -1: none
}

func newStandingOut(calls int) standingOut {
	return standingOut{has: newCallSet(calls), stale: newCallSet(calls), ordered: true, last: -1}
}

// note takes in the line of a call.
func (s *standingOut) note(call int) {
	s.has.add(call)
	s.lines++
	s.ordered = s.ordered && call > s.last
	s.last = call
}

// ForeignError is an OUT with content that is not of this job.
type ForeignError struct {
	Path   string
	Line   int
	Reason string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("output %s line %d is not of this job: %s", e.Path, e.Line, e.Reason)
}

// Hint is the way out.
func (e *ForeignError) Hint() string {
	return "--overwrite moves the file aside, or give -o another name"
}

// outReader matches the lines of an OUT to the job's calls.
type outReader struct {
	o      *Output
	x      *index
	stands func(call int) Outcome // Pending: the job has no answer for it
	chains chains
	chase  func(call int) ([]uint64, error) // further bodies of a craft's call that has another job's answer; nil: no craft
	state  standingOut
}

func newOutReader(w *writer, stands func(int) Outcome) *outReader {
	return &outReader{o: w.o, x: w.x, chains: w.chains, chase: w.chase, stands: stands, state: newStandingOut(w.x.calls())}
}

// read reads OUT to its end. The first durable bytes are known to be whole
// lines; behind them every line is validated.
func (r *outReader) read(text io.Reader, durable int64, each func(call int, off int64, line []byte) error) error {
	var tail []byte // the last line, while it has no line break
	err := readBlocks(text, func(b *block) error {
		if b.long > 0 {
			return r.foreign(b.line, "it is longer than any line of ours")
		}
		off, line := b.off, b.line
		for rest := b.text; len(rest) > 0; line++ {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				tail = rest
				break
			}
			call, err := r.line(rest[:end], line, off >= durable)
			if err == nil && call >= 0 && each != nil {
				err = each(call, off, rest[:end+1])
			}
			if err != nil {
				return err
			}
			off += int64(end + 1)
			r.state.size = off
			rest = rest[end+1:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(bytes.Trim(tail, " \t\r\x00")) > 0 && !tornOurs(tail) {
		return r.foreign(r.state.lines+1, "it is no result line")
	}
	r.state.torn = len(tail) > 0
	return nil
}

// tornOurs says that what is left of a last line could be the start of a line
// of ours: nothing else is cut off a file.
func tornOurs(tail []byte) bool {
	n := min(len(tail), len(lineHead))
	return bytes.Equal(tail[:n], lineHead[:n])
}

// line matches one line; -1: it repeats a line before it.
func (r *outReader) line(line []byte, n int, validate bool) (call int, err error) {
	f, ok := r.found(line, validate)
	if !ok {
		return 0, r.foreign(n, r.notOurs())
	}
	call, ok = r.x.callOf(&f)
	if !ok {
		return 0, r.foreign(n, r.x.noCall(f.id))
	}
	switch outcome := r.stands(call); {
	case outcome == Pending:
		return 0, r.foreign(n, fmt.Sprintf("this job has no answer for %q yet", f.id))
	case !r.says(&f, call, outcome):
		r.state.stale.add(call)
		r.state.amend = true
	}
	if ours, err := r.made(call, &f); err != nil || !ours {
		return 0, errors.Join(err, r.foreign(n, fmt.Sprintf("%q was sent with another body", f.id)))
	}
	if r.state.has.has(call) {
		r.state.amend = true
		return -1, nil
	}
	r.state.note(call)
	return call, nil
}

// found reads what a line says of itself.
func (r *outReader) found(line []byte, validate bool) (f found, ok bool) {
	if c := r.x.build.craft; c != nil {
		if validate && !validLine(line) {
			return f, false
		}
		return readCraft(c, line)
	}
	if f, ok = readFound(line); ok && validate {
		ok = validLine(line)
	}
	if !ok {
		f, ok = readForeign(line)
	}
	return f, ok
}

// notOurs says of a line that it is none that this job writes.
func (r *outReader) notOurs() string {
	if r.x.build.craft != nil {
		return "it is no line that this job writes"
	}
	return "it is no result line"
}

// says tells whether a line is of the answer that stands for its call.
func (r *outReader) says(f *found, call int, outcome Outcome) bool {
	if r.x.build.craft == nil {
		return outcome.String() == f.outcome
	}
	c := r.chains.of(r.x, call)
	return f.whose.Failed == (outcome != Succeeded) && (c == nil || hex16(c.short) == f.body)
}

// made says that a line's body is one that its call was sent with.
func (r *outReader) made(call int, f *found) (bool, error) {
	if r.x.build.craft != nil && (r.chains.of(r.x, call) != nil || f.body == hex16(r.x.row(call).body)) {
		return true, nil
	}
	if r.chase != nil {
		bodies, err := r.chase(call)
		ours := slices.ContainsFunc(bodies, func(short uint64) bool { return hex16(short) == f.body })
		return ours, err
	}
	return r.x.madeBody(call, f.body)
}

func hex16(n uint64) string { return string(appendHex16(nil, n)) }

func (r *outReader) foreign(line int, reason string) error {
	return &ForeignError{r.o.Path, line, reason}
}

// callOf is the call that a line is of.
func (x *index) callOf(f *found) (call int, ok bool) {
	if x.build.craft == nil {
		return x.findCall(f.id)
	}
	record, ok := x.find(f.id)
	w := &f.whose
	if !ok || w.Ask < 0 || w.Ask >= x.asks || (w.Repeat > 0) != (x.build.shape.Repeats > 0) || w.Repeat > x.repeats {
		return 0, false
	}
	return (record*x.asks+w.Ask)*x.repeats + max(w.Repeat-1, 0), true
}

// noCall says why a line of this id is of no call: a job of judges may have the row
// and not the judge.
func (x *index) noCall(id string) string {
	if x.build.craft != nil {
		if _, ok := x.find(id); ok {
			return fmt.Sprintf("it asks something else about the row %q (another model, rubric or repeat)", id)
		}
	}
	return fmt.Sprintf("no row has the id %q", id)
}

// findCall is the call of an id, repeats included.
func (x *index) findCall(id string) (call int, ok bool) {
	if x.build.shape.Repeats == 0 {
		row, ok := x.find(id)
		return row, ok
	}
	at := strings.LastIndexByte(id, '#')
	if at < 0 {
		return 0, false
	}
	k, err := strconv.Atoi(id[at+1:])
	if err != nil || k < 1 || k > x.repeats || id[at+1:] != strconv.Itoa(k) {
		return 0, false
	}
	row, ok := x.find(id[:at])
	return row*x.repeats + k - 1, ok
}

// madeBody says that a call's row makes the body of that hash, as it is or with
// more room after --retry truncated.
func (x *index) madeBody(call int, hex16 string) (bool, error) {
	want, err := strconv.ParseUint(hex16, 16, 64)
	if err != nil {
		return false, nil
	}
	if x.row(call).body == want {
		return true, nil
	}
	var r record
	if err := x.read(call/x.repeats, &r); err != nil {
		return false, err
	}
	ours := false
	err = x.growth(&r, func(g grownBody) bool {
		ours = first8(g.facts.Body) == want
		return !ours
	})
	return ours, err
}

// absolute is the name under which the journal knows a file.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// setAside moves a file out of the way, to a name that is free.
func setAside(path string, now time.Time) (string, error) {
	base := path + "." + now.UTC().Format("20060102T150405")
	for n := 0; ; n++ {
		aside := base
		if n > 0 {
			aside += "-" + strconv.Itoa(n)
		}
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			return aside, os.Rename(path, aside)
		}
	}
}
