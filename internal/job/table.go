package job

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// ownColumns are what a table adds to the input's columns (interface.md, "Output").
var ownColumns = []column{
	{name: "custom_id", has: cellText},
	{name: "completion", has: cellText},
	{name: "stop_reason", has: cellText},
	{name: "status", has: cellText},
	{name: "error", has: cellText},
	{name: "model", has: cellText},
	{name: "org", has: cellText},
	{name: "tier", has: cellText},
	{name: "input_tokens", has: cellWhole},
	{name: "output_tokens", has: cellWhole},
	{name: "cost_usd", has: cellNumber},
	{name: "latency_ms", has: cellWhole},
	{name: "repeat", has: cellWhole},
}

// tableRow is one row of a table: a value a column, as JSON knows it; one that
// does not exist is an empty cell.
type tableRow []gjson.Result

// tableWriter writes a table of one form.
type tableWriter interface {
	row(tableRow) error
	close() error
}

// tableColumns are the input's columns, those of our names called input.NAME,
// and then ours. A table of ours that is an input again has such columns too:
// they keep their names, and what would take them gets one more "input.".
func tableColumns(input []*column, own []column) []column {
	taken := map[string]bool{}
	for _, c := range own {
		taken[c.name] = true
	}
	all := make([]column, len(input), len(input)+len(own))
	var clash []int
	for i, c := range input {
		all[i] = *c
		if taken[c.name] {
			clash = append(clash, i)
		}
	}
	for _, c := range input {
		taken[c.name] = true
	}
	for _, i := range clash {
		for taken[all[i].name] {
			all[i].name = "input." + all[i].name
		}
		taken[all[i].name] = true
	}
	return append(all, own...)
}

// table writes OUT as a table of every settled call.
func (w *writer) table(ctx context.Context) error {
	settled := 0
	for call := range w.x.calls() {
		if w.standing.Outcome(call) != Pending {
			settled++
		}
	}
	asked := !w.o.ByInput || w.old.ordered
	if _, err := os.Stat(w.o.Path); err == nil && w.settled == 0 && settled == w.old.has.count() && !w.old.amend && asked {
		return nil // it says all of this already
	}
	_, err := w.o.replaceRaw(func(f *os.File) error {
		b := bufio.NewWriterSize(f, 1<<18)
		t, err := w.newTable(b)
		if err != nil {
			return err
		}
		if err := w.tableRows(ctx, t); err != nil {
			return err
		}
		if err := t.close(); err != nil {
			return err
		}
		return b.Flush()
	})
	return err
}

func (w *writer) newTable(b io.Writer) (tableWriter, error) {
	columns := tableColumns(w.x.columns.list, w.x.build.columns())
	if strings.HasSuffix(strings.ToLower(w.o.Path), ".csv") {
		return newCSVTable(b, columns)
	}
	return newParquetTable(b, columns)
}

// tableRows writes the calls in the order in which they settled, or in that of
// the input.
func (w *writer) tableRows(ctx context.Context, t tableWriter) error {
	if !w.o.ByInput {
		for a, err := range w.book.Answers(ctx) {
			if err == nil && w.x.holds(a.Row) && w.standing.At(a.Row) == a.At {
				err = w.tableRow(t, &a)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for call := range w.x.calls() {
		if w.standing.Outcome(call) == Pending {
			continue
		}
		a, err := w.book.Answer(ctx, w.standing.At(call))
		if err == nil {
			err = w.tableRow(t, &a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) tableRow(t tableWriter, a *Answer) error {
	if err := w.x.read(a.Row/w.x.repeats, &w.rec); err != nil {
		return err
	}
	var row tableRow
	for _, c := range w.x.columns.list {
		v, _ := w.rec.get(c.name)
		row = append(row, v)
	}
	own, err := w.ownCells(a)
	if err != nil {
		return err
	}
	return t.row(append(row, own...))
}

// ownCells are the values of ownColumns.
func (w *writer) ownCells(a *Answer) (tableRow, error) {
	id, err := w.x.id(a.Row, &w.rec)
	if err != nil {
		return nil, err
	}
	if c := w.x.build.craft; c != nil {
		d := w.x.done(a, &w.rec, id, w.chains)
		return c.Cells(d)
	}
	said, err := answerCells(a)
	if err != nil {
		return nil, err
	}
	var in, out gjson.Result
	if a.Outcome == Succeeded {
		m, err := wire.ReadMessage(a.Body)
		if err != nil {
			return nil, err
		}
		u := m.Usage
		in, out = whole(u.Input+u.CacheWrite5m+u.CacheWrite1h+u.CacheRead), whole(u.Output)
	}
	repeat := whole(0)
	if w.x.build.shape.Repeats > 0 {
		repeat = whole(int64(a.Row%w.x.repeats + 1))
	}
	cost := gjson.Result{Type: gjson.Number, Raw: a.Cost.Exact(), Num: a.Cost.Float()}
	row := append(tableRow{text(id)}, said...)
	return append(row, text(a.Org), text(a.Tier), in, out, cost, whole(a.Latency.Milliseconds()), repeat), nil
}

// answerCells are what a table says of an answer: tableCells, in their order.
func answerCells(a *Answer) ([]gjson.Result, error) {
	var completion, stop, fault gjson.Result
	switch a.Outcome {
	case Succeeded:
		m, err := wire.ReadMessage(a.Body)
		if err != nil {
			return nil, err
		}
		completion, stop = text(textOf(a.Body)), text(m.StopReason)
	case Errored:
		fault = text(errorText(a.Body))
	}
	return []gjson.Result{completion, stop, text(a.Outcome.String()), fault, text(a.Model)}, nil
}

// textOf joins the text blocks of a Message.
func textOf(message []byte) string {
	var b strings.Builder
	gjson.GetBytes(message, "content").ForEach(func(_, block gjson.Result) bool {
		if block.Get("type").Str == "text" {
			b.WriteString(block.Get("text").Str)
		}
		return true
	})
	return b.String()
}

// errorText is "type: message" of an error envelope.
func errorText(envelope []byte) string {
	v := gjson.ParseBytes(orUnknown(envelope)).Get("error")
	return v.Get("type").Str + ": " + v.Get("message").Str
}
