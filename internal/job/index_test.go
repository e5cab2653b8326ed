package job

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla/internal/job/sample"
)

func judge() Shape {
	return Shape{Model: "claude-sonnet-4-6", MaxTokens: ptr(120), Prompt: "How {{.trait}} is this, from 0 to 100?\n\n{{.statement}}"}
}

func TestIndexOfPersona(t *testing.T) {
	x, err := indexOf(t, judge(), false, sample.Path(t, sample.Persona))
	if err != nil {
		t.Fatal(err)
	}
	if x.n() != 141_600 || x.equal != 3 || len(x.kinds) != 1 {
		t.Errorf("%d calls, %d equal, %d kinds", x.n(), x.equal, len(x.kinds))
	}
}

func TestIndexOfSolutions(t *testing.T) {
	x, err := indexOf(t, Shape{Model: "claude-haiku-4-5", MaxTokens: ptr(5), Prompt: "{{.question}}\n{{.completion}}", Repeats: 3}, false, sample.Path(t, sample.Solutions))
	if err != nil {
		t.Fatal(err)
	}
	if x.n() != 3*5276 || x.equal != 8 {
		t.Errorf("%d calls, %d equal", x.n(), x.equal)
	}
	seen := map[string]bool{}
	var r record
	for call := range x.calls() {
		if err := x.read(call/3, &r); err != nil {
			t.Fatal(err)
		}
		id, err := x.id(call, &r)
		if err != nil || seen[id] {
			t.Fatalf("call %d: id %q, %v", call, id, err)
		}
		seen[id] = true
		key := fmt.Sprint(x.row(call).key, x.nth(call))
		if seen[key] {
			t.Fatalf("call %d: (body, nth) occurs twice", call)
		}
		seen[key] = true
	}
	var names []string
	for _, c := range x.columns.list {
		names = append(names, c.name)
	}
	if diff := cmp.Diff([]string{"id", "question", "reference", "completion", "correct"}, names); diff != "" {
		t.Error(diff)
	}
}

// Rows are read again as they were indexed, whatever stands between them, and
// the number of processors makes no difference.
func TestIndexReadsAgain(t *testing.T) {
	var b strings.Builder
	b.WriteString("\ufeff")
	for i := range 3000 {
		fmt.Fprintf(&b, " {\"n\":%d,\"q\":\"%s\u2028\"} \r\n\n", i, strings.Repeat("é", i%700))
	}
	path := write(t, "x.jsonl", []byte(b.String()))
	csv := write(t, "y.csv", []byte("n,q\n3000,\"a\nb\"\n3001,c\n"))
	shape := Shape{Model: "claude-haiku-4-5", MaxTokens: ptr(5), Prompt: "{{.q}}", IDFields: []string{"n"}}
	var digests [][32]byte
	for _, procs := range []int{1, 4} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		x, err := indexOf(t, shape, false, path, csv)
		if err != nil {
			t.Fatal(err)
		}
		var r record
		for row := range x.rows.n {
			if err := x.read(row, &r); err != nil {
				t.Fatal(err)
			}
			id, err := x.id(row, &r)
			if err != nil || id != fmt.Sprint(row) {
				t.Fatalf("row %d reads as %q (%v)", row, id, err)
			}
			if got, ok := x.find(id); !ok || got != row {
				t.Fatalf("row %d is found at %d", row, got)
			}
		}
		if x.rows.n != 3002 || x.firsts[1] != 3000 {
			t.Errorf("%d rows, the second input begins at %v", x.rows.n, x.firsts)
		}
		digests = append(digests, x.digest)
	}
	if digests[0] != digests[1] {
		t.Error("the digest depends on the number of processors")
	}
}

func TestIndexNoticesChangedInput(t *testing.T) {
	path := write(t, "x.jsonl", []byte("{\"q\":\"aaa\"}\n{\"q\":\"bbb\"}\n"))
	x, err := indexOf(t, Shape{Model: "claude-haiku-4-5", MaxTokens: ptr(5), Prompt: "{{.q}}"}, false, path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("{\"q\":\"bbb\"}\n{\"q\":\"aaa\"}\n"), 0); err != nil {
		t.Fatal(err)
	}
	var r record
	if err := x.read(1, &r); err == nil || !strings.Contains(err.Error(), "changed while the job ran (row 2)") {
		t.Errorf("got %v", err)
	}
}

func TestIndexFaults(t *testing.T) {
	haiku := Shape{Model: "claude-haiku-4-5", MaxTokens: ptr(5), Prompt: "{{.q}}"}
	for _, c := range []struct {
		name, file, content string
		shape               Shape
		want, hint          string
	}{
		{"broken JSON", "x.jsonl", "{\"q\":\"a\"}\n\n{\"q\":nope}\n", haiku, "x.jsonl line 3 column 7: ", "mend the row, or --skip-bad sets such rows aside and goes on"},
		{"cut line", "x.jsonl", "{\"q\":\"a\"}\n{\"q\":\"b", haiku, "x.jsonl line 2 column 8: ", "mend the row, or --skip-bad sets such rows aside and goes on"},
		{"not UTF-8", "x.jsonl", "{\"q\":\"\xff\"}\n", haiku, "x.jsonl line 1 byte 7: bytes that are not UTF-8", ""},
		{"not an object", "x.jsonl", "[1]\n", haiku, "x.jsonl line 1: a row is a JSON object, this is a list", ""},
		{"template typo", "prompts.csv", "qid,Prompt text,trait,label\n1,a,b,c\n", Shape{Model: "claude-haiku-4-5", MaxTokens: ptr(5), Prompt: "{{.promt}}"}, "prompts.csv row 1: the prompt uses {{.promt}}; there is no such column", `columns are qid, "Prompt text", trait, label; a name with spaces is {{field "Prompt text"}}`},
		{"null field", "x.jsonl", "{\"q\":\"a\"}\n{\"q\":null}\n", haiku, "x.jsonl line 2: the prompt uses {{.q}}, which is null there", "fields are q"},
		{"{question}", "x.jsonl", "{\"q\":\"a\"}\n{\"q\":\"b\"}\n", Shape{Model: "claude-haiku-4-5", MaxTokens: ptr(5), Prompt: "{q}"}, "--prompt names no field, so every row would send the same text (2 rows)", "{q} is not ours; write {{.q}}"},
		{"duplicate id", "x.jsonl", "{\"id\":\"a\",\"q\":\"1\"}\n\n{\"id\":\"b\",\"q\":\"2\"}\n{\"id\":\"a\",\"q\":\"3\"}\n", haiku, `x.jsonl line 4: id "a" is the id of `, "--id-field names the fields that make an id, --id-field - numbers the rows"},
		{"duplicate id in a table", "x.csv", "id,q\na,\"1\n1\"\na,2\n", haiku, `x.csv row 2: id "a" is the id of `, "--id-field names the fields that make an id, --id-field - numbers the rows"},
		{"unknown model", "x.jsonl", "{\"q\":\"a\"}\n", Shape{Model: "gpt-9", MaxTokens: ptr(5), Prompt: "{{.q}}"}, `x.jsonl line 1: no price is known for the model "gpt-9"`, "correct the name, or give its prices in dollars a million tokens: --price in=3,out=15"},
		{"refused parameter", "x.jsonl", "{\"q\":\"a\"}\n", Shape{Model: "claude-opus-4-8", MaxTokens: ptr(5), Prompt: "{{.q}}", Params: `{"temperature":0}`}, "x.jsonl line 1: temperature is not accepted by claude-opus-4-8", "take it out of the rows or of --params; --repeats replaces temperature 0"},
		{"prefill", "x.jsonl", `{"custom_id":"a","params":{"model":"claude-sonnet-4-6","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"{"}]}}`, Shape{}, "x.jsonl line 1: the last message is the assistant's: claude-sonnet-4-6 takes no prefill", "ask for"},
		{"no max_tokens", "x.jsonl", `{"custom_id":"a","params":{"model":"claude-sonnet-4-6","messages":[]}}`, Shape{}, "x.jsonl line 1: max_tokens is missing", "--max-tokens fills it in"},
		{"max_tokens above the model's", "x.jsonl", "{\"q\":\"a\"}\n", Shape{Model: "claude-haiku-4-5", MaxTokens: ptr(64001), Prompt: "{{.q}}"}, "x.jsonl line 1: max_tokens: 64001 > 64000, the most that claude-haiku-4-5 can write", ""},
		{"a model twice", "x.jsonl", `{"custom_id":"a","params":{"model":"claude-sonnet-4-6","model":"x","max_tokens":1,"messages":[]}}`, Shape{}, "x.jsonl line 1: model: occurs twice", ""},
		{"bad cells", "x.csv", "a,q\n1,\"x\ny\"\n1\n", haiku, "x.csv row 2 (line 4) column 1: the row has 1 of 2 cells", "mend the row, or --skip-bad sets such rows aside and goes on"},
	} {
		path := write(t, c.file, []byte(c.content))
		_, err := indexOf(t, c.shape, false, path)
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		got := strings.ReplaceAll(err.Error(), path, c.file)
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if !strings.HasPrefix(HintOf(err), c.hint) {
			t.Errorf("%s: hint %q", c.name, HintOf(err))
		}
	}
}

// facts/peer-faults.md 16 (llm-d-batch-gateway#147): over several inputs, both places are named.
func TestPeerFault16DuplicatesNameBothLines(t *testing.T) {
	a := write(t, "a.jsonl", []byte("\n{\"id\":\"x\",\"q\":\"1\"}\n"))
	b := write(t, "b.csv", []byte("id,q\ny,1\nx,2\n"))
	_, err := indexOf(t, Shape{Model: "claude-haiku-4-5", MaxTokens: ptr(5), Prompt: "{{.q}}"}, false, a, b)
	if want := b + ` row 2: id "x" is the id of ` + a + " line 2 too"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestSkipBadGoesOn(t *testing.T) {
	path := write(t, "x.jsonl", []byte("{\"q\":\"1\"}\nnope\n{\"q\":\"3\",\"id\":\"a\"}\n{}\n{\"q\":\"5\",\"id\":\"a\"}\n{\"q\":\"6\"}\n"))
	x, err := indexOf(t, Shape{Model: "claude-haiku-4-5", MaxTokens: ptr(5), Prompt: "{{.q}}"}, true, path)
	if err != nil {
		t.Fatal(err)
	}
	var records []int
	for _, e := range x.rejected {
		records = append(records, e.Record)
	}
	if diff := cmp.Diff([]int{2, 4, 5}, records); diff != "" || x.n() != 3 {
		t.Errorf("%d calls; set aside %s", x.n(), diff)
	}
	if row, ok := x.find("row-6"); !ok || row != 5 {
		t.Errorf("row-6 is at %d (%v): numbers count every record", row, ok)
	}
}

func TestFirstFaultIsTheSameEveryTime(t *testing.T) {
	var b bytes.Buffer
	for i := range 20000 {
		if i > 5000 && i%997 == 0 {
			b.WriteString("{\n")
			continue
		}
		fmt.Fprintf(&b, "{\"q\":\"%d\"}\n", i)
	}
	path := write(t, "x.jsonl", b.Bytes())
	for range 10 {
		_, err := indexOf(t, Shape{Model: "claude-haiku-4-5", MaxTokens: ptr(5), Prompt: "{{.q}}"}, false, path)
		var e *RowError
		if !errors.As(err, &e) || e.Line != 5983 {
			t.Fatalf("got %v", err)
		}
	}
}

func TestWarnings(t *testing.T) {
	at := published().prices.Date
	got := lifecycle(published().prices, []string{"claude-haiku-4-5", "claude-sonnet-4-5", "claude-opus-4-5", "claude-sonnet-4-5"}, at)
	if len(got) != 2 {
		t.Fatalf("%q", got)
	}
	if !strings.Contains(got[1], "claude-sonnet-4-5 is") || !strings.Contains(got[1], "same pool and price: claude-sonnet-4-6") {
		t.Errorf("%q", got[1])
	}
}

// BenchmarkIndex prints rows a second and bytes a row of the index pass over
// the persona rows; the aim is 141,600 rows in 1.5 s on one core.
func BenchmarkIndex(b *testing.B) {
	path := sample.Path(b, sample.Persona)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		x, err := indexOf(b, judge(), false, path)
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(x.n()), "B/row")
		runtime.KeepAlive(x)
	}
	b.ReportMetric(141_600*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
