package job

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// parquetToJSON turns the rows of a Parquet file into JSON lines, nested values
// included. The reader's panics on files that break the format's rules become
// errors.
func parquetToJSON(w *bufio.Writer, f io.ReaderAt, size int64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the Parquet file is damaged or unusual: %v", p)
		}
	}()
	file, err := parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("no Parquet file: %w", err)
	}
	root, err := nestOf(file.Schema())
	if err != nil {
		return err
	}
	for _, group := range file.RowGroups() {
		if err := groupToJSON(w, root, group); err != nil {
			return err
		}
	}
	return nil
}

func groupToJSON(w *bufio.Writer, root *nest, group parquet.RowGroup) (err error) {
	rows := group.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	batch := make([]parquet.Row, 64)
	columns := make([][]parquet.Value, root.leaves)
	var line []byte
	for {
		n, err := rows.ReadRows(batch)
		for _, row := range batch[:n] {
			splitColumns(columns, row)
			line = root.appendTo(line[:0], columns, 0, 0)
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// splitColumns cuts a row, which holds its values column after column.
func splitColumns(columns [][]parquet.Value, row parquet.Row) {
	clear(columns)
	for start := 0; start < len(row); {
		end := start + 1
		for end < len(row) && row[end].Column() == row[start].Column() {
			end++
		}
		columns[row[start].Column()] = row[start:end]
		start = end
	}
}
