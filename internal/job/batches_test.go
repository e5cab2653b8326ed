package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// carryOn runs a job like bench.run, over both tiers.
func (b *bench) carryOn(f *batchFleet) (e ended) {
	b.t.Helper()
	ctx := context.Background()
	run, err := Open(ctx, f, b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	defer run.Close()
	if err := run.Begin(ctx, books{b.j}); err != nil {
		b.t.Fatal(err)
	}
	e.plan = run.Plan()
	if f.dieAt == 0 {
		e.Summary, e.report, e.err = run.Carry(ctx)
		e.code = ExitCode(e.report.Cause, e.err, &e.Summary)
		return e
	}
	opt, err := run.options(ctx)
	if err == nil {
		_, e.err = f.Carry(ctx, run.src, opt)
	}
	if err := errors.Join(err, run.book.End(ctx, false, nil)); err != nil { // the journal would notice the dead process
		b.t.Fatal(err)
	}
	return e
}

// answeredOnce checks that the provider answered every row once.
func (p *provider) answeredOnce(t *testing.T, n int) {
	t.Helper()
	for call := range n {
		if p.wins[call] != 1 {
			t.Errorf("call %d was answered %d times", call, p.wins[call])
		}
	}
}

// A small job of batches is killed at every journal write, before and after it,
// and goes on: every row answered once, none bought twice, and its lines whole.
func TestBatchesKilledAtEveryWrite(t *testing.T) {
	const n = 30
	for _, before := range []bool{true, false} {
		for dieAt := 1; ; dieAt++ {
			b := newBench(t)
			b.cfg.Inputs = []string{b.input("in.jsonl", n)}
			b.cfg.Options.Route = &flotilla.Route{Batch: true, NoSync: true}
			p := newProvider()
			f := b.batchFleet(p)
			f.dieAt, f.before = dieAt, before
			first := b.carryOn(f)
			if first.err != nil && !errors.Is(first.err, errKilled) {
				t.Fatal(first.err)
			}
			if first.err == nil {
				if dieAt < n {
					t.Fatalf("a job of %d rows made %d writes", n, f.appends)
				}
				break
			}
			again := b.batchFleet(p)
			e := b.carryOn(again)
			if e.err != nil || e.code != ExitOK || e.Succeeded != n || e.Pending != 0 || len(e.RunningBatches) > 0 {
				t.Fatalf("before %v, write %d: exit %d, %+v, %v", before, dieAt, e.code, e.Summary, e.err)
			}
			if e.InDoubt > 0 {
				t.Errorf("before %v, write %d: %d in doubt", before, dieAt, e.InDoubt)
			}
			p.answeredOnce(t, n)
			b.whole(n)
			if b.j != nil {
				_ = b.j.Close()
			}
		}
	}
}

// Cost and tier of a row that a batch carried, in its line.
func TestBatchLine(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 40)}
	b.cfg.Options.Route = &flotilla.Route{Batch: true}
	f := b.batchFleet(newProvider())
	if e := b.carryOn(f); e.code != ExitOK || f.shipped == 0 {
		t.Fatalf("exit %d, %d rows by batch, %v", e.code, f.shipped, e.err)
	}
	b.whole(40)
	tiers := map[string]int{}
	for id, v := range b.lines() {
		tier, cost := v.Get("flotilla.tier").Str, v.Get("flotilla.cost_usd").Raw
		tiers[tier]++
		if want := map[string]string{"sync": "0.001230000", "batch": "0.000615000"}[tier]; cost != want {
			t.Errorf("%s by %s cost %s", id, tier, cost)
		}
	}
	if tiers["sync"] == 0 || tiers["batch"] == 0 || tiers["sync"]+tiers["batch"] != 40 {
		t.Errorf("tiers %v", tiers)
	}
}

// Batches left running are named; a later run without the key of their org says
// so and carries the rest, and one with it collects them.
func TestBatchesLeftRunning(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 60)}
	b.cfg.Options.Route = &flotilla.Route{Batch: true}
	b.cfg.KeyVariable = func(org string) string { return "KEY_OF_" + org }
	p := newProvider()
	f := b.batchFleet(p)
	f.stay, f.halt = true, 12
	e := b.carryOn(f)
	if e.code != ExitInterrupted || len(e.RunningBatches) == 0 {
		t.Fatalf("exit %d, %+v", e.code, e.RunningBatches)
	}
	left := map[string]int{}
	for _, r := range e.RunningBatches {
		if r.ID == "" || r.Rows == 0 || r.WorstUSD == 0 || r.KeyLacks {
			t.Errorf("%+v", r)
		}
		left[r.Org] += r.Rows
	}
	text := endingText(&e)
	if !strings.Contains(text, "left running at the provider") || !strings.Contains(text, "high msgbatch_x: ") || !strings.Contains(text, "jobs cancel "+e.JobID) {
		t.Errorf("%s", text)
	}

	without := b.batchFleet(p)
	without.orgs = []string{"high"}
	e = b.carryOn(without)
	if e.plan.Batched != left["high"]+left["low"] || e.code != ExitClosed || e.Pending != left["low"] {
		t.Errorf("exit %d, batched %d, pending %d, left %v, %v", e.code, e.plan.Batched, e.Pending, left, e.err)
	}
	if text := endingText(&e); !strings.Contains(text, "low: the key of the org that made them is not at hand") || !strings.Contains(text, "set KEY_OF_low and") {
		t.Errorf("%s", text)
	}
	b.linesWhole(60 - left["low"])

	with := b.batchFleet(p)
	if e = b.carryOn(with); e.code != ExitOK || e.Pending != 0 || e.Resumed != 60-left["low"] {
		t.Errorf("exit %d, %+v, %v", e.code, e.Summary, e.err)
	}
	p.answeredOnce(t, 60)
	b.whole(60)
}

// linesWhole checks that OUT has so many rows, each with its own answer.
func (b *bench) linesWhole(n int) {
	b.t.Helper()
	lines := b.lines()
	if len(lines) != n {
		b.t.Errorf("%d lines, want %d", len(lines), n)
	}
	for id, v := range lines {
		want := fmt.Sprintf("text <%s> é", strings.TrimPrefix(id, "r/"))
		if got := v.Get("result.message.content.0.text").Str; got != want {
			b.t.Errorf("%s has the answer %q", id, got)
		}
	}
}

func endingText(e *ended) string {
	var s strings.Builder
	for _, l := range e.Ending(&e.report) {
		fmt.Fprintln(&s, l.Kind, l.Text)
	}
	return s.String()
}

// A canceled job ends its batches, takes in what they had answered, and settles
// the rest as canceled; --retry canceled sends just those.
func TestCancelEndsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 40)}
		b.cfg.Options.Route = &flotilla.Route{Batch: true}
		p := newProvider()
		f := b.batchFleet(p)
		f.stay, f.answer = true, slow
		b.ask(500*time.Millisecond, journal.Cancel)
		e := b.carryOn(f)
		if e.err != nil || e.code != ExitRows || e.Pending != 0 || e.Canceled == 0 || e.Succeeded+e.Canceled != 40 || len(e.RunningBatches) > 0 {
			t.Fatalf("exit %d, %+v, %v", e.code, e.Summary, e.err)
		}
		b.cfg.Retry = []string{"canceled"}
		again := b.batchFleet(p)
		if e := b.carryOn(again); e.code != ExitOK || e.Succeeded != 40 {
			t.Errorf("exit %d, %+v, %v", e.code, e.Summary, e.err)
		}
		p.answeredOnce(t, 40)
		b.whole(40)
	})
}

// A row that expired once too often says so in its line, and --retry expired
// sends it again.
func TestExpiredRows(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 20)}
	b.cfg.Options.Route = &flotilla.Route{Batch: true, NoSync: true}
	p := newProvider()
	f := b.batchFleet(p)
	f.fated = func(row *flotilla.Row) string { return []string{"succeeded", "expired"}[row.Index%2] }
	e := b.carryOn(f)
	if e.code != ExitRows || e.Expired == 0 || e.Expired+e.Succeeded != 20 || e.Pending != 0 {
		t.Fatalf("exit %d, %+v, %v", e.code, e.Summary, e.err)
	}
	expired := 0
	for _, v := range b.lines() {
		if v.Get("result").Raw == `{"type":"expired"}` {
			expired++
		}
	}
	if expired != e.Expired {
		t.Errorf("%d lines say expired, %d rows are", expired, e.Expired)
	}
	b.cfg.Retry = []string{"expired"}
	if e = b.carryOn(b.batchFleet(p)); e.code != ExitOK || e.Succeeded != 20 {
		t.Errorf("exit %d, %+v, %v", e.code, e.Summary, e.err)
	}
	p.answeredOnce(t, 20)
	b.whole(20)
}

// Answers that the journal has are taken off a plan, and nothing is written.
func TestPeek(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 50)}
	b.cfg.Options.Route = &flotilla.Route{Batch: true}
	f := b.batchFleet(newProvider())
	f.stay, f.halt = true, 12
	began := b.carryOn(f)
	inBatches := 0
	for _, r := range began.RunningBatches {
		inBatches += r.Rows
	}
	look := func(file string) Plan {
		b.cfg.Inputs = []string{file}
		run, err := Open(ctx, b.fleet(), b.cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		if err := run.Peek(ctx, peeks{b.j}); err != nil {
			t.Fatal(err)
		}
		return run.Plan()
	}
	p := look(b.cfg.Inputs[0])
	if p.Settled != 12 || p.Pending != 38 || p.Batched != inBatches || p.Spent == 0 || len(p.Classes) != 1 || p.Classes[0].Rows != 38-inBatches {
		t.Errorf("%+v with %d in batches", p, inBatches)
	}
	other := look(b.input("other.jsonl", 60)) // another job, whose first 12 rows are in the cache
	if other.Settled != 0 || other.Cached != 12 || other.Pending != 48 || other.Spent != 0 || other.Job != "" {
		t.Errorf("%+v", other)
	}
	jobs, err := b.j.Jobs(ctx, began.report.Started.AddDate(-1, 0, 0))
	if err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

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

// peeks look at jobs in a real journal.
type peeks struct{ *journal.Journal }

func (p peeks) Peek(ctx context.Context, s Spec) (Book, error) {
	j, _, err := p.Journal.Peek(ctx, journal.JobSpec{
		Identity: s.Identity, Provider: s.Provider, Emulated: s.Emulated, N: s.N, Template: s.Template, Fresh: s.Fresh,
	})
	return &book{j, p.Journal}, err
}

// A pause leaves batches running, and what goes on afterwards takes them over.
func TestPauseLeavesBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 60)}
		b.cfg.Options.Route = &flotilla.Route{Batch: true}
		p := newProvider()
		f := b.batchFleet(p)
		f.answer = slow
		b.ask(1500*time.Millisecond, journal.Pause)
		b.ask(time.Minute, journal.Go)
		e := b.carryOn(f)
		if e.code != ExitOK || e.Succeeded != 60 || f.adopted == 0 {
			t.Errorf("exit %d, %d taken over, %+v, %v", e.code, f.adopted, e.Summary, e.err)
		}
		p.answeredOnce(t, 60)
		b.whole(60)
	})
}

// The cache settles no call that is in a batch: it is paid for, and comes.
func TestCacheLeavesBatchesAlone(t *testing.T) {
	b := newBench(t)
	in := b.input("in.jsonl", 30)
	b.cfg.Inputs = []string{in}
	b.cfg.Options.Route = &flotilla.Route{Batch: true, NoSync: true}
	p := newProvider()
	f := b.batchFleet(p)
	f.stay = true
	first := b.carryOn(f)
	left := 0
	for _, r := range first.RunningBatches {
		left += r.Rows
	}
	out := b.cfg.Output.Path
	b.cfg.Inputs, b.cfg.Output.Path = []string{b.input("more.jsonl", 31)}, out+".other.jsonl"
	b.cfg.Options.Route = nil
	if e := b.run(b.fleet()); e.code != ExitOK {
		t.Fatal(e.err)
	}
	b.cfg.Inputs, b.cfg.Output.Path = []string{in}, out
	b.cfg.Options.Route = &flotilla.Route{Batch: true, NoSync: true}
	again := b.batchFleet(p)
	again.fated = func(*flotilla.Row) string { return "succeeded" }
	e := b.carryOn(again)
	if e.code != ExitOK || left == 0 || e.Cached != 30-left-first.Succeeded || again.shipped > 0 || len(e.RunningBatches) > 0 {
		t.Errorf("exit %d, %d were in batches, %d cached, %d sent again, %v", e.code, left, e.Cached, again.shipped, e.err)
	}
	b.whole(30)
}
