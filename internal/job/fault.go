package job

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// RowError is a row that is at fault, and where.
type RowError struct {
	Input  string // as the user named it
	Row    int    // 1-based, in its input
	Line   int    // 1-based; 0: unknown (Parquet)
	Column int    // byte in the line, 1-based; 0: the row as a whole
	Record int    // 1-based, over all inputs
	Table  bool   // the input has rows under columns
	Err    error
	raw    string // the row's text, for OUT.rejected.jsonl; empty: not known
}

func (e *RowError) Error() string {
	return fmt.Sprintf("%s: %v", e.place(), e.Err)
}

// place is "rows.jsonl line 3 column 7" or "rows.csv row 2 (line 5)".
func (e *RowError) place() string {
	s := fmt.Sprintf("%s line %d", e.Input, e.Line)
	if e.Table {
		s = fmt.Sprintf("%s row %d", e.Input, e.Row)
		if e.Line > 0 {
			s += fmt.Sprintf(" (line %d)", e.Line)
		}
	}
	if e.Column > 0 {
		unit := "column"
		if e.encoding() {
			unit = "byte" // nobody can count letters that are none
		}
		s += fmt.Sprintf(" %s %d", unit, e.Column)
	}
	return s
}

// encoding says that the fault is that of a file in another encoding.
func (e *RowError) encoding() bool { return strings.HasSuffix(e.Err.Error(), "not UTF-8") }

// Hint is the way out that is known of the fault, or empty.
func (e *RowError) Hint() string {
	if e.encoding() {
		return "convert the file: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW, with the encoding that it has"
	}
	if hint := HintOf(e.Err); hint != "" || e.Column == 0 {
		return hint
	}
	return "mend the row, or --skip-bad sets such rows aside and goes on"
}

func (e *RowError) Unwrap() error { return e.Err }

// A fault line stands in a spooled table for a row that could not be turned
// into an object. No JSON value begins with its first byte.
const faultMark = '!'

func appendFault(dst []byte, fault string, line, column int, text string) []byte {
	dst = append(dst, faultMark)
	dst = append(dst, `{"fault":`...)
	dst = appendString(dst, fault)
	dst = append(dst, `,"line":`...)
	dst = strconv.AppendInt(dst, int64(line), 10)
	dst = append(dst, `,"column":`...)
	dst = strconv.AppendInt(dst, int64(column), 10)
	dst = append(dst, `,"text":`...)
	dst = appendString(dst, text)
	return append(dst, '}')
}

// readFault reads a fault line back.
func readFault(line []byte) *RowError {
	v := gjson.ParseBytes(line[1:])
	return &RowError{
		Line: int(v.Get("line").Int()), Column: int(v.Get("column").Int()), Err: errors.New(v.Get("fault").Str), raw: v.Get("text").Str,
	}
}
