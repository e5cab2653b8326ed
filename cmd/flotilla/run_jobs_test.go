package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/job/sample"
)

// world is an emulator and a directory to work in.
type world struct {
	t      testing.TB
	dir    string
	url    string
	speed  float64
	server *emulator.Server
}

func newWorld(t testing.TB, scenario string, speed float64) *world {
	t.Helper()
	return newWorldOf(t, scenario, speed, nil)
}

// newWorldOf is a world whose scenario was changed.
func newWorldOf(t testing.TB, scenario string, speed float64, change func(*emulator.Scenario)) *world {
	t.Helper()
	sc, err := emulator.Named(scenario)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&sc)
	}
	w := &world{t: t, dir: t.TempDir(), speed: speed}
	if w.server, err = emulator.New(emulator.Options{Scenario: sc, Seed: 1, Speed: speed}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.server.Close() })
	if w.url, err = w.server.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// demoRows writes in.jsonl.
func (w *world) demoRows(n int) {
	w.t.Helper()
	f, err := os.Create(w.path("in.jsonl"))
	if err == nil {
		err = errors.Join(writeDemoRows(f, n, 1), f.Close())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// args are the flags that lead a run to this world, before those of the test.
func (w *world) args(inputs string, more ...string) []string {
	args := []string{
		"run", inputs, "--base-url", w.url, "--speed", strconv.FormatFloat(w.speed, 'g', -1, 64),
		"--journal", w.path(".flotilla"), "-o", w.path("out.jsonl"), "--summary", w.path("summary.json"), "--progress", "none",
	}
	return append(args, more...)
}

// environ has the emulator's keys and nothing else.
func (w *world) environ() []string {
	return []string{
		"HOME=" + w.dir, "ANTHROPIC_API_KEY=" + emulator.Key("high"), "ANTHROPIC_BATCH_KEY=" + emulator.Key("batch"),
		"ANTHROPIC_API_KEY_LOW_PRIO=" + emulator.Key("low"),
	}
}

// run is the program on a command line; it fails the test on any other exit
// code.
func (w *world) run(code int, args []string) (stdout, stderr string) {
	w.t.Helper()
	var out, err bytes.Buffer
	if got := Run(context.Background(), args, w.environ(), strings.NewReader(""), &out, &err); got != code {
		w.t.Fatalf("exit code %d, want %d\n%s", got, code, err.String())
	}
	return out.String(), err.String()
}

func (w *world) summary() (s job.Summary) {
	w.t.Helper()
	text, err := os.ReadFile(w.path("summary.json"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) stats() map[string]any {
	w.t.Helper()
	st, err := statsOf(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

func (w *world) wantStats(want map[string]string) {
	w.t.Helper()
	st := w.stats()
	for name, v := range want {
		if got := fmt.Sprint(st[name]); got != v {
			w.t.Errorf("the emulator counts %s %s, want %s", got, name, v)
		}
	}
}

// wantNoRefusal looks at every pool of every org, and at how many calls were in
// flight at once.
func (w *world) wantNoRefusal(limit int64) {
	w.t.Helper()
	text, err := json.Marshal(w.stats()["orgs"])
	if err != nil {
		w.t.Fatal(err)
	}
	var orgs map[string]struct {
		Pools map[string]struct {
			Refused map[string]int64
			Peak    int64 `json:"peak_in_flight"`
		}
	}
	if err := json.Unmarshal(text, &orgs); err != nil {
		w.t.Fatal(err)
	}
	for org, o := range orgs {
		for pool, p := range o.Pools {
			for class, n := range p.Refused {
				if n != 0 {
					w.t.Errorf("%s %s: %d refusals for %s", org, pool, n, class)
				}
			}
			if p.Peak > limit {
				w.t.Errorf("%s %s: %d in flight, want at most %d", org, pool, p.Peak, limit)
			}
		}
	}
}

// wantResults holds OUT to n lines, each id once, all succeeded.
func (w *world) wantResults(n int) []resultLine {
	w.t.Helper()
	lines, err := readResults(w.path("out.jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, l := range lines {
		if seen[l.ID] {
			w.t.Errorf("%s stands twice", l.ID)
		}
		seen[l.ID] = true
		if l.Result.Type != "succeeded" {
			w.t.Errorf("%s %s: %s", l.ID, l.Result.Type, l.Result.Error.Error.Message)
		}
	}
	if len(lines) != n {
		w.t.Errorf("%d lines, want %d", len(lines), n)
	}
	return lines
}

// TestGSM8K is the first promise of the main job: a file of questions, three
// orgs, every row a result, no refusal of any class.
func TestGSM8K(t *testing.T) {
	t.Parallel()
	input := sample.Path(t, sample.Test)
	w := newWorld(t, "default", 20)
	args := w.args(input, "--prompt", "{{.question}}", "--model", "claude-haiku-4-5", "--max-tokens", "300", "--tier", "sync")
	w.run(0, args)
	w.wantResults(1319)
	w.wantNoRefusal(120)
	w.wantStats(map[string]string{"requests": "1319", "succeeded": "1319", "distinct_bodies_succeeded": "1319"})
	if s := w.summary(); s.N != 1319 || s.Succeeded != 1319 || s.Pending != 0 || s.RateLimited.Total() != 0 || s.CostUSD.Exact() != fmt.Sprint(w.stats()["billed_usd"]) {
		t.Errorf("%+v", s)
	}
	// The second run reads everything and sends nothing.
	before, _ := os.ReadFile(w.path("out.jsonl"))
	w.run(0, args)
	w.wantStats(map[string]string{"requests": "1319"})
	if after, _ := os.ReadFile(w.path("out.jsonl")); !bytes.Equal(before, after) {
		t.Error("the second run changed OUT")
	}
}

// personaArgs are the flags of the large job: one trait-judge prompt a row.
func personaArgs() []string {
	return []string{
		"--prompt", "Does this statement show the trait {{.trait}}? Answer with a number from 0 to 100.\n{{.statement}}",
		"--model", "claude-sonnet-4-6", "--max-tokens", "120", "--tier", "sync",
	}
}

// TestPersona holds the large job to its counts; what it takes is measured by
// BenchmarkPersona.
func TestPersona(t *testing.T) {
	if testing.Short() {
		t.Skip("141,600 calls take most of a minute")
	}
	t.Parallel()
	w := newWorld(t, "default", 50)
	args := w.args(sample.Path(t, sample.Persona), personaArgs()...)
	w.run(0, args)
	w.wantResults(141_600)
	w.wantNoRefusal(100)
	w.wantStats(map[string]string{"requests": "141600", "succeeded": "141600", "distinct_bodies_succeeded": "141597"})
	s := w.summary()
	if s.N != 141_600 || s.Succeeded != 141_600 || s.RateLimited.Total() != 0 || s.CostUSD.Exact() != fmt.Sprint(w.stats()["billed_usd"]) {
		t.Errorf("%d of %d succeeded, %d rate-limited, cost %s, billed %v", s.Succeeded, s.N, s.RateLimited.Total(), s.CostUSD.Exact(), w.stats()["billed_usd"])
	}
	t.Logf("wall %.0f s (scaled), %.0f s real, polite bound %.0f s, bound %.0f s", s.WallS, s.RealWallS, s.PoliteBoundS, s.BoundS)
	w.run(0, args)
	w.wantStats(map[string]string{"requests": "141600"})
}
