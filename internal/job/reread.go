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

// errSetAside is why a row at fault has no body.
var errSetAside = errors.New("the row was set aside")

// Rows reads the rows of the run, beside Carry too. After Close there is no
// text to read.
func (r *Run) Rows() RowReader { return rowReader{r.x} }

// rowReader reads through an index, which nothing changes once it is made.
type rowReader struct{ x *index }

func (r rowReader) Len() int { return r.x.calls() }

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
