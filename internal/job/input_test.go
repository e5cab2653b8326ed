package job

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

// spooled opens an input and reads the text its records will be read from.
func spooled(t *testing.T, name string, stdin io.Reader) (string, error) {
	t.Helper()
	dir := t.TempDir()
	in, err := openInput(name, stdin, dir)
	if err != nil {
		return "", err
	}
	defer in.close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("a copy keeps its name: %v", left)
	}
	info, err := in.text.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if in.own && info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v", info.Mode())
	}
	text, err := io.ReadAll(io.NewSectionReader(in.text, 0, 1<<40))
	return string(text), err
}

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.Bytes()
}

func zstded(s string) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll([]byte(s), nil)
}

func TestInputForms(t *testing.T) {
	const rows = "{\"a\":1}\n{\"a\":2}\n"
	for _, c := range []struct {
		name    string
		file    string
		content []byte
		want    string
	}{
		{"plain", "x.jsonl", []byte(rows), rows},
		{"gzip", "x.jsonl.gz", gzipped(rows), rows},
		{"gzip without jsonl in its name", "x.gz", gzipped(rows), rows},
		{"several gzip members", "x.jsonl.gz", append(gzipped("{}\n"), gzipped("{}\n")...), "{}\n{}\n"},
		{"zstd", "x.jsonl.zst", zstded(rows), rows},
		{"upper case", "x.JSONL.ZST", zstded(rows), rows},
		{"csv", "x.csv", []byte("id,Prompt text\r\n1,\"a \"\"b\"\"\r\nc,d\"\r\n2,é\r\n"), `{"id":"1","Prompt text":"a \"b\"\nc,d"}` + "\n" + `{"id":"2","Prompt text":"é"}` + "\n"},
		{"csv with a BOM", "x.csv", []byte("\ufeffid\n1\n"), "{\"id\":\"1\"}\n"},
		{"csv, packed", "x.csv.gz", gzipped("id\n1\n"), "{\"id\":\"1\"}\n"},
		{"csv without rows", "x.csv", []byte("id\n"), ""},
		{"csv without anything", "x.csv", nil, ""},
		{"csv with a short row", "x.csv", []byte("a,b\n1,2\n3\n"), "{\"a\":\"1\",\"b\":\"2\"}\n!{\"fault\":\"the row has 1 of 2 cells\",\"line\":3,\"column\":1,\"text\":\"3\"}\n"},
		{"csv that is not UTF-8", "x.csv", []byte("a,b\n1,\xe9\n"), "!{\"fault\":\"the cell under \\\"b\\\" is not UTF-8\",\"line\":2,\"column\":3,\"text\":\"1,\ufffd\"}\n"},
		{"parquet without rows", "x.parquet", parquetOf(t, []struct{ A int }{}), ""},
	} {
		got, err := spooled(t, write(t, c.file, c.content), nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if c.file == "x.csv" || len(c.content) == 0 {
			continue
		}
	}
}

func TestStandardInput(t *testing.T) {
	for name, in := range map[string][]byte{"plain": []byte("{}\n"), "gzip": gzipped("{}\n"), "zstd": zstded("{}\n"), "a line break missing": []byte("{}")} {
		got, err := spooled(t, "-", bytes.NewReader(in))
		if err != nil || strings.TrimSpace(got) != "{}" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	got, err := spooled(t, "-", bytes.NewReader(parquetOf(t, []struct{ A int }{{7}})))
	if err != nil || got != "{\"A\":7}\n" {
		t.Errorf("parquet: %q, %v", got, err)
	}
}

func TestInputErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, want, hint string }{
		{dir, "input " + dir + " is a directory", "name its files: " + dir + "/*.jsonl"},
		{filepath.Join(dir, "no.jsonl"), "no such file or directory", ""},
		{write(t, "x.txt", []byte("{}")), "unknown kind of file", "inputs are .jsonl"},
		{write(t, "x.json", []byte("[]")), "a .json file is not read", "one object a line"},
		{write(t, "x.parquet", []byte("PAR1 and no more")), "no Parquet file", ""},
		{write(t, "x.jsonl.gz", gzipped("{}\n{}")[:20]), "the packed file ends in the middle", ""},
		{write(t, "x.csv", []byte("a,a\n1,2\n")), `two columns are named "a"`, ""},
		{write(t, "x.csv", []byte("a,\n1,2\n")), "column 2 has no name", ""},
	} {
		_, err := spooled(t, c.name, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if !strings.HasPrefix(HintOf(err), c.hint) {
			t.Errorf("%s: hint %q", c.name, HintOf(err))
		}
	}
}

func TestUnreadableInput(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	path := write(t, "x.jsonl", []byte("{}\n"))
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := spooled(t, path, nil); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v", err)
	}
}

func parquetOf[T any](t *testing.T, rows []T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestNestedParquet(t *testing.T) {
	type turn struct {
		Role    string `parquet:"role"`
		Content string `parquet:"content"`
	}
	type row struct {
		ID     string                `parquet:"id"`
		N      int64                 `parquet:"n"`
		F      float64               `parquet:"f"`
		OK     bool                  `parquet:"ok"`
		Maybe  *string               `parquet:"maybe,optional"`
		Turns  []turn                `parquet:"turns,list"`
		Bare   []int32               `parquet:"bare"`
		Tags   map[string]int32      `parquet:"tags"`
		Nested [][]string            `parquet:"nested,list"`
		At     time.Time             `parquet:"at,timestamp(microsecond)"`
		Raw    json.RawMessage       `parquet:"raw,json"`
		Inner  struct{ X, Y *int32 } `parquet:"inner"`
		Blob   []byte                `parquet:"blob"`
		Unsign uint64                `parquet:"unsign"`
	}
	yes, three := "yes \"é\"", int32(3)
	at := time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC)
	rows := []row{
		{ID: "a/1", N: 1 << 60, F: 0.1, OK: true, Maybe: &yes, Turns: []turn{{"user", "hi\nthere"}, {"assistant", ""}}, Bare: []int32{1, 2}, Tags: map[string]int32{"k": 5}, At: at, Raw: json.RawMessage(`{"z": [1]}`), Blob: []byte{0xff, 0}, Unsign: 1 << 63},
		{ID: "b", Turns: nil, Bare: nil, Raw: json.RawMessage("null"), At: time.Unix(0, 0)},
		{ID: "c", Turns: []turn{{"user", "x"}}, Inner: struct{ X, Y *int32 }{Y: &three}, Raw: json.RawMessage("1"), At: time.Unix(-1, 0)},
	}
	got, err := spooled(t, write(t, "x.parquet", parquetOf(t, rows)), nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines:\n%s", len(lines), got)
	}
	for i, want := range []map[string]any{
		{
			"id": "a/1", "n": json.Number("1152921504606846976"), "f": json.Number("0.1"), "ok": true, "maybe": yes,
			"turns": []any{map[string]any{"role": "user", "content": "hi\nthere"}, map[string]any{"role": "assistant", "content": ""}},
			"bare":  []any{json.Number("1"), json.Number("2")}, "tags": map[string]any{"k": json.Number("5")},
			"at": "2026-11-30T12:00:00.123456Z", "raw": map[string]any{"z": []any{json.Number("1")}},
			"inner": map[string]any{"X": nil, "Y": nil}, "blob": "/wA=", "unsign": json.Number("9223372036854775808"),
		},
		{"id": "b", "maybe": nil, "turns": []any{}, "bare": []any{}, "tags": map[string]any{}, "at": "1970-01-01T00:00:00Z", "raw": nil},
		{"id": "c", "turns": []any{map[string]any{"role": "user", "content": "x"}}, "inner": map[string]any{"X": nil, "Y": json.Number("3")}, "at": "1969-12-31T23:59:59Z", "raw": json.Number("1")},
	} {
		dec := json.NewDecoder(strings.NewReader(lines[i]))
		dec.UseNumber()
		row := map[string]any{}
		if err := dec.Decode(&row); err != nil {
			t.Fatalf("%s: %v", lines[i], err)
		}
		for k, v := range want {
			if diff := cmp.Diff(v, row[k]); diff != "" {
				t.Errorf("row %d, %s (-want +got):\n%s", i, k, diff)
			}
		}
	}
}

// Lists of lists, whose elements begin at two depths.
func TestParquetListsInLists(t *testing.T) {
	schema := parquet.NewSchema("x", parquet.Group{"l": parquet.Optional(parquet.List(parquet.Optional(parquet.List(parquet.Optional(parquet.String())))))})
	var b bytes.Buffer
	w := parquet.NewWriter(&b, schema)
	val := func(s string, rep, def int) parquet.Value {
		if s == "" {
			return parquet.NullValue().Level(rep, def, 0)
		}
		return parquet.ByteArrayValue([]byte(s)).Level(rep, def, 0)
	}
	for _, r := range []parquet.Row{
		{val("a", 0, 5), val("b", 2, 5), val("", 2, 4), val("c", 1, 5), val("", 1, 3), val("", 1, 2)}, // [[a,b,null],[c],[],null]
		{val("", 0, 0)}, // null
		{val("", 0, 1)}, // []
		{val("z", 0, 5)},
	} {
		if _, err := w.WriteRows([]parquet.Row{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := spooled(t, write(t, "x.parquet", b.Bytes()), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"l":[["a","b",null],["c"],[],null]}
{"l":null}
{"l":[]}
{"l":[["z"]]}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
