package job

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/memnet"
	"github.com/flotilla-llm/flotilla/journal"
)

// emulated is a server of the emulator's and real fleets before it, in a bubble
// of virtual time.
type emulated struct {
	*bench
	net    *memnet.Listener
	server *emulator.Server
}

func newEmulated(t *testing.T, opt emulator.Options) *emulated {
	t.Helper()
	e := &emulated{bench: newBench(t), net: memnet.Listen()}
	opt.Start = time.Now()
	server, err := emulator.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	e.server = server
	go func() { _ = server.Serve(e.net) }()
	t.Cleanup(func() { _ = server.Close() })
	e.cfg.Shape.Provider = "http://memnet:80"
	e.cfg.Now = time.Now
	e.cfg.Emulated = "default/1"
	return e
}

// carried is how a run went that a real fleet carried.
func (e *emulated) carried(t *testing.T, cfg flotilla.Config) ended {
	t.Helper()
	return e.carriedFor(t, context.Background(), cfg)
}

// carriedFor is carried with a context whose end interrupts the run.
func (e *emulated) carriedFor(t *testing.T, ctx context.Context, cfg flotilla.Config) ended {
	t.Helper()
	cfg.BaseURL, cfg.Ramp = "http://memnet", flotilla.RampFast
	cfg.Transport = func(flotilla.Org) http.RoundTripper { return e.net.Transport() }
	if cfg.Store == nil {
		cfg.Store = e.j
	}
	fleet, err := flotilla.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	run, err := Open(ctx, fleet, e.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Begin(ctx, books{e.j}); err != nil {
		t.Fatal(err)
	}
	var r ended
	r.plan = run.Plan()
	r.Summary, r.report, r.err = run.Carry(ctx)
	r.code = ExitCode(r.report.Cause, r.err, &r.Summary)
	return r
}

func keys(names ...string) (orgs []flotilla.Org) {
	for _, n := range names {
		orgs = append(orgs, flotilla.Org{
			Name: n, Key: flotilla.Key("sk-ant-emulated-" + n), Turnaround: flotilla.Turnaround{Overhead: time.Minute, RowRate: 2, Parallel: 8},
		})
	}
	return orgs
}

// essence is what must not depend on how a row was sent.
type essence struct{ ID, Content, Stop, In, Out string }

// essences are the rows of OUT. Equal bodies get the answers of their arrivals,
// so those are compared as a multiset, under one name.
func (e *emulated) essences() (out []essence) {
	for id, v := range e.lines() {
		if strings.HasPrefix(id, "same") {
			id = "same"
		}
		m := v.Get("result.message")
		out = append(out, essence{id, m.Get("content").Raw, m.Get("stop_reason").Str, m.Get("usage.input_tokens").Raw, m.Get("usage.output_tokens").Raw})
	}
	slices.SortFunc(out, func(a, b essence) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	return out
}

// Sync, batches and both at once give the same ids, content, stop reasons and
// token counts.
func TestTiersAnswerAlike(t *testing.T) {
	var in strings.Builder
	for i := range 4980 {
		extra := ""
		if i%50 == 7 {
			extra = `,"stream":true`
		}
		fmt.Fprintf(&in, `{"custom_id":"r/%d","params":{"model":"claude-haiku-4-5","max_tokens":%d,"messages":[{"role":"user","content":"text <%d> é"}]%s}}`+"\n", i, 20+i%90, i, extra)
	}
	for i := range 20 {
		fmt.Fprintf(&in, `{"custom_id":"same %d","params":{"model":"claude-haiku-4-5","max_tokens":80,"messages":[{"role":"user","content":"the same"}]}}`+"\n", i)
	}
	routes := []struct {
		name  string
		conc  int
		route *flotilla.Route
	}{{"sync", 100, nil}, {"batch", 100, &flotilla.Route{Batch: true, NoSync: true}}, {"hybrid", 1, &flotilla.Route{Batch: true}}}
	got := map[string][]essence{}
	cost := map[string]flotilla.Money{}
	for _, r := range routes {
		synctest.Test(t, func(t *testing.T) {
			e := newEmulated(t, emulator.Options{Seed: 1})
			e.cfg.Shape = Shape{Provider: e.cfg.Shape.Provider, Version: e.cfg.Shape.Version}
			e.cfg.Inputs = []string{e.file("in.jsonl", in.String())}
			e.cfg.Options.Route = r.route
			end := e.carried(t, flotilla.Config{Orgs: keys("high", "batch", "low"), Conc: map[string]int{"haiku": r.conc}})
			if end.err != nil || end.code != ExitOK || end.Succeeded != 5000 {
				t.Fatalf("%s: exit %d, %+v, %v", r.name, end.code, end.Summary, end.err)
			}
			got[r.name], cost[r.name] = e.essences(), end.CostUSD
			tiers := map[string]int{}
			for id, v := range e.lines() {
				tier := v.Get("flotilla.tier").Str
				tiers[tier]++
				if v.Get("result.message.usage.service_tier").Str == "batch" != (tier == "batch") {
					t.Errorf("%s: %s is of tier %s", r.name, id, v.Get("result.message.usage.service_tier").Raw)
				}
			}
			if r.name == "hybrid" && (tiers["sync"] < 100 || tiers["batch"] < 100) {
				t.Errorf("hybrid went by %v", tiers)
			}
			t.Logf("%-6s %v by %v, %v", r.name, end.CostUSD, tiers, end.report.Ended.Sub(end.report.Started))
			if billed := flotilla.Money(e.server.Stats().Billed); billed != end.CostUSD {
				t.Errorf("%s: the server billed %s, the journal has %s", r.name, billed.Exact(), end.CostUSD.Exact())
			}
		})
	}
	for _, tier := range []string{"batch", "hybrid"} {
		if diff := cmp.Diff(got["sync"], got[tier]); diff != "" {
			t.Errorf("%s: (-sync +%s)\n%s", tier, tier, diff)
		}
	}
	if cost["batch"] >= cost["sync"]*6/10 || cost["hybrid"] > cost["sync"] {
		t.Errorf("costs %v", cost)
	}
}

// dying is a Store that fails after so many appends, as a disk does or a kill.
type dying struct {
	flotilla.Store
	left int
}

func (d *dying) Append(records []flotilla.Record) error {
	if d.left--; d.left < 0 {
		return errKilled
	}
	return d.Store.Append(records)
}

// A job of batches whose journal dies at any of its writes is carried to its end
// by the next run: every row once, no batch bought twice, the cost within the cap
// and what the server billed.
func TestTiersResumeAtEveryWrite(t *testing.T) {
	const n = 400
	for writes := 1; ; writes++ {
		done := false
		synctest.Test(t, func(t *testing.T) {
			e := newEmulated(t, emulator.Options{Seed: 1})
			e.cfg.Inputs = []string{e.input("in.jsonl", n)}
			e.cfg.Options.Route, e.cfg.Options.MaxSpend = &flotilla.Route{Batch: true, NoSync: true}, flotilla.USD(1)
			cfg := flotilla.Config{Orgs: keys("high", "low"), Store: &dying{e.j, writes}}
			if end := e.carried(t, cfg); end.err == nil {
				done = true
				return
			}
			cfg.Store = nil
			end := e.carried(t, cfg)
			if end.err != nil || end.code != ExitOK || end.Succeeded != n || len(end.RunningBatches) > 0 {
				t.Fatalf("write %d: exit %d, %+v, %v", writes, end.code, end.Summary, end.err)
			}
			if lines := e.lines(); len(lines) != n {
				t.Errorf("write %d: %d lines", writes, len(lines))
			}
			stats := e.server.Stats()
			bought := int(stats.Succeeded)
			// The canary's own answer may be lost with the journal: it is in doubt, and counted.
			if bought != n+end.InDoubt || end.InDoubt > 1 {
				t.Errorf("write %d: %d answers of %d rows, %d in doubt", writes, bought, n, end.InDoubt)
			}
			if billed := flotilla.Money(stats.Billed); end.CostUSD < billed || end.CostUSD > flotilla.USD(1) {
				t.Errorf("write %d: the server billed %s, the journal has %s", writes, billed, end.CostUSD)
			}
		})
		if done {
			t.Logf("a whole job made %d writes", writes-1)
			if writes < 6 { // how many records one write takes in is the machine's to say
				t.Errorf("a whole job made %d writes", writes-1)
			}
			return
		}
	}
}

// A run that is interrupted leaves its batches running. The next, without the key
// of one org, says so and carries the rest; one with all keys collects them.
func TestTiersInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1200
		e := newEmulated(t, emulator.Options{Seed: 1})
		e.cfg.Inputs = []string{e.input("in.jsonl", n)}
		e.cfg.Options.Route = &flotilla.Route{Batch: true, NoSync: true}
		ctx, stop := context.WithTimeout(t.Context(), 45*time.Second)
		defer stop()
		end := e.carriedFor(t, ctx, flotilla.Config{Orgs: keys("high", "low")})
		left := map[string]int{}
		for _, b := range end.RunningBatches {
			left[b.Org] += b.Rows
		}
		if end.code != ExitInterrupted || left["high"] == 0 || left["low"] == 0 {
			t.Fatalf("exit %d, left %v, %v", end.code, left, end.err)
		}
		end = e.carried(t, flotilla.Config{Orgs: keys("high")})
		if end.err != nil || end.code != ExitClosed || end.Pending != left["low"] || end.Succeeded != n-left["low"] {
			t.Fatalf("exit %d, left %v, %+v, %v", end.code, left, end.Summary, end.err)
		}
		if text := endingText(&end); !strings.Contains(text, "low: the key of the org that made them is not at hand") {
			t.Errorf("%s", text)
		}
		end = e.carried(t, flotilla.Config{Orgs: keys("high", "low")})
		stats := e.server.Stats()
		if end.err != nil || end.code != ExitOK || end.Succeeded != n || stats.Succeeded != n || flotilla.Money(stats.Billed) != end.CostUSD {
			t.Errorf("exit %d, %+v, %v; the server gave %d answers and billed %d", end.code, end.Summary, end.err, stats.Succeeded, stats.Billed)
		}
	})
}

// jobs cancel while batches run: they are canceled and waited for, what they had
// answered is kept, and nothing runs on.
func TestTiersCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1200
		e := newEmulated(t, emulator.Options{Seed: 1})
		e.cfg.Inputs = []string{e.input("in.jsonl", n)}
		e.cfg.Options.Route = &flotilla.Route{Batch: true, NoSync: true}
		e.ask(2*time.Minute, journal.Cancel)
		end := e.carried(t, flotilla.Config{Orgs: keys("high", "low")})
		if end.err != nil || end.code != ExitRows || end.Pending > 0 || end.Canceled == 0 || end.Succeeded+end.Canceled != n || len(end.RunningBatches) > 0 {
			t.Fatalf("exit %d, %+v, %v", end.code, end.Summary, end.err)
		}
		stats := e.server.Stats()
		if int(stats.Succeeded) != end.Succeeded || flotilla.Money(stats.Billed) != end.CostUSD {
			t.Errorf("the server gave %d answers and billed %d; %+v", stats.Succeeded, stats.Billed, end.Summary)
		}
		e.cfg.Retry = []string{"canceled"}
		e.cfg.Options.Route = nil
		if end = e.carried(t, flotilla.Config{Orgs: keys("high", "low")}); end.code != ExitOK || end.Succeeded != n {
			t.Errorf("exit %d, %+v, %v", end.code, end.Summary, end.err)
		}
	})
}
