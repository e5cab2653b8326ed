package job

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// csvToJSON turns a table with a header row into JSON lines, every cell a
// string. A row that is at fault becomes a fault line, so that it is counted
// and told in its place.
func csvToJSON(w *bufio.Writer, r io.Reader) error {
	br := bufio.NewReader(r)
	if head, _ := br.Peek(3); string(head) == "\ufeff" {
		_, _ = br.Discard(3)
	}
	kept := &recorder{r: br}
	rd := csv.NewReader(kept)
	rd.ReuseRecord = true
	header, err := rd.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	header = slices.Clone(header) // the reader uses its slice again
	keys, err := headerKeys(header)
	if err != nil {
		return err
	}
	var line []byte
	for {
		start := rd.InputOffset()
		kept.forget(start)
		cells, err := rd.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var parse *csv.ParseError
		if err != nil && !errors.As(err, &parse) {
			return err
		}
		if parse != nil {
			fault := csvFault(parse, len(cells), header)
			line = appendFault(line[:0], fault, parse.StartLine, parse.Column, kept.until(rd.InputOffset()))
		} else {
			line = appendCells(line[:0], rd, keys, header, cells, kept)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
}

// headerKeys are the columns' names, each as the start of a JSON member.
func headerKeys(header []string) ([]string, error) {
	seen := map[string]bool{}
	keys := make([]string, len(header))
	for i, name := range header {
		switch {
		case name == "":
			return nil, fmt.Errorf("header: column %d has no name", i+1)
		case seen[name]:
			return nil, fmt.Errorf("header: two columns are named %q", name)
		case !utf8.ValidString(name):
			return nil, fmt.Errorf("header: column %d is not UTF-8", i+1)
		}
		seen[name] = true
		keys[i] = string(appendString(nil, name)) + ":"
	}
	return keys, nil
}

func appendCells(line []byte, rd *csv.Reader, keys, header, cells []string, kept *recorder) []byte {
	for i, cell := range cells {
		if !utf8.ValidString(cell) {
			at, col := rd.FieldPos(i)
			return appendFault(line[:0], fmt.Sprintf("the cell under %q is not UTF-8", header[i]), at, col, kept.until(rd.InputOffset()))
		}
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		line = append(line, sep)
		line = append(line, keys[i]...)
		line = appendString(line, cell)
	}
	return append(line, '}')
}

func csvFault(err *csv.ParseError, cells int, header []string) string {
	switch {
	case errors.Is(err.Err, csv.ErrFieldCount) && otherSeparator(header) != "":
		return fmt.Sprintf("the row has %d cells and the header one: it has %s", cells, otherSeparator(header))
	case errors.Is(err.Err, csv.ErrFieldCount):
		return fmt.Sprintf("the row has %d of %d cells", cells, len(header))
	case errors.Is(err.Err, csv.ErrQuote), errors.Is(err.Err, csv.ErrBareQuote):
		return `a quote in a cell is written "" and the cell stands in quotes`
	}
	return err.Err.Error()
}

// otherSeparator names what seems to stand between the columns of a table whose
// header has no comma; empty: nothing.
func otherSeparator(header []string) string {
	switch {
	case len(header) != 1:
	case strings.Contains(header[0], ";"):
		return "semicolons for commas"
	case strings.Contains(header[0], "\t"):
		return "tabs for commas"
	}
	return ""
}

// recorder keeps what was read since the last row ended, so that a row at fault
// can be set aside as it was written.
type recorder struct {
	r    io.Reader
	kept []byte
	off  int64 // of kept in the input
}

func (k *recorder) Read(p []byte) (int, error) {
	n, err := k.r.Read(p)
	k.kept = append(k.kept, p[:n]...)
	return n, err
}

// forget lets go of what stands before an offset.
func (k *recorder) forget(off int64) {
	k.kept, k.off = k.kept[off-k.off:], off
}

// maxFault bounds the text of a row at fault: spelled as JSON, even of control
// characters alone, it stays within a line.
const maxFault = 4 << 20

// until is the text from what was forgotten to an offset, without its line break.
func (k *recorder) until(off int64) string {
	text := k.kept[:min(off-k.off, maxFault)]
	return strings.ToValidUTF8(strings.TrimRight(string(text), "\r\n"), "\ufffd")
}
