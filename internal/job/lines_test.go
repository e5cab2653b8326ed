package job

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type cutLine struct {
	Off  int64
	Line int
	Row  string
	Long int64
}

func cutAll(t interface{ Fatal(...any) }, r io.Reader) (got []cutLine) {
	rows := 0
	err := readBlocks(r, func(b *block) error {
		if b.row != rows {
			t.Fatal(fmt.Sprintf("block at %d counts %d rows before it, there were %d", b.off, b.row, rows))
		}
		if b.long > 0 {
			got = append(got, cutLine{b.off, b.line, "", b.long})
			rows++
			return nil
		}
		b.lines(func(off int64, line int, row []byte) {
			got = append(got, cutLine{off, line, string(row), 0})
			rows++
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// facts/peer-faults.md 21 (modaic PR#188, openai-python#1230): rows end at LF only.
func TestPeerFault21RowsEndAtLF(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []cutLine
	}{
		"U+2028, U+2029, NEL, form feed and a lone CR are content": {
			"{\"a\":\"x\u2028y\u2029z\u0085\f\r!\"}\n{}\n",
			[]cutLine{{0, 1, "{\"a\":\"x\u2028y\u2029z\u0085\f\r!\"}", 0}, {23, 2, "{}", 0}},
		},
		"CRLF":                         {"{}\r\n[]\r\n", []cutLine{{0, 1, "{}", 0}, {4, 2, "[]", 0}}},
		"BOM on the first line alone":  {"\ufeff{}\n\ufeff{}\n", []cutLine{{3, 1, "{}", 0}, {6, 2, "\ufeff{}", 0}}},
		"blank lines":                  {"\n \t\r\n{}\n\n\n{}", []cutLine{{5, 3, "{}", 0}, {10, 6, "{}", 0}}},
		"no line break at the end":     {"{}\n  {}  ", []cutLine{{0, 1, "{}", 0}, {5, 2, "{}", 0}}},
		"nothing":                      {"", nil},
		"a BOM and nothing":            {"\ufeff\n", nil},
		"NUL escapes and a NUL itself": {"\"\\u0000\x00\"\n", []cutLine{{0, 1, "\"\\u0000\x00\"", 0}}},
	} {
		if diff := cmp.Diff(c.want, cutAll(t, strings.NewReader(c.text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// facts/peer-faults.md 22 (scrutineer#467, skillreaper#33) and 15: long lines
// are read whole, and what follows them is not lost.
func TestPeerFault22LongLines(t *testing.T) {
	for _, size := range []int{64 << 10, 5 << 20, 20 << 20, maxLine} {
		long := strings.Repeat("x", size)
		got := cutAll(t, strings.NewReader("a\n"+long+"\r\nb\n"))
		if len(got) != 3 || got[1].Row != long || got[2].Row != "b" || got[2].Line != 3 || got[2].Off != int64(size)+4 {
			t.Errorf("%d bytes: %d lines", size, len(got))
		}
	}
	for _, size := range []int{maxLine + 1, maxLine + 3, 2 * maxLine} {
		got := cutAll(t, io.MultiReader(strings.NewReader("a\n"), io.LimitReader(zeros{}, int64(size)), strings.NewReader("\nb\n")))
		if len(got) != 3 || got[1].Long != int64(size)+1 || got[0].Row != "a" || got[2] != (cutLine{int64(size) + 3, 3, "b", 0}) {
			t.Errorf("%d bytes: %v", size, len(got))
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// Blocks and lines lose nothing and tell places truly, however the reader deals
// its bytes out: held to bytes.Split.
func TestBlocksTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range rapid.IntRange(0, 60).Draw(t, "lines") {
			text = append(text, bytes.Repeat([]byte{'x'}, rng.IntN(2)*rng.IntN(40000))...)
			text = append(text, []string{"\n", "\r\n", " \n", "\u2028", ""}[rng.IntN(5)]...)
		}
		var want []cutLine
		off := int64(0)
		for i, line := range bytes.SplitAfter(text, []byte{'\n'}) {
			if row := strings.Trim(string(line), " \t\r\n"); row != "" {
				lead := int64(len(line) - len(strings.TrimLeft(string(line), " \t\r\n")))
				want = append(want, cutLine{off + lead, i + 1, row, 0})
			}
			off += int64(len(line))
		}
		r := io.Reader(bytes.NewReader(text))
		if rapid.Bool().Draw(t, "halves") {
			r = iotest.HalfReader(r)
		}
		got := cutAll(t, iotest.DataErrReader(r))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
