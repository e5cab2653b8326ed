package job

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Where the expected length of answers comes from, in the order of preference.
func TestOutSource(t *testing.T) {
	b := newBench(t)
	path := b.input("in.jsonl", 40)
	class := func() Class {
		b.cfg.Inputs = []string{path}
		run, err := Open(t.Context(), b.fleet(), b.cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		if err := run.Peek(t.Context(), peeks{b.j}); err != nil {
			t.Fatal(err)
		}
		return run.Plan().Classes[0]
	}
	want := Class{Model: "claude-haiku-4-5", Pool: "haiku-4.5", Family: "haiku", Rows: 40, MaxTokens: 300, Out: 300, OutSource: OutBound}
	same := func(what string, got Class) {
		t.Helper()
		if got.In == 0 || got.Bytes == 0 || got.Expected > got.Worst {
			t.Errorf("%s: %+v", what, got)
		}
		got.In, got.InDev, got.Bytes, got.Expected, got.Worst = 0, 0, 0, 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", what, diff)
		}
	}
	same("nothing known", class())
	b.cfg.OutTokens, b.cfg.OutP95 = 60, 150
	want.Out, want.OutP95, want.OutSource = 60, 150, OutGiven
	same("given", class())
	b.cfg.OutTokens, b.cfg.OutP95 = 0, 0
	b.cfg.Limit = 29
	b.run(b.fleet())
	b.cfg.Limit = 0
	path = b.file("more.jsonl", strings.ReplaceAll(readFile(t, path), "text", "other text"))
	want.Out, want.OutP95, want.OutSource = 300, 0, OutBound
	same("29 answers", class())
	path = b.input("in.jsonl", 40)
	b.cfg.Limit = 31
	b.cfg.Inputs = []string{path}
	b.run(b.fleet())
	b.cfg.Limit = 0
	path = b.file("more.jsonl", strings.ReplaceAll(readFile(t, path), "text", "other text"))
	want.Out, want.OutP95, want.OutSource, want.OutRows = 5, 5, OutJournal, 31
	same("31 answers", class())
	b.cfg.Shape.System = "Be brief."
	want.Out, want.OutP95, want.OutSource, want.OutRows = 300, 0, OutBound, 0
	same("another template", class())
}

func readFile(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The first answers of a job tell how long the others will be, once.
func TestLearned(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 450)}
	var told []string
	b.cfg.Learned = func(model string, out, p95 float64) { told = append(told, fmt.Sprintln(model, out, p95)) }
	f := b.fleet()
	f.halt = 250
	b.run(f)
	if diff := cmp.Diff([]string{"claude-haiku-4-5 5 5\n"}, told); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
