package job

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
)

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
