package job

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
)

// A table that is not of this job is never written over, whatever its ids are.
func TestForeignTableIsLeftAlone(t *testing.T) {
	for _, ext := range []string{".csv", ".parquet"} {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 4)}
		b.cfg.Output.Path = filepath.Join(b.dir, "gen"+ext)
		if e := b.run(b.fleet()); e.code != ExitOK {
			t.Fatalf("%s: exit %d, %v", ext, e.code, e.err)
		}
		first, err := os.ReadFile(b.cfg.Output.Path)
		if err != nil {
			t.Fatal(err)
		}
		b.cfg.Shape.Prompt = "again {{.q}}" // another job with the same ids, done elsewhere
		b.cfg.Output.Path = filepath.Join(b.dir, "other"+ext)
		if e := b.run(b.fleet()); e.code != ExitOK {
			t.Fatalf("%s: exit %d, %v", ext, e.code, e.err)
		}
		b.cfg.Output.Path = filepath.Join(b.dir, "gen"+ext)
		e := b.run(b.fleet())
		if e.code != ExitError || !strings.Contains(errText(e.err), "another answer") || !strings.Contains(HintOf(e.err), "--overwrite") {
			t.Errorf("%s: exit %d, %v", ext, e.code, e.err)
		}
		b.cfg.Inputs = append(b.cfg.Inputs, b.file("more.jsonl", `{"id":"more","q":"more"}`)) // a new job whose answers are cached
		if e := b.run(b.fleet()); e.code != ExitError || !strings.Contains(errText(e.err), "another answer") {
			t.Errorf("%s with more input: exit %d, %v", ext, e.code, e.err)
		}
		if now, _ := os.ReadFile(b.cfg.Output.Path); string(now) != string(first) {
			t.Errorf("%s was changed", ext)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A table without a row says by its columns whose it is.
func TestForeignTableHead(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 2)}
	for _, text := range []string{"hello\n", "custom_id,completion\n", "\"open\n"} {
		b.cfg.Output.Path = b.file("out.csv", text)
		if e := b.run(b.fleet()); e.code != ExitError || !strings.Contains(HintOf(e.err), "--overwrite") {
			t.Errorf("%q: exit %d, %v", text, e.code, e.err)
		}
		if now, _ := os.ReadFile(b.cfg.Output.Path); string(now) != text {
			t.Errorf("%q became %q", text, now)
		}
	}
	b.cfg.Output.Overwrite = true
	if e := b.run(b.fleet()); e.code != ExitOK || len(tableOf(t, b.cfg.Output.Path)) != 3 {
		t.Errorf("--overwrite: exit %d, %v", e.code, e.err)
	}
}

// What --retry changed by way of one OUT reaches the others, in whatever form.
func TestRetryReachesEveryOut(t *testing.T) {
	for _, ext := range []string{".jsonl", ".jsonl.gz", ".csv", ".parquet"} {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 6)}
		f := b.fleet()
		f.answer = func(call int, body []byte) flotilla.Result {
			switch call {
			case 4:
				return answered("cut", "max_tokens")
			case 5:
				return refusal(500, "api_error", "oops")
			}
			return echo(call, body)
		}
		other, first := filepath.Join(b.dir, "other"+ext), b.cfg.Output.Path
		if e := b.run(f); e.code != ExitRows {
			t.Fatalf("exit %d, %v", e.code, e.err)
		}
		b.cfg.Output.Path = other
		if e := b.run(b.fleet()); e.code != ExitRows {
			t.Fatalf("%s: exit %d, %v", ext, e.code, e.err)
		}
		b.cfg.Output.Path, b.cfg.Retry = first, []string{"errored", "truncated"}
		if e := b.run(b.fleet()); e.code != ExitOK {
			t.Fatalf("exit %d, %v", e.code, e.err)
		}
		b.cfg.Output.Path, b.cfg.Retry = other, nil
		f = b.fleet()
		if e := b.run(f); e.code != ExitOK || len(f.sent) > 0 {
			t.Fatalf("%s: exit %d, sent %v, %v", ext, e.code, f.sent, e.err)
		}
		if text := outText(t, other); strings.Contains(text, "oops") || strings.Contains(text, "cut") {
			t.Errorf("%s has answers of before the retry:\n%s", ext, text)
		}
	}
}

// outText is an OUT of any form as text.
func outText(t *testing.T, path string) string {
	t.Helper()
	if strings.HasSuffix(path, ".csv") || strings.HasSuffix(path, ".parquet") {
		var b strings.Builder
		for _, row := range tableOf(t, path) {
			b.WriteString(strings.Join(row, ",") + "\n")
		}
		return b.String()
	}
	text, err := spooled(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A table goes in and out as often as one likes: no column takes another's name.
func TestTableOfTableOfTable(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.file("in.csv", "id,q\n1,a\n2,b\n")}
	for i := range 3 {
		b.cfg.Output.Path = filepath.Join(b.dir, string(rune('a'+i))+".csv")
		if e := b.run(b.fleet()); e.code != ExitOK {
			t.Fatalf("round %d: exit %d, %v", i, e.code, e.err)
		}
		seen := map[string]bool{}
		for _, name := range tableOf(t, b.cfg.Output.Path)[0] {
			if seen[name] {
				t.Errorf("round %d: two columns are named %q", i, name)
			}
			seen[name] = true
		}
		b.cfg.Inputs = []string{b.cfg.Output.Path}
	}
	names := tableOf(t, b.cfg.Output.Path)[0]
	want := []string{"id", "q", "input.custom_id", "input.completion"}
	if diff := cmp.Diff(want, names[:4]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for i, name := range names {
		if name == "custom_id" && tableOf(t, b.cfg.Output.Path)[1][i] != "1" {
			t.Errorf("custom_id is %q", tableOf(t, b.cfg.Output.Path)[1][i])
		}
	}
}

// Parquet keeps every digit of a number, as text where no number type does.
func TestParquetKeepsDigits(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.file("in.jsonl", `{"q":"a","u":18446744073709551615,"dec":12345678901234567890.123456,"f":0.1,"long":900719925474099312,"mix":900719925474099312,"big":1e400,"z":1.50}
{"q":"b","u":1,"dec":1.5,"f":2,"long":1,"mix":0.5,"big":1,"z":100.0}
`)}
	b.cfg.Output = Output{Path: filepath.Join(b.dir, "out.parquet"), ByInput: true}
	if e := b.run(b.fleet()); e.code != ExitOK {
		t.Fatalf("exit %d, %v", e.code, e.err)
	}
	rows := tableOf(t, b.cfg.Output.Path)
	for i, want := range [][]string{
		{"a", "18446744073709551615", "12345678901234567890.123456", "0.1", "900719925474099312", "900719925474099312", "1e400", "1.5"},
		{"b", "1", "1.5", "2", "1", "0.5", "1", "100"},
	} {
		if diff := cmp.Diff(want, rows[i+1][:8]); diff != "" {
			t.Errorf("row %d (-want +got)\n%s", i, diff)
		}
	}
}

// Rows of CSV that are set aside stand there as they were written.
func TestRejectedCSVRowsKeepTheirText(t *testing.T) {
	b := newBench(t)
	b.cfg.SkipBad = true
	b.cfg.Inputs = []string{b.file("in.csv", "id,q\n1,a\n2\n3,\"x\ny\"\n4,\xe9\n!5,b,c\n")}
	if e := b.run(b.fleet()); e.code != ExitRows || e.Succeeded != 2 || e.Rejected != 3 {
		t.Fatalf("exit %d, %+v, %v", e.code, e.Summary, e.err)
	}
	text, err := os.ReadFile(b.cfg.Output.Path + ".rejected.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"line":3,"column":1,"error":"the row has 1 of 2 cells","text":"2"}`, `"text":"4,` + "\ufffd" + `"}`, `"text":"!5,b,c"}`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// Nothing that a run writes beside OUT takes the place of an input or of OUT.
func TestFilesStandApart(t *testing.T) {
	b := newBench(t)
	in := b.input("out.jsonl.rejected.jsonl", 2)
	b.cfg.Inputs, b.cfg.SkipBad = []string{in}, true
	if e := b.run(b.fleet()); e.code != ExitError || !strings.Contains(errText(e.err), "which is the input") {
		t.Errorf("exit %d, %v", e.code, e.err)
	}
	for path, want := range map[string]string{
		"": "", filepath.Join(b.dir, "s.json"): "", "/dev/null": "",
		in: "--summary " + in + " is the input " + in, b.cfg.Output.Path: "--summary " + b.cfg.Output.Path + " is the output",
		b.dir + "/./out.jsonl": "--summary " + b.dir + "/./out.jsonl is the output",
	} {
		if err := b.cfg.Output.Apart(b.cfg.Inputs, "--summary", path); errText(err) != want {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// Requests in Parquet: a struct column has all fields of all rows, so null is
// how a row lacks one, and it is not sent.
func TestParquetRequestsWithoutNulls(t *testing.T) {
	type block struct {
		Type string  `parquet:"type"`
		Text *string `parquet:"text,optional"`
		Name *string `parquet:"name,optional"`
	}
	type turn struct {
		Role    string  `parquet:"role"`
		Content []block `parquet:"content,list"`
	}
	type params struct {
		Model    string  `parquet:"model"`
		Max      int     `parquet:"max_tokens"`
		System   *string `parquet:"system,optional"`
		Messages []turn  `parquet:"messages,list"`
	}
	type row struct {
		ID     string `parquet:"custom_id"`
		Params params `parquet:"params"`
	}
	hi, sys := "hi", "be brief"
	turns := []turn{{"user", []block{{"text", &hi, nil}}}}
	b := newBench(t)
	b.cfg.Shape.Model, b.cfg.Shape.MaxTokens, b.cfg.Shape.Prompt = "", nil, ""
	b.cfg.Inputs = []string{write(t, "in.parquet", parquetOf(t, []row{
		{"a", params{"claude-haiku-4-5", 5, nil, turns}}, {"b", params{"claude-haiku-4-5", 5, &sys, turns}},
	}))}
	f := b.fleet()
	if e := b.run(f); e.code != ExitOK {
		t.Fatalf("exit %d, %v", e.code, e.err)
	}
	const body = `{"model":"claude-haiku-4-5","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`
	if got := f.bodies[0][0]; got != body {
		t.Errorf("sent %s", got)
	}
	if got, want := f.bodies[1][0], strings.Replace(body, `"messages"`, `"system":"be brief","messages"`, 1); got != want {
		t.Errorf("sent %s", got)
	}
	b.cfg.Shape.System = sys // a flag fills in what a row lacks
	b.cfg.Output.Path = filepath.Join(b.dir, "filled.jsonl")
	f = b.fleet()
	if e := b.run(f); e.code != ExitOK || !strings.Contains(f.bodies[0][0], sys) {
		t.Errorf("exit %d, sent %v, %v", e.code, f.bodies, e.err)
	}
}

// A finished table is put in the order of the input when that is asked for later.
func TestTableIsOrderedLater(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 40)}
	b.cfg.Output.Path = filepath.Join(b.dir, "out.csv")
	for _, byInput := range []bool{false, true} {
		b.cfg.Output.ByInput = byInput
		if e := b.run(b.fleet()); e.code != ExitOK {
			t.Fatalf("exit %d, %v", e.code, e.err)
		}
		ordered := true
		for i, row := range tableOf(t, b.cfg.Output.Path)[1:] {
			ordered = ordered && row[0] == fmt.Sprintf("r/%d", i)
		}
		if ordered != byInput {
			t.Errorf("by input %v: ordered %v", byInput, ordered)
		}
	}
}

// A link at OUT leads on to its file, also to one that is not there yet.
func TestLinkedOutStaysALink(t *testing.T) {
	for _, ext := range []string{".csv", ".parquet", ".jsonl", ".jsonl.gz"} {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 3)}
		if err := os.Mkdir(filepath.Join(b.dir, "far"), 0o700); err != nil {
			t.Fatal(err)
		}
		far, mid := filepath.Join(b.dir, "far", "out"+ext), filepath.Join(b.dir, "mid"+ext)
		b.cfg.Output = Output{Path: filepath.Join(b.dir, "out"+ext), ByInput: true}
		for link, to := range map[string]string{b.cfg.Output.Path: "mid" + ext, mid: far} {
			if err := os.Symlink(to, link); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if e := b.run(b.fleet()); e.code != ExitOK {
				t.Fatalf("%s: exit %d, %v", ext, e.code, e.err)
			}
		}
		if info, err := os.Lstat(far); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: the file is not where the link leads: %v", ext, err)
		}
		if to, err := os.Readlink(b.cfg.Output.Path); err != nil || to != "mid"+ext {
			t.Errorf("%s: the link is gone: %v", ext, err)
		}
	}
}
