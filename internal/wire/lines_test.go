package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// readLines reads all lines, copied.
func readLines(r io.Reader) (lines []Line, err error) {
	l := NewLineReader(r)
	for {
		line, err := l.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		line.Bytes = slices.Clone(line.Bytes)
		lines = append(lines, line)
	}
}

func TestLineReader(t *testing.T) {
	in := "\ufeff{\"a\":1}\r\n\n  \t\r\n{\"b\":\"x\ry\"}\n{\"c\":\"\\u0000\"}\r\r\nlast"
	want := []Line{
		{Bytes: []byte(`{"a":1}`), Offset: 3, End: 12, Number: 1},
		{Bytes: []byte("{\"b\":\"x\ry\"}"), Offset: 18, End: 30, Number: 4},
		{Bytes: []byte("{\"c\":\"\\u0000\"}\r"), Offset: 30, End: 47, Number: 5},
		{Bytes: []byte("last"), Offset: 47, End: 51, Number: 6, Torn: true},
	}
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in)),
		"data with its error": iotest.DataErrReader(strings.NewReader(in)),
	} {
		got, err := readLines(r)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
	}
	for _, in := range []string{"", "\n\n", "\ufeff", " \r\n"} {
		if got, err := readLines(strings.NewReader(in)); err != nil || len(got) != 0 {
			t.Errorf("%q: %v (%v)", in, got, err)
		}
	}
}

// peer-faults 21: a raw U+2028, U+2029 or NEL inside a string split a row in two.
func TestPeerFault21UnicodeLineBreaks(t *testing.T) {
	rows := []string{"{\"a\":\"x\u2028y\"}", "{\"a\":\"x\u2029y\"}", "{\"a\":\"x\u0085y\"}", "{\"a\":\"x\vy\fz\x1c\"}", "{\"a\":\"x\ry\"}"}
	got, err := readLines(strings.NewReader(strings.Join(rows, "\n") + "\n"))
	if err != nil || len(got) != len(rows) {
		t.Fatalf("%d rows of %d (%v)", len(got), len(rows), err)
	}
	for i, row := range rows {
		if string(got[i].Bytes) != row {
			t.Errorf("row %d: %q, want %q", i, got[i].Bytes, row)
		}
	}
}

// peer-faults 22: a line over the scanner's buffer dropped the rest of the file.
func TestPeerFault22LongLines(t *testing.T) {
	long := func(n int) string { return `{"a":"` + strings.Repeat("x", n) + `"}` }
	rows := []string{`{"first":1}`, long(5 << 20), `{"between":1}`, long(20 << 20), long(MaxLine - 8), `{"last":1}`}
	got, err := readLines(strings.NewReader(strings.Join(rows, "\n")))
	if err != nil || len(got) != len(rows) {
		t.Fatalf("%d rows of %d (%v)", len(got), len(rows), err)
	}
	for i, row := range rows {
		if string(got[i].Bytes) != row {
			t.Errorf("row %d has %d bytes, want %d", i, len(got[i].Bytes), len(row))
		}
	}
	got, err = readLines(strings.NewReader("{}\n" + long(MaxLine) + "\n{}\n"))
	var over *LongLineError
	if !errors.As(err, &over) || over.Number != 2 || over.Offset != 3 || len(got) != 1 {
		t.Errorf("a line over the bound: %v after %d rows", err, len(got))
	}
}

func TestLineReaderErrors(t *testing.T) {
	broken := errors.New("broken")
	got, err := readLines(io.MultiReader(strings.NewReader("{}\nhalf"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("%v after %d rows; a line cut by an error is none", err, len(got))
	}
	if _, err := readLines(idle{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader without progress: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func FuzzLineReader(f *testing.F) {
	for _, s := range []string{"", "a\nb", "\ufeffa\r\n\r\nb\r", "\n\n \n", "a\rb\n", "\u2028\n\u0085", "\ufeff\ufeffa"} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, chunk uint8) {
		got, err := readLines(&chunked{in, int(chunk)%7 + 1})
		if err != nil {
			t.Fatal(err)
		}
		var want [][]byte // the twin: split, trim, drop
		for _, row := range bytes.Split(bytes.TrimPrefix(in, byteOrderMark), []byte("\n")) {
			if row = bytes.TrimSuffix(row, []byte("\r")); !blank(row) {
				want = append(want, row)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d rows, by the twin %d", len(got), len(want))
		}
		for i, line := range got {
			if !bytes.Equal(line.Bytes, want[i]) || !bytes.HasPrefix(in[line.Offset:], line.Bytes) {
				t.Fatalf("row %d: %q at %d, by the twin %q", i, line.Bytes, line.Offset, want[i])
			}
			if line.End < line.Offset+int64(len(line.Bytes)) || line.Torn != (line.End == int64(len(in)) && in[len(in)-1] != '\n') {
				t.Fatalf("row %d: %+v", i, line)
			}
		}
	})
}

// chunked gives n bytes at a time.
type chunked struct {
	b []byte
	n int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:min(c.n, len(c.b))])
	c.b = c.b[n:]
	return n, nil
}
