package job

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla"
)

func TestLineIsAsPromised(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 1)}
	b.cfg.Output.Keep = []string{"id"}
	if e := b.run(b.fleet()); e.err != nil || e.code != ExitOK {
		t.Fatalf("%v, exit %d", e.err, e.code)
	}
	got, err := os.ReadFile(b.cfg.Output.Path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := indexOf(t, b.cfg.Shape, false, b.cfg.Inputs[0])
	if err != nil {
		t.Fatal(err)
	}
	msg := string(echo(0, []byte(`{"messages":[{"content":"text <0> é"}]}`)).Message)
	want := `{"custom_id":"r/0","result":{"type":"succeeded","message":` + msg + `},"input":{"id":"r/0"},` +
		`"flotilla":{"org":"high","tier":"sync","model":"claude-haiku-4-5","attempts":1,"latency_ms":812,"cost_usd":0.001230000,"cached":false,` +
		fmt.Sprintf(`"body":"%016x"}}`, x.rows.at(0).body) + "\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestErroredLines(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 4)}
	f := b.fleet()
	f.answer = func(call int, body []byte) flotilla.Result {
		switch call {
		case 1:
			return refusal(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
		case 2:
			return flotilla.Result{Err: &flotilla.TransportError{Err: io.ErrUnexpectedEOF}}
		}
		return echo(call, body)
	}
	e := b.run(f)
	if e.err != nil || e.code != ExitRows {
		t.Fatalf("%v, exit %d", e.err, e.code)
	}
	lines := b.lines()
	for id, want := range map[string]string{
		"r/1": `{"type":"errored","error":{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}}`,
		"r/2": `{"type":"errored","error":{"type":"error","error":{"type":"flotilla_connection_error","message":"unexpected EOF"}}}`,
	} {
		if got := lines[id].Get("result").Raw; got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	last := e.Ending(&e.report)
	if n := len(last); n == 0 || last[n-1] != (Line{"hint", "--retry errored sends these rows again"}) {
		t.Errorf("the last line is %v", last)
	}
	// A plain run does not send them again.
	f = b.fleet()
	e = b.run(f)
	if len(f.sent) > 0 || e.code != ExitRows || e.Errored != 2 || len(e.Errors) != 2 || e.Resumed != 4 {
		t.Errorf("%d sent, exit %d, %+v", len(f.sent), e.code, e.Summary)
	}
	// --retry does, and their lines are rewritten in their places.
	before := b.lines()
	b.cfg.Retry = []string{"errored"}
	f = b.fleet()
	e = b.run(f)
	if len(f.sent) != 2 || e.code != ExitOK || e.Errored != 0 || e.Succeeded != 4 {
		t.Errorf("%d sent, exit %d, %+v", len(f.sent), e.code, e.Summary)
	}
	b.whole(4)
	after := b.lines()
	if after["r/1"].Get("flotilla.retried").Str != "errored" || after["r/0"].Raw != before["r/0"].Raw {
		t.Errorf("%s", after["r/1"].Raw)
	}
}

func TestRetryTruncatedDoublesTheRoom(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 6)}
	cut := func(until string) func(int, []byte) flotilla.Result {
		return func(call int, body []byte) flotilla.Result {
			if call == 2 && gjson.GetBytes(body, "max_tokens").Raw != until {
				return answered("cut", "max_tokens")
			}
			if call == 4 && until == "600" {
				return answered("no", "refusal")
			}
			return echo(call, body)
		}
	}
	f := b.fleet()
	f.answer = cut("600")
	e := b.run(f)
	if e.code != ExitOK || e.Truncated != 1 || e.RefusedByModel != 1 {
		t.Fatalf("exit %d, %+v", e.code, e.Summary)
	}
	if hint := e.Ending(&e.report); len(hint) != 2 || !strings.HasPrefix(hint[1].Text, "--retry truncated,refused sends only these rows again") {
		t.Errorf("%v", hint)
	}
	b.cfg.Retry = []string{"truncated"}
	for i, room := range []string{"600", "1200"} {
		f = b.fleet()
		f.answer = cut("1200") // the first retry is cut as well
		e = b.run(f)
		if len(f.sent) != 1 || gjson.Get(f.bodies[2][0], "max_tokens").Raw != room {
			t.Fatalf("retry %d sent %v", i, f.bodies)
		}
		if line := b.lines()["r/2"]; line.Get("flotilla.retried").Str != "truncated" {
			t.Errorf("%s", line.Raw)
		}
	}
	if e.Truncated != 0 || e.RefusedByModel != 1 || e.Succeeded != 6 {
		t.Errorf("%+v", e.Summary)
	}
	text, _ := os.ReadFile(b.cfg.Output.Path)
	b.cfg.Retry = nil
	f = b.fleet()
	if e := b.run(f); len(f.sent) > 0 || e.err != nil {
		t.Errorf("a finished job sent %v (%v)", f.sent, e.err)
	}
	if again, _ := os.ReadFile(b.cfg.Output.Path); !bytes.Equal(text, again) {
		t.Error("a finished job changed OUT")
	}
	// A lost OUT comes back, line for line the same but for the order.
	before := b.lines()
	_ = os.Remove(b.cfg.Output.Path)
	if e := b.run(b.fleet()); e.err != nil || e.Attempts != 0 {
		t.Fatalf("%v, %d attempts", e.err, e.Attempts)
	}
	for id, line := range b.lines() {
		if before[id].Raw != line.Raw {
			t.Errorf("%s: %s\nwas %s", id, line.Raw, before[id].Raw)
		}
	}
}

// facts/peer-faults.md 17 (verifiers PR#803): a torn last line is taken off,
// and the row is written again, however often that happens.
func TestPeerFault17TornTail(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 20)}
	if e := b.run(b.fleet()); e.err != nil {
		t.Fatal(e.err)
	}
	whole, err := os.ReadFile(b.cfg.Output.Path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < len(whole); cut += 97 {
		if err := os.WriteFile(b.cfg.Output.Path, whole[:len(whole)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		f := b.fleet()
		if e := b.run(f); e.err != nil || len(f.sent) > 0 {
			t.Fatalf("cut %d: %v, sent %v", cut, e.err, f.sent)
		}
		b.whole(20)
	}
}

// At any cut of OUT and any point of a kill, every row stands once at the end,
// with its own answer, and nothing that was answered is sent again.
func TestResumeAtAnyCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		b.seed = rapid.Uint64().Draw(rt, "seed")
		n := rapid.IntRange(2, 30).Draw(rt, "rows")
		ext := rapid.SampledFrom([]string{".jsonl", ".jsonl.gz", ".jsonl.zst"}).Draw(rt, "form")
		b.cfg.Output.Path = filepath.Join(b.dir, "out"+ext)
		b.cfg.Output.ByInput = rapid.Bool().Draw(rt, "order")
		b.cfg.Inputs = []string{b.input("in.jsonl", n)}
		answered := 0
		for range rapid.IntRange(0, 4).Draw(rt, "kills") {
			f := b.fleet()
			f.stop = rapid.IntRange(1, 6).Draw(rt, "stop")
			if answered+f.stop > n {
				break
			}
			if e := b.run(f); e.err != nil {
				rt.Fatal(e.err)
			}
			answered += f.results
			if text, err := os.ReadFile(b.cfg.Output.Path); err == nil && len(text) > 0 {
				cut := rapid.IntRange(0, len(text)).Draw(rt, "cut")
				if err := os.WriteFile(b.cfg.Output.Path, text[:cut], 0o600); err != nil {
					rt.Fatal(err)
				}
			}
		}
		f := b.fleet()
		e := b.run(f)
		if e.err != nil || e.code != ExitOK || e.Succeeded != n {
			rt.Fatalf("%v, exit %d, %+v", e.err, e.code, e.Summary)
		}
		if len(f.sent) != n-answered {
			rt.Fatalf("%d sent, %d were answered of %d", len(f.sent), answered, n)
		}
		text, done, err := b.cfg.Output.plainText()
		if err != nil {
			rt.Fatal(err)
		}
		defer done()
		content, err := io.ReadAll(text)
		if err == nil && len(content) == 0 { // a spool stands at its end
			content, err = io.ReadAll(io.NewSectionReader(text, 0, 1<<40))
		}
		if err != nil {
			rt.Fatal(err)
		}
		lines := b.linesOf(content)
		if len(lines) != n {
			rt.Fatalf("%d lines of %d", len(lines), n)
		}
		for i := range n {
			if got := lines[fmt.Sprintf("r/%d", i)].Get("result.message.content.0.text").Str; got != fmt.Sprintf("text <%d> é", i) {
				rt.Fatalf("row %d has %q", i, got)
			}
		}
		if b.cfg.Output.ByInput {
			at := -1
			for i := range n {
				next := bytes.Index(content, fmt.Appendf(nil, `{"custom_id":"r/%d"`, i))
				if next < at {
					rt.Fatal("lines are not in the order of the input")
				}
				at = next
			}
		}
	})
}

func TestForeignOutIsLeftAlone(t *testing.T) {
	for name, content := range map[string]string{
		"text":               "my notes\n",
		"text without break": "my notes",
		"another job's row":  `{"custom_id":"x","result":{"type":"succeeded"},"flotilla":{"body":"0123456789abcdef"}}` + "\n",
		"a row not answered": `{"custom_id":"r/0","result":{"type":"succeeded"},"flotilla":{"body":"0123456789abcdef"}}` + "\n",
		"JSON of others":     "{\"a\":1}\n",
	} {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 2)}
		path := b.file("out.jsonl", content)
		f := b.fleet()
		e := b.run(f)
		if e.code != ExitError || len(f.sent) > 0 || !strings.Contains(fmt.Sprint(e.err), "is not of this job") || !strings.Contains(HintOf(e.err), "--overwrite") {
			t.Errorf("%s: %v, exit %d", name, e.err, e.code)
		}
		if got, _ := os.ReadFile(path); string(got) != content {
			t.Errorf("%s: the file was changed", name)
		}
		b.cfg.Output.Overwrite = true
		if e := b.run(b.fleet()); e.err != nil || e.code != ExitOK {
			t.Errorf("%s: %v", name, e.err)
		}
		b.whole(2)
		aside, _ := filepath.Glob(path + ".2*")
		if len(aside) != 1 {
			t.Fatalf("%s: set aside: %v", name, aside)
		}
		if got, _ := os.ReadFile(aside[0]); string(got) != content {
			t.Errorf("%s: set aside with other content", name)
		}
	}
}

func TestOutIsNeverAnInput(t *testing.T) {
	b := newBench(t)
	in := b.input("in.jsonl", 2)
	link, hard := filepath.Join(b.dir, "link.jsonl"), filepath.Join(b.dir, "hard.jsonl")
	if err := os.Symlink(in, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(in, hard); err != nil {
		t.Fatal(err)
	}
	b.cfg.Inputs = []string{in}
	for _, out := range []string{in, link, hard, b.dir + "/./in.jsonl"} {
		b.cfg.Output.Path = out
		if e := b.run(b.fleet()); e.code != ExitError || !strings.Contains(fmt.Sprint(e.err), "is the input") {
			t.Errorf("%s: %v", out, e.err)
		}
	}
	if text, _ := os.ReadFile(in); strings.Count(string(text), "\n") != 2 {
		t.Errorf("the input was changed: %s", text)
	}
}

func TestFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 2)}
	b.cfg.Output.Path = "/dev/full"
	f := b.fleet()
	e := b.run(f)
	if e.code != ExitError || len(f.sent) > 0 || !strings.Contains(fmt.Sprint(e.err), "no space left") || HintOf(e.err) == "" {
		t.Errorf("%v, exit %d, sent %v", e.err, e.code, f.sent)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	b.cfg.Output = Output{Stdout: full}
	e = b.run(b.fleet())
	if e.code != ExitError || strings.Count(e.err.Error(), "no space left") != 1 || e.Succeeded == 0 {
		t.Errorf("%v, exit %d, %d succeeded", e.err, e.code, e.Succeeded)
	}
	var out bytes.Buffer // nothing is lost
	b.cfg.Output = Output{Stdout: &out}
	if e := b.run(b.fleet()); e.err != nil || len(b.linesOf(out.Bytes())) != 2 {
		t.Errorf("%v, %s", e.err, out.Bytes())
	}
}

func TestStandardOutput(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		b := newBench(t)
		var out bytes.Buffer
		b.cfg.Output = Output{Stdout: &out, ByInput: ordered}
		b.cfg.Inputs = []string{b.input("in.jsonl", 40)}
		f := b.fleet()
		f.halt = 15
		if e := b.run(f); e.code != ExitInterrupted || len(b.linesOf(out.Bytes())) != 15 {
			t.Fatalf("exit %d, %d lines, %v", e.code, len(b.linesOf(out.Bytes())), e.err)
		}
		out.Reset()
		f = b.fleet()
		if e := b.run(f); e.code != ExitOK || len(f.sent) != 25 || len(b.linesOf(out.Bytes())) != 40 {
			t.Errorf("exit %d, %d sent, %d lines", e.code, len(f.sent), len(b.linesOf(out.Bytes())))
		}
		if !ordered {
			continue
		}
		for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			if id := gjson.Get(line, "custom_id").Str; id != fmt.Sprintf("r/%d", i) {
				t.Fatalf("line %d is of %s", i, id)
			}
		}
	}
}

func TestTerminalIsNotFlooded(t *testing.T) {
	b := newBench(t)
	b.cfg.Output = Output{Stdout: io.Discard, Terminal: true}
	b.cfg.Inputs = []string{b.input("in.jsonl", 101)}
	if e := b.run(b.fleet()); e.code != ExitError || HintOf(e.err) == "" {
		t.Errorf("%v", e.err)
	}
	b.cfg.Limit = 100
	if e := b.run(b.fleet()); e.code != ExitOK || e.N != 100 {
		t.Errorf("%v", e.err)
	}
}

func TestTables(t *testing.T) {
	for _, ext := range []string{".csv", ".parquet"} {
		b := newBench(t)
		in := b.file("in.jsonl", `{"id":"a","q":"one","n":1,"model":"mine","list":[1, 2],"ok":true}
{"id":"b","q":"two","n":2.5,"model":"mine","list":null,"ok":false}
{"id":"c","q":"three","n":3,"model":"mine","extra":"x"}
`)
		b.cfg.Inputs = []string{in}
		b.cfg.Output = Output{Path: filepath.Join(b.dir, "out"+ext), ByInput: true}
		f := b.fleet()
		f.answer = func(call int, body []byte) flotilla.Result {
			if call == 1 {
				return refusal(400, "invalid_request_error", "no")
			}
			return echo(call, body)
		}
		f.halt = 2
		if e := b.run(f); e.code != ExitInterrupted {
			t.Fatalf("%s: exit %d, %v", ext, e.code, e.err)
		}
		if rows := tableOf(t, b.cfg.Output.Path); len(rows) != 3 {
			t.Errorf("%s: %d rows after an interrupt", ext, len(rows)-1)
		}
		f = b.fleet()
		f.answer = func(call int, body []byte) flotilla.Result {
			if call == 1 {
				return refusal(400, "invalid_request_error", "no")
			}
			return echo(call, body)
		}
		if e := b.run(f); e.code != ExitRows || e.err != nil {
			t.Fatalf("%s: exit %d, %v", ext, e.code, e.err)
		}
		rows := tableOf(t, b.cfg.Output.Path)
		want := []string{"id", "q", "n", "input.model", "list", "ok", "extra", "custom_id", "completion", "stop_reason", "status", "error", "model", "org", "tier", "input_tokens", "output_tokens", "cost_usd", "latency_ms", "repeat"}
		if diff := cmp.Diff(want, rows[0]); diff != "" {
			t.Errorf("%s: %s", ext, diff)
		}
		if len(rows) != 4 {
			t.Fatalf("%s: %d rows", ext, len(rows)-1)
		}
		got := map[string][]string{}
		for _, r := range rows[1:] {
			got[r[0]] = r
		}
		a := []string{"a", "one", "1", "mine", "[1,2]", "true", "", "a", "one", "end_turn", "succeeded", "", "claude-haiku-4-5", "high", "sync", "10", "5", "0.001230000", "812", "0"}
		if ext == ".parquet" {
			a[17] = "0.00123"
		}
		if diff := cmp.Diff(a, got["a"]); diff != "" {
			t.Errorf("%s: %s", ext, diff)
		}
		if r := got["b"]; r[2] != "2.5" || r[8] != "" || r[10] != "errored" || r[11] != "invalid_request_error: no" {
			t.Errorf("%s: %q", ext, r)
		}
		// A finished table is left as it is.
		before, _ := os.Stat(b.cfg.Output.Path)
		f = b.fleet()
		if e := b.run(f); e.code != ExitRows || len(f.sent) > 0 {
			t.Errorf("%s: exit %d, sent %v, %v", ext, e.code, f.sent, e.err)
		}
		if after, _ := os.Stat(b.cfg.Output.Path); !os.SameFile(before, after) {
			t.Errorf("%s: the table was written again", ext)
		}
		// It is an input for the next job.
		b.cfg.Inputs = []string{b.cfg.Output.Path}
		b.cfg.Output = Output{Path: filepath.Join(b.dir, "next.jsonl")}
		b.cfg.Shape.Prompt = "{{.custom_id}} said {{.status}}"
		if e := b.run(b.fleet()); e.code != ExitOK || len(b.lines()) != 3 || b.lines()["c"].Get("result.message.content.0.text").Str != "c said succeeded" {
			t.Errorf("%s: as input: %v %v", ext, e.err, b.lines())
		}
	}
}

// tableOf reads a table back, by another way than it was written.
func tableOf(t *testing.T, path string) [][]string {
	t.Helper()
	if strings.HasSuffix(path, ".csv") {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	text, err := spooled(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		r := recordOf(t, line)
		if out == nil {
			out = append(out, r.keys())
		}
		var cells []string
		for _, f := range r.fields {
			cells = append(cells, cellTextOf(f.val))
		}
		out = append(out, cells)
	}
	return out
}

func TestDedupe(t *testing.T) {
	b := newBench(t)
	b.cfg.Shape.Dedupe = true
	b.cfg.Shape.Repeats = 2
	b.cfg.Inputs = []string{b.file("in.jsonl", `{"id":"a","q":"x"}
{"id":"b","q":"y"}
{"id":"c","q":"x"}
{"id":"d","q":"x"}
`)}
	f := b.fleet()
	f.stop = 2 // between an answer and those that share it
	b.run(f)
	f = b.fleet()
	e := b.run(f)
	lines := b.lines()
	if e.code != ExitOK || e.Succeeded != 8 || len(lines) != 8 {
		t.Fatalf("exit %d, %d lines, %+v, %v", e.code, len(lines), e.Summary, e.err)
	}
	if f.results != 2 {
		t.Errorf("%d calls after 2 of 4", f.results)
	}
	paid := 0
	for id, v := range lines {
		if cost := v.Get("flotilla.cost_usd").Raw; cost != "0.000000000" {
			paid++
			if strings.HasPrefix(id, "c") || strings.HasPrefix(id, "d") {
				t.Errorf("%s costs %s", id, cost)
			}
		}
	}
	if paid != 4 {
		t.Errorf("%d lines cost something", paid)
	}
}

func TestCacheAcrossJobs(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 5)}
	if e := b.run(b.fleet()); e.err != nil {
		t.Fatal(e.err)
	}
	// An input that was appended to is another job: it keeps the rows and OUT.
	b.input("in.jsonl", 8)
	f := b.fleet()
	e := b.run(f)
	if e.code != ExitOK || len(f.sent) != 3 || e.Cached != 5 || e.Resumed != 0 {
		t.Fatalf("exit %d, sent %v, %+v, %v", e.code, f.sent, e.Summary, e.err)
	}
	b.whole(8)
	// The same job into another file: nothing is sent, nothing costs.
	b.cfg.Output.Path = filepath.Join(b.dir, "second.jsonl")
	b.cfg.Shape.IDFields = []string{"-"}
	f = b.fleet()
	if e := b.run(f); len(f.sent) > 0 || e.Cached != 8 || e.CostUSD != 0 {
		t.Errorf("sent %v, %+v", f.sent, e.Summary)
	}
	for id, v := range b.lines() {
		if !v.Get("flotilla.cached").Bool() || v.Get("flotilla.cost_usd").Raw != "0.000000000" {
			t.Errorf("%s: %s", id, v.Raw)
		}
	}
	// --no-cache asks again.
	b.cfg.Output.Path = filepath.Join(b.dir, "third.jsonl")
	b.cfg.NoCache = true
	f = b.fleet()
	if e := b.run(f); len(f.sent) != 8 || e.Cached != 0 {
		t.Errorf("sent %v, %+v", f.sent, e.Summary)
	}
}

func TestReuseFiles(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 5)}
	if e := b.run(b.fleet()); e.err != nil {
		t.Fatal(e.err)
	}
	first := b.cfg.Output.Path
	other := newBench(t) // a journal that knows nothing
	other.cfg.Inputs = []string{other.input("in.jsonl", 7)}
	packed := filepath.Join(other.dir, "old.jsonl.gz")
	text, _ := os.ReadFile(first)
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write(text)
	_ = w.Close()
	if err := os.WriteFile(packed, z.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	other.cfg.Reuse = []string{packed}
	f := other.fleet()
	e := other.run(f)
	if e.code != ExitOK || len(f.sent) != 2 || e.Cached != 5 {
		t.Fatalf("exit %d, sent %v, %+v, %v", e.code, f.sent, e.Summary, e.err)
	}
	other.whole(7)
	// An emulator's answers are not the provider's.
	third := newBench(t)
	third.cfg.Inputs = []string{third.input("in.jsonl", 5)}
	marked := strings.ReplaceAll(string(text), `"cached":false`, `"cached":false,"emulated":"default/1"`)
	third.cfg.Reuse = []string{third.file("old.jsonl", marked)}
	f = third.fleet()
	if e := third.run(f); len(f.sent) != 5 || e.Cached != 0 || len(third.said) == 0 {
		t.Errorf("sent %v, said %q, %v", f.sent, third.said, e.err)
	}
}

// facts/peer-faults.md 14 (loreai PR#1110): a refused shape costs two calls, not
// one a row.
func TestPeerFault14CanaryStopsTheBulk(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 50)}
	bad := func(int, []byte) flotilla.Result {
		return refusal(400, "invalid_request_error", "temperature is not accepted by claude-haiku-4-5")
	}
	f := b.fleet()
	f.answer = bad
	e := b.run(f)
	want := `first request rejected, nothing else sent: temperature is not accepted by claude-haiku-4-5 (400); rows "r/0" and "r/1"`
	if e.code != ExitError || len(f.sent) != 2 || fmt.Sprint(e.err) != want || !strings.Contains(HintOf(e.err), "--repeats replaces temperature 0") {
		t.Fatalf("exit %d, sent %v: %v, hint %q", e.code, f.sent, e.err, HintOf(e.err))
	}
	if len(b.lines()) != 0 {
		t.Errorf("lines: %v", b.lines())
	}
	f = b.fleet() // what was wrong was mended: both are asked again
	if e := b.run(f); e.code != ExitOK || len(f.sent) != 50 || e.Succeeded != 50 || e.Errored != 0 {
		t.Errorf("exit %d, %d sent, %+v", e.code, len(f.sent), e.Summary)
	}
	b.whole(50)
}

func TestCanaryOfOneBadRow(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 10)}
	f := b.fleet()
	f.answer = func(call int, body []byte) flotilla.Result {
		if call == 0 {
			return refusal(400, "invalid_request_error", "prompt is too long")
		}
		return echo(call, body)
	}
	e := b.run(f)
	if e.code != ExitRows || e.Errored != 1 || len(b.lines()) != 10 || f.sent[0] != 0 || f.sent[1] != 1 {
		t.Errorf("exit %d, sent %v, %v", e.code, f.sent, e.err)
	}
	// A single row of a kind has no second: it is errored.
	b = newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 1)}
	f = b.fleet()
	f.answer = func(int, []byte) flotilla.Result { return refusal(404, "not_found_error", "model: x") }
	if e := b.run(f); e.code != ExitRows || len(f.sent) != 1 {
		t.Errorf("exit %d, sent %v, %v", e.code, f.sent, e.err)
	}
}

func TestCanaryOfEachShape(t *testing.T) {
	b := newBench(t)
	b.cfg.Shape = Shape{Provider: b.cfg.Shape.Provider, Version: b.cfg.Shape.Version}
	var in strings.Builder
	for i := range 30 {
		extra := ""
		if i%3 == 2 {
			extra = `,"stop_sequences":["x"]`
		}
		fmt.Fprintf(&in, `{"custom_id":"r/%d","params":{"model":"claude-haiku-4-5","max_tokens":5,"messages":[{"role":"user","content":"text <%d> é"}]%s}}`+"\n", i, i, extra)
	}
	b.cfg.Inputs = []string{b.file("in.jsonl", in.String())}
	f := b.fleet()
	f.answer = func(call int, body []byte) flotilla.Result {
		if gjson.GetBytes(body, "stop_sequences").Exists() {
			return refusal(400, "invalid_request_error", "no stop_sequences")
		}
		return echo(call, body)
	}
	e := b.run(f)
	if diff := cmp.Diff([]int{0, 2, 5}, f.sent); diff != "" || e.code != ExitError {
		t.Errorf("sent %v, exit %d, %v", f.sent, e.code, e.err)
	}
	var c *CanaryError
	if !errors.As(e.err, &c) || c.IDs[0] != "r/2" || c.IDs[1] != "r/5" {
		t.Errorf("%v", e.err)
	}
}

func TestSkipBadSetsAside(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.file("in.jsonl", "{\"id\":\"r/0\",\"q\":\"text <0> é\"}\nnope \"x\"\n{\"id\":\"r/1\",\"q\":\"text <1> é\"}\n")}
	if e := b.run(b.fleet()); e.code != ExitError {
		t.Errorf("exit %d", e.code)
	}
	b.cfg.SkipBad = true
	e := b.run(b.fleet())
	if e.code != ExitRows || e.Rejected != 1 || e.N != 2 || e.Pending != 0 {
		t.Fatalf("exit %d, %+v, %v", e.code, e.Summary, e.err)
	}
	b.whole(2)
	text, err := os.ReadFile(b.cfg.Output.Path + ".rejected.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	v := gjson.ParseBytes(text)
	if v.Get("line").Int() != 2 || v.Get("text").Str != `nope "x"` || v.Get("error").Str == "" {
		t.Errorf("%s", text)
	}
}

func TestEmptyInput(t *testing.T) {
	for name, content := range map[string]string{"x.jsonl": "\n\n", "y.csv": "q\n", "z.jsonl": ""} {
		b := newBench(t)
		b.cfg.Inputs = []string{b.file(name, content)}
		e := b.run(b.fleet())
		if e.code != ExitOK || len(e.plan.Warnings) == 0 {
			t.Errorf("%s: exit %d, warnings %q, %v", name, e.code, e.plan.Warnings, e.err)
		}
	}
}

func TestLimitIsTheSameJob(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 10)}
	b.cfg.Limit = 4
	first := b.run(b.fleet())
	if first.code != ExitOK || first.N != 4 {
		t.Fatalf("exit %d, %+v, %v", first.code, first.Summary, first.err)
	}
	b.cfg.Limit = 0
	f := b.fleet()
	second := b.run(f)
	if second.JobID != first.JobID || len(f.sent) != 6 || second.code != ExitOK || second.Resumed != 4 {
		t.Errorf("sent %v, %+v", f.sent, second.Summary)
	}
	b.whole(10)
}

func TestFailFast(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 40)}
	b.cfg.FailFast = true
	f := b.fleet()
	f.answer = func(call int, body []byte) flotilla.Result {
		if f.results == 7 {
			return refusal(500, "api_error", "x")
		}
		return echo(call, body)
	}
	if e := b.run(f); e.code != ExitRows || f.results != 8 || e.Pending != 32 || e.err != nil {
		t.Errorf("exit %d, %d results, %+v, %v", e.code, f.results, e.Summary, e.err)
	}
}

func TestIdentity(t *testing.T) {
	b := newBench(t)
	in := b.input("in.jsonl", 3)
	id := func(change func(*Shape), files ...string) [32]byte {
		s := b.cfg.Shape
		change(&s)
		x, err := indexOf(t, s, false, files...)
		if err != nil {
			t.Fatal(err)
		}
		return x.identity()
	}
	base := id(func(*Shape) {}, in)
	packed := filepath.Join(b.dir, "in.jsonl.gz")
	text, _ := os.ReadFile(in)
	if err := os.WriteFile(packed, gzipped(string(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	if id(func(*Shape) {}, packed) != base {
		t.Error("packing the input makes another job")
	}
	if id(func(s *Shape) { s.Betas = []string{} }, in) != base {
		t.Error("no betas differ from none")
	}
	if id(func(s *Shape) { s.Betas = []string{"b", "a"} }, in) != id(func(s *Shape) { s.Betas = []string{"a", "b"} }, in) {
		t.Error("the order of betas makes another job")
	}
	for name, change := range map[string]func(*Shape){
		"prompt": func(s *Shape) { s.Prompt += " " }, "system": func(s *Shape) { s.System = "x" }, "model": func(s *Shape) { s.Model = "claude-opus-4-8" },
		"max tokens": func(s *Shape) { s.MaxTokens = ptr(301) }, "params": func(s *Shape) { s.Params = `{"stop_sequences":["x"]}` },
		"ids": func(s *Shape) { s.IDFields = []string{"-"} }, "repeats": func(s *Shape) { s.Repeats = 2 }, "dedupe": func(s *Shape) { s.Dedupe = true },
		"provider": func(s *Shape) { s.Provider = "http://127.0.0.1:1" }, "version": func(s *Shape) { s.Version = "2026-10-21" }, "betas": func(s *Shape) { s.Betas = []string{"x"} },
	} {
		if id(change, in) == base {
			t.Errorf("%s makes no other job", name)
		}
	}
	if id(func(*Shape) {}, b.input("more.jsonl", 4)) == base {
		t.Error("other contents make no other job")
	}
}

func TestSummaryIsJSON(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 3)}
	e := b.run(b.fleet())
	path := filepath.Join(b.dir, "summary.json")
	if err := e.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields(`job_id emulated n succeeded errored expired canceled pending cached resumed in_doubt attempts hedges hedge_usd stop_reasons truncated refused_by_model
		errors wall_s bound_s polite_bound_s efficiency real_wall_s calls_per_min output_tokens_per_min p50_ms p95_ms p99_ms rate_limited overloaded transport_errors account floor_wait_s
		cost_usd failed_usd expected_usd cap_usd by_lane binding`) {
		if _, ok := got[key]; !ok {
			t.Errorf("%s is missing", key)
		}
	}
	if !strings.Contains(string(text), `"cost_usd": 0.003690000`) || !strings.Contains(string(text), `"emulated": null`) {
		t.Errorf("%s", text)
	}
}
