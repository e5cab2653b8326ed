package job

import (
	"encoding/json"
	"iter"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
)

// Craft is a kind of job that makes requests of rows, and lines of answers, in
// its own way: a judge is one. Every row makes as many requests as the craft
// asks, each with all repeats, under the row's one id. Its methods are called
// from several goroutines.
type Craft interface {
	// Asks is how many requests a row makes, at least 1.
	Asks() int
	// Identity is the same for crafts that make the same requests: it is part of
	// the job's, as flags of run are.
	Identity() []byte
	// Kept is what a journal keeps of the craft, to make it again.
	Kept() json.RawMessage

	// Body appends the Messages body by which a row is asked about, ask from 0.
	Body(dst []byte, r Row, ask int) ([]byte, error)
	// Told is the outcome that a row brings with it; nil: it is to be asked about.
	Told(r Row, ask int) *Told

	// Again makes the body to ask anew with, where an answer has a Kind: body had
	// the Message for its answer, and tried says why the bodies before it were asked
	// anew. A nil next takes the answer as it is.
	Again(ask int, body, message []byte, tried []string) (next []byte, why string, err error)
	// Kind is the word of --retry for an answer; empty: it is what was asked for.
	Kind(ask int, a *Answer) string

	// AppendMember appends the member of a line that says what the answer comes
	// to: `"verdict":{…}`.
	AppendMember(dst []byte, d *Done) ([]byte, error)
	// Whose reads a line back: which request of its row it is of. ok is false
	// where the craft wrote no such line.
	Whose(line []byte) (w Whose, ok bool)
	// Columns are those of a table in place of run's; Cells their values, and
	// WhoseRow is Whose of a table's row, an object.
	Columns() []Column
	Cells(d *Done) ([]gjson.Result, error)
	WhoseRow(row []byte) (w Whose, ok bool)

	// Summarize makes the craft's part of a summary of all answers of a run.
	Summarize(all iter.Seq2[*Done, error]) (json.RawMessage, error)
}

// Whose is the request of its row that a line is of.
type Whose struct {
	Ask, Repeat int  // Repeat from 1; 0: without --repeats
	Failed      bool // the line says that there is no answer
}

// Column is one of a craft's table. Told says of two rows of one request
// whether they hold the same answer; such a column holds text.
type Column struct {
	Name    string
	Number  bool // cells are numbers
	Whole   bool // cells are whole numbers
	Telling bool
}

// Told is an outcome that needs no call: that of a row which a run has cut off,
// refused or not had at all.
type Told struct {
	Model      string // that would have been asked
	StopReason string // of an answer; empty: there is none
	Body       []byte // a Message, or an error envelope
}

// Row is a row of the input as a craft sees it. A result line of run is the row
// that a table of run would have.
type Row struct{ r *record }

// Text is the row as a JSON object.
func (r Row) Text() string { return r.r.raw }

// Get is the value of a field; ok is false where the row lacks it.
func (r Row) Get(name string) (v gjson.Result, ok bool) { return r.r.get(name) }

// Plain is a field as text of its own: a string as it is, nothing for null and for
// what is not there (an empty name included), the rest as JSON.
func (r Row) Plain(name string) string {
	if name == "" {
		return ""
	}
	v, _ := r.Get(name)
	switch v.Type {
	case gjson.Null:
		return ""
	case gjson.String:
		return strings.Clone(v.Str)
	}
	return strings.Clone(v.Raw)
}

// Fields names the row's fields, in order.
func (r Row) Fields() []string { return r.r.keys() }

// Done is a call that has settled.
type Done struct {
	ID     string // the row's
	Row    Row    // valid until the next one
	Record int    // number of the row over all inputs, from 0
	Ask    int
	Repeat int // from 1; 0: without --repeats
	Answer *Answer
	Cost   flotilla.Money // of all its answers
	Tried  []string       // why it was asked anew, in order
	Told   bool           // no call was made
}

// asks is how many requests a row makes.
func (b *builder) asks() int {
	if b.craft == nil {
		return 1
	}
	return b.craft.Asks()
}

// told is the outcome that a row brings with it; nil: it is to be asked about.
func (b *builder) told(r *record, ask int) *Told {
	if b.craft == nil {
		return nil
	}
	return b.craft.Told(Row{r}, ask)
}

// AppendRow is Append for a row that is read already.
func (b *Bodies) AppendRow(dst []byte, row Row, names map[string]string) ([]byte, error) {
	r := *row.r
	if err := r.rename(names); err != nil {
		return nil, err
	}
	return b.b.body(dst, &r, 0)
}
