package job

import "errors"

// RowReader reads rows of a job again, by their number in the journal. It may
// be used from several goroutines.
type RowReader interface {
	Len() int // of rows, those set aside included
	// ID is the row's name; empty where its text cannot be read any more.
	ID(row int) string
	// Body is the body that the row makes. The error says why there is none.
	Body(row int) ([]byte, error)
}

// Call is what a call of a job with a craft is about.
type Call struct {
	Row    Row
	Record int  // number of the row over all inputs, from 0
	Ask    int  // which of its requests
	Repeat int  // from 1; 0: without --repeats
	Told   bool // its row brings the outcome with it
}

// CallReader tells what calls are about: the rows of a run and those made again
// are one.
type CallReader interface {
	RowReader
	Call(call int) (Call, error)
}

// errSetAside is why a row at fault has no body.
var errSetAside = errors.New("the row was set aside")

// Rows reads the rows of the run, beside Carry too. After Close there is no
// text to read.
func (r *Run) Rows() CallReader { return rowReader{r.x} }

// rowReader reads through an index, which nothing changes once it is made.
type rowReader struct{ x *index }

func (r rowReader) Len() int { return r.x.calls() }

func (r rowReader) Call(call int) (c Call, err error) {
	if !r.x.holds(call) {
		return c, errSetAside
	}
	var rec record
	if err := r.x.read(call/r.x.repeats, &rec); err != nil {
		return c, err
	}
	c = Call{Row: Row{&rec}, Record: call / r.x.repeats / r.x.asks, Ask: r.x.ask(call)}
	if r.x.build.shape.Repeats > 0 {
		c.Repeat = call%r.x.repeats + 1
	}
	c.Told = r.x.build.told(&rec, c.Ask) != nil
	return c, nil
}

func (r rowReader) ID(row int) string {
	var rec record
	if row < 0 || row >= r.x.calls() || r.x.read(row/r.x.repeats, &rec) != nil {
		return ""
	}
	id, _ := r.x.id(row, &rec)
	return id
}

func (r rowReader) Body(row int) ([]byte, error) {
	if !r.x.holds(row) {
		return nil, errSetAside
	}
	var rec record
	if err := r.x.read(row/r.x.repeats, &rec); err != nil {
		return nil, err
	}
	return r.x.build.body(nil, &rec, r.x.ask(row))
}
