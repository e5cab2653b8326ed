package job

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla"
)

// facts/peer-faults.md 18 (inspect_ai#5213): a retry that does not get to its
// end loses nothing that was finished.
func TestPeerFault18RetryKeepsWhatIsFinished(t *testing.T) {
	for _, end := range []string{"interrupt", "kill"} {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 10)}
		f := b.fleet()
		f.answer = func(call int, body []byte) flotilla.Result {
			if call > 0 {
				return answered("cut", "max_tokens")
			}
			return echo(call, body)
		}
		if e := b.run(f); e.err != nil || e.Truncated != 9 {
			t.Fatalf("%+v, %v", e.Summary, e.err)
		}
		b.cfg.Retry = []string{"truncated"}
		f = b.fleet()
		if f.halt = 3; end == "kill" {
			f.halt, f.stop = 0, 3
		}
		b.run(f)
		if n := len(b.lines()); n != 10 {
			t.Errorf("%s: %d lines are left of 10", end, n)
		}
		b.cfg.Retry = nil
		f = b.fleet()
		e := b.run(f)
		if e.err != nil || len(f.sent) > 0 || e.Succeeded != 10 || e.Truncated != 6 {
			t.Errorf("%s: sent %v, %+v, %v", end, f.sent, e.Summary, e.err)
		}
		now, retried := 0, 0
		for _, v := range b.lines() {
			if v.Get("result.message.stop_reason").Str == "max_tokens" {
				now++
			}
			if v.Get("flotilla.retried").Str == "truncated" {
				retried++
			}
		}
		if now != 6 || retried != 3 {
			t.Errorf("%s: OUT has %d cut answers and %d retried ones", end, now, retried)
		}
	}
}

// A table that a killed retry left behind is brought up to date by the next run.
func TestTableAfterKilledRetry(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 5)}
	b.cfg.Output.Path = filepath.Join(b.dir, "out.csv")
	f := b.fleet()
	f.answer = func(call int, body []byte) flotilla.Result {
		if call > 2 {
			return refusal(500, "api_error", "oops")
		}
		return echo(call, body)
	}
	if e := b.run(f); e.code != ExitRows {
		t.Fatalf("exit %d, %v", e.code, e.err)
	}
	b.cfg.Retry = []string{"errored"}
	f = b.fleet()
	f.stop = 2
	b.run(f)
	b.cfg.Retry = nil
	if e := b.run(b.fleet()); e.code != ExitOK {
		t.Fatalf("exit %d, %+v, %v", e.code, e.Summary, e.err)
	}
	for _, row := range tableOf(t, b.cfg.Output.Path) {
		if strings.Contains(strings.Join(row, ","), "errored") {
			t.Errorf("stale: %q", row)
		}
	}
}

// facts/peer-faults.md 19 (promptfoo PR#8070): an error that looks like a
// result is never taken for an answer.
func TestPeerFault19ErrorBodiesAreNotReused(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 3)}
	if e := b.run(b.fleet()); e.err != nil {
		t.Fatal(e.err)
	}
	text, _ := os.ReadFile(b.cfg.Output.Path)
	lines := strings.SplitAfter(string(text), "\n")
	message := lines[0][strings.Index(lines[0], `{"id":"msg_1"`):strings.Index(lines[0], `},"flotilla"`)]
	lines[0] = strings.Replace(lines[0], message, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, 1)
	lines[1] = strings.Replace(lines[1], `"stop_reason":"end_turn"`, `"stop_reason":null`, 1)
	other := newBench(t)
	other.cfg.Inputs = []string{other.input("in.jsonl", 3)}
	other.cfg.Reuse = []string{other.file("old.jsonl", strings.Join(lines, ""))}
	f := other.fleet()
	if e := other.run(f); e.code != ExitOK || len(f.sent) != 2 || e.Cached != 1 {
		t.Errorf("sent %v, %d cached, %v", f.sent, e.Cached, e.err)
	}
	other.whole(3)
}

// facts/peer-faults.md 20 (AutoIntent#334): another model, or any other
// parameter, has answers of its own.
func TestPeerFault20CacheKeyIsTheWholeBody(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 3)}
	if e := b.run(b.fleet()); e.err != nil {
		t.Fatal(e.err)
	}
	for i, change := range []func(*Shape){
		func(s *Shape) { s.Model = "claude-sonnet-4-6" },
		func(s *Shape) { s.MaxTokens = ptr(301) },
		func(s *Shape) { s.System = "Be brief." },
		func(s *Shape) { s.Params = `{"stop_sequences":["x"]}` },
	} {
		shape := b.cfg.Shape
		change(&b.cfg.Shape)
		b.cfg.Output.Path = filepath.Join(b.dir, fmt.Sprintf("out%d.jsonl", i))
		f := b.fleet()
		if e := b.run(f); len(f.sent) != 3 || e.Cached != 0 {
			t.Errorf("change %d: sent %v, %d cached, %v", i, f.sent, e.Cached, e.err)
		}
		b.cfg.Shape = shape
	}
}

// facts/peer-faults.md 29 (safety-tooling): answers of several parts of a job,
// out of order, go to their rows by id alone, also out of the cache.
func TestPeerFault29AnswersGoByID(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 300)}
	for range 3 { // three parts, each shuffled
		f := b.fleet()
		f.flight, f.halt = 50, 100
		b.run(f)
	}
	b.run(b.fleet())
	b.whole(300)
	// The same rows, turned round and under other ids.
	var turned strings.Builder
	for i := 299; i >= 0; i-- {
		fmt.Fprintf(&turned, "{\"id\":\"r/%d\",\"q\":\"text <%d> é\"}\n", i, i)
	}
	b.cfg.Inputs = []string{b.file("turned.jsonl", turned.String())}
	b.cfg.Output.Path = filepath.Join(b.dir, "turned-out.jsonl")
	f := b.fleet()
	if e := b.run(f); len(f.sent) > 0 || e.Cached != 300 {
		t.Errorf("sent %d, %d cached, %v", len(f.sent), e.Cached, e.err)
	}
	b.whole(300)
}

// A kill in the middle of a line, at every byte of the last one.
func TestCrashInTheMiddleOfALine(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 6)}
	f := b.fleet()
	f.stop = 4
	b.run(f)
	before, err := os.ReadFile(b.cfg.Output.Path)
	if err != nil {
		t.Fatal(err)
	}
	f = b.fleet()
	if e := b.run(f); e.err != nil {
		t.Fatal(e.err)
	}
	whole, _ := os.ReadFile(b.cfg.Output.Path)
	if !strings.HasPrefix(string(whole), string(before)) {
		t.Fatal("what was written was changed")
	}
	end := strings.Index(string(whole[len(before):]), "\n") + len(before)
	for cut := len(before); cut <= end+1; cut += 13 {
		if err := os.WriteFile(b.cfg.Output.Path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if e := b.run(b.fleet()); e.err != nil {
			t.Fatalf("cut at %d: %v", cut, e.err)
		}
		b.whole(6)
	}
	// A hole that a power cut left at the end.
	if err := os.WriteFile(b.cfg.Output.Path, append(whole[:len(before):len(before)], make([]byte, 500)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := b.run(b.fleet()); e.err != nil {
		t.Fatal(e.err)
	}
	b.whole(6)
}

func TestOneOutForOneProcess(t *testing.T) {
	b := newBench(t)
	o := &Output{Path: filepath.Join(b.dir, "x.jsonl")}
	first, err := o.openFile(0, 0, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.openFile(0, 0, func(int64) {}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	second, err := o.openFile(0, 0, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.put(0, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	_ = second.close()
	// A third one looked at the file before the second wrote it.
	if _, err := o.openFile(0, 0, func(int64) {}); err == nil || !strings.Contains(err.Error(), "meanwhile") {
		t.Errorf("got %v", err)
	}
	if info, err := os.Stat(o.Path); err != nil || info.Size() != 3 {
		t.Errorf("the other's lines are gone: %v", err)
	}
}

// A run whose OUT another process holds ends with an error, and with no more.
func TestOutHeldByAnother(t *testing.T) {
	for _, ext := range []string{".jsonl", ".jsonl.zst"} {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 2)}
		b.cfg.Output.Path = filepath.Join(b.dir, "out"+ext)
		held, err := b.cfg.Output.openFile(0, 0, func(int64) {})
		if err != nil {
			t.Fatal(err)
		}
		if e := b.run(b.fleet()); e.code != ExitError || !strings.Contains(errText(e.err), "another process") {
			t.Errorf("%s: exit %d, %v", ext, e.code, e.err)
		}
		_ = held.close()
		if e := b.run(b.fleet()); e.code != ExitOK {
			t.Errorf("%s: exit %d, %v", ext, e.code, e.err)
		}
	}
}

func TestKeepNamesFields(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 2)}
	b.cfg.Output.Keep = []string{"q", "nope"}
	if e := b.run(b.fleet()); e.code != ExitError || HintOf(e.err) != "fields are id, q" {
		t.Errorf("%v, hint %q", e.err, HintOf(e.err))
	}
	b.cfg.Output.Keep = []string{"all"}
	if e := b.run(b.fleet()); e.err != nil {
		t.Fatal(e.err)
	}
	if got := b.lines()["r/1"].Get("input").Raw; got != `{"id":"r/1","q":"text <1> é"}` {
		t.Errorf("%s", got)
	}
}

// Whatever bytes an input holds, the pass ends in a row's fault or in rows that
// read again as they were.
func FuzzInput(f *testing.F) {
	for _, s := range []string{
		"{\"q\":\"a\"}\n", "\ufeff{\"q\":\"a\"}\r\n\r\n{\"q\":\"b\u2028\"}", "{\"q\":1}\n{\"q\":", "{\"id\":\"x\",\"q\":\"\\u0000\"}\n{\"id\":\"x\",\"q\":\"\"}",
		"null\n", "{\"q\":\"\\ud800\"}", "{\"q\":[1,{\"a\":null}],\"q\":2}", "!{}\n", "{\"custom_id\":5,\"q\":1e999}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := indexOf(t, Shape{Model: "claude-haiku-4-5", MaxTokens: ptr(5), Prompt: "{{.q}}"}, true, path)
		if err != nil {
			return
		}
		ids := map[string]bool{}
		for row := range x.rows.n {
			if !x.holds(row) {
				continue
			}
			var r record
			if err := x.read(row, &r); err != nil {
				t.Fatal(err)
			}
			body, err := x.build.body(nil, &r, 0)
			if err != nil || !json.Valid(body) {
				t.Fatalf("row %d makes %q (%v)", row, body, err)
			}
			facts, err := x.weigh.Weigh(body)
			if err != nil || facts.Hash != x.rows.at(row).key {
				t.Fatalf("row %d makes another body now (%v)", row, err)
			}
			id, err := x.id(row, &r)
			if err != nil || id == "" || ids[id] {
				t.Fatalf("row %d has the id %q (%v)", row, id, err)
			}
			ids[id] = true
		}
		if len(ids)+len(x.rejected) != x.rows.n {
			t.Fatalf("%d rows, %d set aside, %d in all", len(ids), len(x.rejected), x.rows.n)
		}
	})
}

// Whatever stands in a file called OUT, it is ours or it is left as it was.
func FuzzOut(f *testing.F) {
	for _, s := range []string{
		"", "x", "{\"custom_id\":\"r/0\"", "{\"custom_id\":\"r/0\",\"result\":{\"type\":\"succeeded\"},\"flotilla\":{\"body\":\"0123456789abcdef\"}}\n",
		"\x00\x00", "{\"custom_id\":\"\\ud800\",\"result\":{\"type\":\"", "\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 2)}
		path := b.file("out.jsonl", string(text))
		e := b.run(b.fleet())
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if e.err != nil {
			if string(after) != string(text) {
				t.Fatalf("%q was refused (%v) and changed to %q", text, e.err, after)
			}
			return
		}
		b.whole(2)
	})
}
