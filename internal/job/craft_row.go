package job

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// read takes a row's text. A craft reads the result lines of run too, as the rows
// that a table of run would have.
func (b *builder) read(r *record, text string) error {
	if b.craft != nil && isResultLine(text) {
		row, err := resultRow(text)
		if err != nil {
			return err
		}
		text = row
	}
	return r.read(text)
}

// isResultLine tells a line of run's from rows of a user's: no row of theirs has
// both members in these shapes.
func isResultLine(text string) bool {
	v := gjson.GetMany(text, "custom_id", "result.type", "flotilla")
	return v[0].Type == gjson.String && v[1].Type == gjson.String && v[2].IsObject()
}

// resultRow is the row that a table would have in place of a result line: the
// fields of the input that the line repeats (--keep), those of our names called
// input.NAME, and then ours.
func resultRow(line string) (string, error) {
	v := gjson.Parse(line)
	var input record
	if kept := v.Get("input"); kept.IsObject() {
		if err := input.read(kept.Raw); err != nil {
			return "", err
		}
	}
	columns := make([]*column, len(input.fields))
	for i, f := range input.fields {
		columns[i] = &column{name: f.key}
	}
	cells, err := resultCells(v)
	if err != nil {
		return "", err
	}
	fields := make([]field, 0, len(input.fields)+len(cells))
	for i, c := range tableColumns(columns, ownColumns) {
		val := gjson.Result{Type: gjson.Null, Raw: "null"}
		if i < len(input.fields) {
			val = input.fields[i].val
		} else if c := cells[i-len(input.fields)]; c.Type != gjson.Null {
			val = c
		}
		fields = append(fields, field{c.name, val})
	}
	return string(appendObject(nil, fields)), nil
}

// resultCells are the cells of ownColumns that a result line has.
func resultCells(v gjson.Result) ([]gjson.Result, error) {
	f := v.Get("flotilla")
	a := Answer{Model: f.Get("model").Str, Outcome: Errored, Body: []byte(v.Get("result.error").Raw)}
	kind := v.Get("result.type").Str
	if i := slices.Index(outcomeNames[:], kind); i > 0 {
		a.Outcome = Outcome(i)
	}
	var in, out gjson.Result
	if a.Outcome == Succeeded {
		a.Body = []byte(v.Get("result.message").Raw)
		m, err := wire.ReadMessage(a.Body)
		if err != nil {
			return nil, err
		}
		u := m.Usage
		in, out = whole(u.Input+u.CacheWrite5m+u.CacheWrite1h+u.CacheRead), whole(u.Output)
	}
	said, err := answerCells(&a)
	if err != nil {
		return nil, err
	}
	row := append([]gjson.Result{text(v.Get("custom_id").Str)}, said...)
	row = append(row, f.Get("org"), f.Get("tier"), in, out, f.Get("cost_usd"), f.Get("latency_ms"), whole(0))
	for i := range row {
		if row[i].Type == gjson.String {
			row[i].Raw = string(appendString(nil, row[i].Str))
		}
	}
	return row, nil
}

// Carried says that the row is a result of run's: a line, or a row of a table that
// still has the columns which say what came of it.
func (r Row) Carried() bool {
	if r.r.find("completion") < 0 || r.r.find("stop_reason") < 0 {
		return false
	}
	status, ok := r.r.get("status")
	return ok && status.Type == gjson.String && slices.Contains(outcomeNames[Succeeded:], status.Str)
}

// KeptInput says that a result of run's repeats fields of its input.
func (r Row) KeptInput() bool {
	return slices.ContainsFunc(r.r.fields, func(f field) bool {
		return !slices.ContainsFunc(ownColumns, func(c column) bool { return c.name == f.key })
	})
}
