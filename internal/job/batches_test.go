package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	run.Promise(Forecast{Route: "hybrid"})
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

	held := e.held()
	if text := e.Text(); held == 0 || !strings.Contains(text, fmt.Sprintf("%s (%s of it at most, for batches left running)\n", e.CostUSD, held)) {
		t.Errorf("%s held:\n%s", held, text)
	}

	without := b.batchFleet(p)
	without.orgs = []string{"high"}
	e = b.carryOn(without)
	if e.plan.Held != held || e.plan.Spent < held {
		t.Errorf("%s spent by earlier runs and %s of it held, want %s", e.plan.Spent, e.plan.Held, held)
	}
	if e.plan.Batched != left["high"]+left["low"] || e.code != ExitClosed || e.Pending != left["low"] {
		t.Errorf("exit %d, batched %d, pending %d, left %v, %v", e.code, e.plan.Batched, e.Pending, left, e.err)
	}
	if text := endingText(&e); !strings.Contains(text, "low: the key of the org that made them is not at hand") || !strings.Contains(text, "set KEY_OF_low and") ||
		!strings.Contains(text, "only another key can ask for") || strings.Contains(text, "max-wait") {
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
		if e.Forecast == nil || e.Forecast.WasUSD != e.CostUSD {
			t.Errorf("all cost %s, held against the forecast %+v", e.CostUSD, e.Forecast)
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

// Rows of a batch that lie behind --limit are taken in, for they are paid for,
// and do not count.
func TestLimitBeforeBatches(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 30)}
	b.cfg.Options.Route = &flotilla.Route{Batch: true, NoSync: true}
	p := newProvider()
	f := b.batchFleet(p)
	f.stay = true
	b.carryOn(f)
	b.cfg.Limit = 5
	again := b.batchFleet(p)
	again.fated = func(*flotilla.Row) string { return "succeeded" }
	e := b.carryOn(again)
	if e.code != ExitOK || e.N != 5 || e.Succeeded != 5 || e.Pending != 0 || len(e.RunningBatches) > 0 {
		t.Errorf("exit %d, %+v, %v", e.code, e.Summary, e.err)
	}
	answered := 0
	for call := range 30 {
		answered += p.wins[call]
	}
	b.linesWhole(answered)
	if answered <= 5 {
		t.Errorf("%d rows were answered", answered)
	}
	b.cfg.Limit = 0
	if e := b.carryOn(b.batchFleet(p)); e.code != ExitOK || e.Succeeded != 30 {
		t.Errorf("exit %d, %+v, %v", e.code, e.Summary, e.err)
	}
	p.answeredOnce(t, 30)
	b.whole(30)
}
