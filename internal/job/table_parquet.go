package job

import (
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/tidwall/gjson"
)

// parquetTable writes a table as Parquet. A column of the input keeps its type
// where all its values have one: text, whole numbers, numbers, booleans.
// Anything else, nested values and numbers of too many digits too, is text (JSON).
type parquetTable struct {
	w       *parquet.GenericWriter[any]
	columns []column
	row1    parquet.Row
	n       int
}

// groupRows is how many rows make a row group: what is held in memory.
const groupRows = 10_000

func newParquetTable(out io.Writer, columns []column) (*parquetTable, error) {
	root := orderedGroup{Group: parquet.Group{}}
	for _, c := range columns {
		node := parquet.Compressed(parquet.Optional(leafOf(c.has)), &parquet.Zstd)
		root.Group[c.name] = node
		root.order = append(root.order, c.name)
	}
	w := parquet.NewGenericWriter[any](out, parquet.NewSchema("flotilla", root))
	return &parquetTable{w: w, columns: columns}, nil
}

func leafOf(has cellKind) parquet.Node {
	switch has {
	case cellWhole, cellWhole | cellLong:
		return parquet.Int(64)
	case cellNumber, cellWhole | cellNumber:
		return parquet.Leaf(parquet.DoubleType)
	case cellBool:
		return parquet.Leaf(parquet.BooleanType)
	}
	return parquet.String()
}

// orderedGroup is a group that keeps the order of its fields; Parquet's own
// sorts them by name.
type orderedGroup struct {
	parquet.Group
	order []string
}

// Fields lists the columns in their order.
func (g orderedGroup) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	fields := make([]parquet.Field, len(g.order))
	for i, name := range g.order {
		fields[i] = byName[name]
	}
	return fields
}

func (t *parquetTable) row(row tableRow) error {
	t.row1 = t.row1[:0]
	for i, v := range row {
		value := parquetValue(t.columns[i].has, v)
		def := 1
		if value.IsNull() {
			def = 0
		}
		t.row1 = append(t.row1, value.Level(0, def, i))
	}
	if _, err := t.w.WriteRows([]parquet.Row{t.row1}); err != nil {
		return err
	}
	if t.n++; t.n%groupRows == 0 {
		return t.w.Flush()
	}
	return nil
}

func parquetValue(has cellKind, v gjson.Result) parquet.Value {
	if v.Type == gjson.Null {
		return parquet.NullValue()
	}
	switch has {
	case cellWhole, cellWhole | cellLong:
		n, err := strconv.ParseInt(v.Raw, 10, 64)
		if err != nil {
			return parquet.NullValue()
		}
		return parquet.Int64Value(n)
	case cellNumber, cellWhole | cellNumber:
		return parquet.DoubleValue(v.Num)
	case cellBool:
		return parquet.BooleanValue(v.Bool())
	}
	return parquet.ByteArrayValue([]byte(cellTextOf(v)))
}

func (t *parquetTable) close() error { return t.w.Close() }
