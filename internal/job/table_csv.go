package job

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/tidwall/gjson"
)

// csvTable writes a table as CSV, RFC 4180.
type csvTable struct {
	w     *csv.Writer
	cells []string
}

func newCSVTable(out io.Writer, columns []column) (*csvTable, error) {
	t := &csvTable{w: csv.NewWriter(out)}
	for _, c := range columns {
		t.cells = append(t.cells, c.name)
	}
	return t, t.w.Write(t.cells)
}

func (t *csvTable) row(row tableRow) error {
	for i, v := range row {
		t.cells[i] = cellTextOf(v)
	}
	return t.w.Write(t.cells)
}

func (t *csvTable) close() error {
	t.w.Flush()
	return t.w.Error()
}

// cellTextOf is a value as a cell of text: strings as they are, nothing for
// null, the rest as JSON.
func cellTextOf(v gjson.Result) string {
	switch v.Type {
	case gjson.Null:
		return ""
	case gjson.String:
		return v.Str
	}
	return plainJSON(v)
}

func text(s string) gjson.Result { return gjson.Result{Type: gjson.String, Str: s} }

func whole(n int64) gjson.Result {
	return gjson.Result{Type: gjson.Number, Raw: strconv.FormatInt(n, 10), Num: float64(n)}
}
