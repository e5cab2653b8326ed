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
	defer recovered(&err)
	file, err := openParquet(f, size)
	if err != nil {
		return err
	}
	if err := checkColumns(file.Schema().Fields()); err != nil {
		return err
	}
	root, err := nestOf(file.Schema())
	if err != nil {
		return err
	}
	for _, group := range file.RowGroups() {
		if group.NumRows() == 0 {
			continue // the reader wants a page
		}
		if err := groupToJSON(w, root, group); err != nil {
			return err
		}
	}
	return nil
}

// openParquet reads a file's schema.
func openParquet(f io.ReaderAt, size int64) (file *parquet.File, err error) {
	defer recovered(&err)
	file, err = parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("no Parquet file: %w", err)
	}
	return file, nil
}

// recovered makes an error of a panic of the reader.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the Parquet file is damaged or unusual: %v", p)
	}
}

// checkColumns refuses names by which columns could not be told apart, as for CSV.
func checkColumns(fields []parquet.Field) error {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name()
	}
	_, err := headerKeys(names)
	return err
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
