package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// bench opens a bench for a test.
func bench(t *testing.T, env *Env) *Bench {
	t.Helper()
	b, err := newBench(env, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	return b
}

func hello(org string) Shot {
	return Shot{Org: org, Model: "claude-haiku-4-5", Shape: Shape{In: 50, Out: 60, MaxTokens: 200}}
}

// Calls go by the clock, not by the answers to earlier ones.
func TestOpenGoesByTheClock(t *testing.T) {
	virtual(t, scenario(t, "steady"), func(t *testing.T, env *Env, _ *emulator.Server) {
		b := bench(t, env)
		began := b.clock.Now()
		records, err := b.Open(t.Context(), Every(50, 100), func(int) Shot { return hello("high") })
		if err != nil || len(records) != 100 {
			t.Fatalf("%d records, %v", len(records), err)
		}
		for i, r := range records {
			if want := began + time.Duration(i)*20*time.Millisecond; r.Due != want || r.Sent != want || !r.OK() {
				t.Fatalf("call %d was due at %v, sent at %v, want %v: %s", i, r.Due, r.Sent, want, r.Err)
			}
		}
	})
}

// No more than the etiquette cap are in flight, whatever the arrivals.
func TestEtiquetteCapHolds(t *testing.T) {
	virtual(t, scenario(t, "steady"), func(t *testing.T, env *Env, s *emulator.Server) {
		env.Conc = map[string]int{"haiku": 7}
		b := bench(t, env)
		records, err := b.Open(t.Context(), Every(1000, 60), func(int) Shot { return hello("high") })
		if err != nil || len(records) != 60 {
			t.Fatalf("%d records, %v", len(records), err)
		}
		if peak := s.Stats().Orgs[0].Pools[0].PeakInFlight; peak != 7 {
			t.Errorf("%d were in flight, want 7", peak)
		}
		if last := records[59]; last.Sent == last.Due {
			t.Error("the record does not tell that it went late")
		}
		env.OverCap = 12
		if env.Cap("claude-haiku-4-5") != 12 {
			t.Error("a higher cap does not replace the lower")
		}
	})
}

func TestLadderKeepsSoManyInFlight(t *testing.T) {
	virtual(t, scenario(t, "default"), func(t *testing.T, env *Env, s *emulator.Server) {
		b := bench(t, env)
		records, err := b.Ladder(t.Context(), 9, 50, func(int) Shot { return hello("low") })
		if err != nil || len(records) != 50 {
			t.Fatalf("%d records, %v", len(records), err)
		}
		if peak := s.Stats().Orgs[2].Pools[0].PeakInFlight; peak != 9 {
			t.Errorf("%d were in flight, want 9", peak)
		}
	})
}

func TestCanaryIsSteady(t *testing.T) {
	virtual(t, scenario(t, "steady"), func(t *testing.T, env *Env, _ *emulator.Server) {
		b := bench(t, env)
		stop := b.Canary(t.Context(), hello("high"), time.Second)
		if err := b.clock.Sleep(t.Context(), 9500*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		records, err := stop()
		if err != nil || len(records) != 10 {
			t.Fatalf("%d records, %v", len(records), err)
		}
		for i, r := range records {
			if !r.Canary || r.Sent-records[0].Sent != time.Duration(i)*time.Second {
				t.Errorf("canary %d: %+v", i, r)
			}
		}
	})
}

// Spent plus reserved never passes the cap; nothing is sent that could.
func TestBudgetHolds(t *testing.T) {
	virtual(t, scenario(t, "default"), func(t *testing.T, env *Env, s *emulator.Server) {
		env.MaxSpend = 20_000_000
		b := bench(t, env)
		_, err := b.Open(t.Context(), Every(100, 500), func(int) Shot { return hello("high") })
		var budget *BudgetError
		if !errors.As(err, &budget) {
			t.Fatalf("the cap did not stop it: %v", err)
		}
		if got := billed(s); got > 20_000_000 || got < 1_000_000 || int64(b.Spent()) != got {
			t.Errorf("billed %d, spent %d", got, b.Spent())
		}
	})
}

// Six 429s in a minute on one org stop everything (facts/control.md E.1).
func TestAbortAfterRefusals(t *testing.T) {
	sc := scenario(t, "tier-start")
	sc.Orgs[0].Limits.Requests = 20
	virtual(t, sc, func(t *testing.T, env *Env, _ *emulator.Server) {
		b := bench(t, env)
		b.Expect(Rule{FloorFor: -1, Refusals: 5})
		records, err := b.Open(t.Context(), Every(2, 60), func(int) Shot { return hello("high") })
		var abort *AbortError
		if !errors.As(err, &abort) {
			t.Fatalf("it went on: %v", err)
		}
		refused := 0
		for _, r := range records {
			if r.Refused() {
				refused++
				if !r.Is(wire.RateLimited) || r.Dim != "rpm" {
					t.Errorf("refused as %v of %q: %s", r.Class, r.Dim, r.Err)
				}
			}
		}
		if refused != 6 {
			t.Errorf("%d refusals before the stop, want 6", refused)
		}
		if _, err := b.Send(t.Context(), hello("low")); !errors.As(err, &abort) {
			t.Errorf("another org was still used: %v", err)
		}
	})
}

// A level below the soft floor for 10 s stops everything, one that rises again
// does not.
func TestAbortAtTheFloor(t *testing.T) {
	level := func(remaining int64, at time.Duration) *Record {
		return &Record{Org: "high", Status: 200, Sent: at, End: at, Read: &Reading{Input: &Level{Limit: 1000, Remaining: remaining}}}
	}
	g := func() *guard {
		return &guard{rule: Polite, soft: 0.1, refused: map[string][]time.Duration{}, low: map[string]*lowLevel{}, capacity: map[string]float64{}}
	}
	falls, rises := g(), g()
	for i, remaining := range []int64{1000, 500, 99, 50, 20, 0, 30, 90} {
		falls.see(level(remaining, time.Duration(i)*2*time.Second), "haiku-4.5")
		if i == 5 {
			remaining = 100
		}
		rises.see(level(remaining, time.Duration(i)*2*time.Second), "haiku-4.5")
	}
	falls.see(level(99, 16*time.Second), "haiku-4.5")
	if falls.abort == nil || !strings.Contains(falls.abort.Why, "high haiku-4.5 itpm") {
		t.Errorf("low for 12 s: %v", falls.abort)
	}
	rises.see(level(99, 16*time.Second), "haiku-4.5")
	if rises.abort != nil {
		t.Errorf("never low for 10 s: %v", rises.abort)
	}
	rises.see(level(5000, time.Second), "haiku-4.5") // an older reading, arriving late
	if rises.low["high haiku-4.5 itpm"].newest != 16*time.Second {
		t.Error("an older reading was taken for the newest")
	}
}

// two is an experiment of two steps, the second of which can be broken off.
type two struct {
	limits
	cut func()
}

func (two) Name() string           { return "two" }
func (two) Estimate(*Env) Estimate { return Estimate{} }
func (x two) Run(ctx context.Context, b *Bench) (*Result, error) {
	r := &Result{Verdict: "done", Confidence: 1}
	for _, name := range []string{"first", "second"} {
		n, err := Step(b, name, func() (int, error) {
			records, err := b.Ladder(ctx, 2, 10, func(i int) Shot {
				if name == "second" && i == 5 && x.cut != nil {
					x.cut()
				}
				return hello("high")
			})
			return len(records), err
		})
		if err != nil {
			return r, err
		}
		r.Metrics = append(r.Metrics, Metric{Name: name, Unit: "calls", Value: float64(n), Low: float64(n), High: float64(n), N: n})
	}
	return r, nil
}

// What a killed experiment had finished is not sent again; what it had begun is
// paid for and belongs to nothing.
func TestInterruptedExperimentGoesOn(t *testing.T) {
	virtual(t, scenario(t, "default"), func(t *testing.T, env *Env, s *emulator.Server) {
		ctx, cut := context.WithCancel(t.Context())
		_, err := Run(ctx, env, two{cut: cut})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("it was not broken off: %v", err)
		}
		if _, err := Read(env.File("two")); err == nil {
			t.Error("half an experiment was stored")
		}
		partial := strings.TrimSuffix(env.File("two"), ".json") + ".partial.jsonl"
		torn, err := os.OpenFile(partial, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = torn.WriteString(`{"r":{"org":"hi`) // the line a kill cuts
		_ = torn.Close()

		synctest.Wait() // the server has seen who went away
		before := s.Stats().Requests
		r, err := Run(t.Context(), env, two{})
		if err != nil {
			t.Fatal(err)
		}
		if n := s.Stats().Requests - before; n != 10 {
			t.Errorf("the rerun sent %d calls, want the 10 of the second step", n)
		}
		if r.Totals.Calls != 20 || len(r.Raw) != 20 || r.Cost.Discarded.Calls == 0 {
			t.Errorf("%d calls in %d timings, %d discarded", r.Totals.Calls, len(r.Raw), r.Cost.Discarded.Calls)
		}
		if got, want := int64(r.Cost.Total), billed(s); got > want || want > got+int64(r.Cost.InDoubt) {
			t.Errorf("the bill has %d nano-dollars and %d in doubt, the emulator billed %d", got, r.Cost.InDoubt, want)
		}
		if _, err := os.Stat(partial); err == nil {
			t.Error("the partial file is left")
		}
		first, _ := r.Metric("first", "", "")
		if first.N != 10 || r.Started.After(r.Ended) {
			t.Errorf("first step %+v; %v to %v", first, r.Started, r.Ended)
		}
	})
}

// Partial results of another seed or provider are nobody's business.
func TestPartialOfAnotherRunIsMovedAside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.partial.jsonl")
	for i, seed := range []uint64{1, 1, 2} {
		p, moved, err := openPartial(path, head{Experiment: "x", Seed: seed, BaseURL: "http://a"})
		if err != nil {
			t.Fatal(err)
		}
		if want := seed == 2; (moved != "") != want {
			t.Errorf("opened the %d. time: moved to %q", i+1, moved)
		}
		if i == 1 && len(p.steps) != 1 {
			t.Errorf("steps %v", p.steps)
		}
		if err := p.write(line{Step: "s", Value: []byte("1")}); err != nil {
			t.Fatal(err)
		}
		_ = p.file.Close()
	}
}

// A batch is created once, however often its key is asked for, and billed once,
// however often its results are read.
func TestBatchOnTheBench(t *testing.T) {
	virtual(t, scenario(t, "default"), func(t *testing.T, env *Env, s *emulator.Server) {
		b := bench(t, env)
		row := func(i int) Shot {
			return Shot{Org: "low", Model: "claude-haiku-4-5", Shape: Shape{In: 30, Out: 4, MaxTokens: 4}, Salt: uint64(i + 1)}
		}
		made, err := b.CreateBatch(t.Context(), "a", "low", 100, row)
		if err != nil {
			t.Fatal(err)
		}
		b.close() // as a kill would
		b = bench(t, env)
		again, err := b.CreateBatch(t.Context(), "a", "low", 100, row)
		if err != nil || again.ID != made.ID {
			t.Fatalf("made anew: %q after %q, %v", again.ID, made.ID, err)
		}
		if _, err := b.CancelBatch(t.Context(), "low", "msgbatch_of_somebody"); err == nil {
			t.Error("somebody else's batch may be cancelled")
		}
		if _, err := b.AwaitBatch(t.Context(), "low", made.ID, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		var listed []string
		if err := b.ListBatches(t.Context(), "low", func(l wire.Batch) bool { listed = append(listed, l.ID); return true }); err != nil || !slices.Contains(listed, made.ID) {
			t.Errorf("listed %v, %v", listed, err)
		}
		for range 2 {
			counts, err := b.BatchResults(t.Context(), "low", made.ID)
			if err != nil || counts.Succeeded != 100 || int64(counts.Cost) != billed(s) {
				t.Fatalf("%+v, %v; billed %d", counts, err, billed(s))
			}
		}
		if int64(b.Spent()) != billed(s) || b.purse.reserved != 0 {
			t.Errorf("spent %d, reserved %d, billed %d", b.Spent(), b.purse.reserved, billed(s))
		}
	})
}

// A result that promises what it does not hold is not read.
func TestSchema(t *testing.T) {
	good := Result{
		Schema: schemaVersion, Experiment: "x", Question: "?", Window: "any", Verdict: "v", Versions: Versions{Flotilla: "1"},
		Hypothesis: Hypothesis{Text: "t", Binding: "none"}, Metrics: []Metric{{Name: "a", Unit: "s", Value: 1, Low: 1, High: 1}},
		Cost: Bill{Total: 3, Lines: []BillLine{{Sum: 1}, {Sum: 2}}},
	}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Result){
		"schema":     func(r *Result) { r.Schema++ },
		"verdict":    func(r *Result) { r.Verdict = "" },
		"confidence": func(r *Result) { r.Confidence = 1.5 },
		"interval":   func(r *Result) { r.Metrics = []Metric{{Name: "a", Unit: "s", Low: 2, High: 1}} },
		"bill":       func(r *Result) { r.Cost.Total++ },
		"time":       func(r *Result) { r.Started = r.Ended.Add(1) },
	} {
		bad := good
		if spoil(&bad); bad.Check() == nil {
			t.Errorf("%s: not found out", name)
		}
	}
}

// What was tried again is counted, and what came to about 0 is named.
func TestTotalsSayWhatHappened(t *testing.T) {
	sc := scenario(t, "tier-start")
	sc.Orgs[0].Limits.Requests = 30
	sc.Flaky = emulator.Flaky{Before: 0.5}
	virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
		b := bench(t, env)
		b.Expect(Rule{FloorFor: -1, Refusals: -1})
		for range 29 {
			if _, err := b.Insist(t.Context(), hello("high")); err != nil {
				t.Fatal(err)
			}
		}
		records := b.Records()
		sum := totals(records, b.clock.Now())
		if sum.Retries == 0 || sum.Calls != len(records) || sum.Succeeded+sum.Other+sum.Steady != sum.Calls || int64(sum.Calls) != s.Stats().Requests {
			t.Errorf("%+v of %d records", sum, len(records))
		}
		low := []Record{
			{Org: "high", Model: "claude-haiku-4-5", Read: &Reading{Requests: &Level{Remaining: 1000}, Input: &Level{Remaining: 500}}},
			{Org: "high", Model: "claude-haiku-4-5", Read: &Reading{Requests: &Level{Remaining: 19}, Input: &Level{Remaining: 10}}},
		}
		if got := b.emptied(low); !slices.Equal(got, []string{"high haiku-4.5 rpm"}) {
			t.Errorf("emptied %v", got)
		}
	})
}
