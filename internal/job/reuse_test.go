package job

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
