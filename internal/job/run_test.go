package job

import (
	"bytes"
	"encoding/json"
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
		return x.identity(nil)
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
