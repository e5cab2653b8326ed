package job

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// holding says how the calls of a job stand before a run sends anything:
// answers that are to be taken over from elsewhere count as settled.
type holding struct {
	outcome func(call int) Outcome
	at      func(call int) int64 // where the journal keeps the answer; 0: not there yet
	chase   func(call int) ([]uint64, error)
}

// tableCells are those of run.
var tableCells = []string{"completion", "stop_reason", "status", "error", "model"}

// foundTable is a table that stands at OUT: a hash of each call's cells.
type foundTable struct {
	standingOut
	cells []uint64
	rows  []int // where the call's row stands, for errors
	seed  maphash.Seed
}

// readFoundTable reads which calls a table has rows of.
func readFoundTable(o *Output, x *index, outcome func(int) Outcome) (*foundTable, error) {
	t := &foundTable{newStandingOut(x.calls()), make([]uint64, x.calls()), make([]int, x.calls()), maphash.MakeSeed()}
	if err := checkTableHead(o, x.build.columns()); err != nil {
		return nil, err
	}
	in, err := openInput(o.Path, nil, filepath.Dir(o.Path))
	if err != nil {
		return nil, &ForeignError{o.Path, 1, err.Error()}
	}
	defer in.close()
	n := 0
	err = readBlocks(io.NewSectionReader(in.text, 0, 1<<62), func(b *block) (err error) {
		b.lines(func(_ int64, _ int, line []byte) {
			if n++; err == nil {
				err = t.row(o, x, outcome, line, n)
			}
		})
		return err
	})
	return t, err
}

func (t *foundTable) row(o *Output, x *index, outcome func(int) Outcome, line []byte, n int) error {
	id := gjson.GetBytes(line, "custom_id").Str
	call, ok := x.callOfRow(id, line)
	switch {
	case !ok:
		return &ForeignError{o.Path, n, x.noCall(id)}
	case outcome(call) == Pending:
		return &ForeignError{o.Path, n, fmt.Sprintf("this job has no answer for %q yet", id)}
	}
	cells := gjson.GetManyBytes(line, x.build.telling()...)
	if t.has.has(call) {
		t.amend = true // it stands twice
	}
	t.note(call)
	t.cells[call], t.rows[call] = t.hash(cells), n
	return nil
}

// hash is of cells as they read back from a table: CSV knows no null, and its
// line breaks are LF.
func (t *foundTable) hash(cells []gjson.Result) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	for _, c := range cells {
		_, _ = h.WriteString(strings.ReplaceAll(c.String(), "\r\n", "\n"))
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// checkTableHead refuses a table whose columns are not those of ours, even one
// without rows.
func checkTableHead(o *Output, own []column) error {
	names, err := tableHead(o.Path)
	if err != nil {
		return &ForeignError{o.Path, 1, err.Error()}
	}
	for _, c := range own {
		if !slices.Contains(names, c.name) {
			return &ForeignError{o.Path, 1, fmt.Sprintf("it has no column %q", c.name)}
		}
	}
	return nil
}

func tableHead(path string) (names []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	if strings.HasSuffix(strings.ToLower(path), ".csv") {
		names, err = csv.NewReader(f).Read()
		if errors.Is(err, io.EOF) {
			err = errors.New("it has no header")
		}
		return names, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := openParquet(f, info.Size())
	if err != nil {
		return nil, err
	}
	for _, field := range file.Schema().Fields() {
		names = append(names, field.Name())
	}
	return names, nil
}

// examineTable reads the table that stands, and refuses one whose rows hold
// other answers than this job ever had, whatever their ids are.
func (w *writer) examineTable(ctx context.Context, known holding) error {
	t, err := readFoundTable(w.o, w.x, known.outcome)
	if err != nil {
		return err
	}
	w.old = t.standingOut
	if left, err := leftBy(ctx, w.book, w.o); left != nil || err != nil {
		return err // as the last run left it
	}
	unknown := t.has.clone()
	for a, err := range w.book.Answers(ctx) {
		if err == nil && t.has.has(a.Row) {
			err = w.matchRow(t, &a, unknown)
		}
		if err != nil {
			return err
		}
	}
	for call := range w.x.calls() {
		if !unknown.has(call) || w.x.row(call).kind == noKind {
			continue
		}
		at := known.at(call)
		if at == 0 {
			continue // of a file of --reuse
		}
		a, err := w.book.Answer(ctx, at)
		if err == nil {
			a.Row = call
			err = w.matchRow(t, &a, unknown)
		}
		if err != nil {
			return err
		}
		if unknown.has(call) {
			return &ForeignError{w.o.Path, t.rows[call], "it holds another answer than this job's"}
		}
	}
	return nil
}

// callOfRow is the call that a table's row is of.
func (x *index) callOfRow(id string, row []byte) (call int, ok bool) {
	f := found{id: id}
	if c := x.build.craft; c != nil {
		if f.whose, ok = c.WhoseRow(row); !ok {
			return 0, false
		}
	}
	return x.callOf(&f)
}

// tellingCells are the cells of an answer that a table's row is known by.
func (w *writer) tellingCells(a *Answer) ([]gjson.Result, error) {
	c := w.x.build.craft
	if c == nil {
		return answerCells(a)
	}
	if err := w.x.read(a.Row/w.x.repeats, &w.rec); err != nil {
		return nil, err
	}
	cells, err := c.Cells(w.x.done(a, &w.rec, "", w.chains))
	var telling []gjson.Result
	for i, column := range c.Columns() {
		if err == nil && column.Telling {
			telling = append(telling, cells[i])
		}
	}
	return telling, err
}

// matchRow takes a call from unknown where its row holds the answer.
func (w *writer) matchRow(t *foundTable, a *Answer, unknown callSet) error {
	cells, err := w.tellingCells(a)
	if err != nil {
		return err
	}
	if t.hash(cells) == t.cells[a.Row] {
		unknown.drop(a.Row)
	}
	return nil
}
