package plan

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/price"
)

// usualOrgs are the orgs of the default scenario as a fleet knows them.
func usualOrgs(sc *emulator.Scenario, pools ...string) (orgs []flotilla.Org) {
	for i := range sc.Orgs {
		e := &sc.Orgs[i]
		o := flotilla.Org{Name: e.Name, BatchQueue: e.BatchQueue, BatchRPM: float64(e.BatchRPM), PerMinute: map[string]flotilla.Limits{}}
		for _, p := range pools {
			o.PerMinute[p] = flotilla.Limits{Requests: float64(e.Limits.Requests), Input: float64(e.Limits.Input), Output: float64(e.Limits.Output)}
		}
		orgs = append(orgs, o)
	}
	return orgs
}

// judged is a job of so many judge's calls, its answers' length given.
func judged(sc *emulator.Scenario, n int, changes ...func(*Job)) Job {
	j := Job{
		Fleet: flotilla.Config{Orgs: usualOrgs(sc, pool)},
		Classes: []Class{{
			Model: sonnet, Pool: pool, Family: "sonnet", Rows: n, In: 400, MaxTokens: 256,
			Out: 62.8, OutSource: "--out-tokens", Worst: price.Nanos(n) * price.Nanos(worst(400, 256)),
		}},
		Start: epoch, Seed: 1,
	}
	for _, change := range changes {
		change(&j)
	}
	return j
}

func foresee(t testing.TB, j Job) *Forecast {
	t.Helper()
	f, err := Foresee(context.Background(), j)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// table is a forecast for people.
func (f *Forecast) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %9s %9s %9s %9s %8s %9s %9s %9s %8s %8s\n", "", "p5", "p50", "p90", "p95", "first", "$ p5", "$ p50", "$ p95", "sync", "batch")
	for i := range f.Candidates {
		c := &f.Candidates[i]
		mark := ""
		if i == f.Chosen {
			mark = "*"
		}
		r := func(d time.Duration) time.Duration { return d.Round(time.Second) }
		fmt.Fprintf(&b, "%-8s %9s %9s %9s %9s %8s %9.2f %9.2f %9.2f %8d %8d\n", mark+c.Name, r(c.P5), r(c.P50), r(c.P90), r(c.P95), r(c.First),
			c.CostP5.Float(), c.CostP50.Float(), c.CostP95.Float(), c.SyncRows, c.BatchRows)
		for _, s := range c.Binding[:min(4, len(c.Binding))] {
			fmt.Fprintf(&b, "         %4.0f %% %s %s %s %s", 100*s.Share, s.Limit, s.Org, s.Pool, s.Tier)
			if s.OneStep != nil {
				fmt.Fprintf(&b, ": %.0f saves %s", s.OneStep.Value, r(s.OneStep.Saves))
			}
			fmt.Fprintln(&b)
		}
	}
	fmt.Fprintf(&b, "%s; bound %s (%s), polite %s (%s); further org %s, half batch %s, slowed by %s\n", f.Why, f.Bound, f.BoundLimit, f.Polite, f.PoliteLimit, f.FurtherOrg, f.HalfBatch, f.SlowedBy)
	fmt.Fprintf(&b, "feasible %t: shortest %s, missing %s, %d in time, %d within, %d fit; out %.1f by %s", f.Feasible, f.Shortest, f.Missing, f.RowsInTime, f.RowsWithin, f.RowsFit, f.OutTokens, f.OutSource)
	return b.String()
}

// names of a forecast's candidates, cheapest first; the chosen one has a star.
func (f *Forecast) names() string {
	var out []string
	for i := range f.Candidates {
		name := f.Candidates[i].Name
		if i == f.Chosen {
			name += "*"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func few(j *Job) { j.Rehearsals = 3 }

// narrow gives a job one org, whose requests bind, and of which all was measured.
func narrow(j *Job) {
	over(1, startTier)(j)
	j.Fleet.Orgs[0].Turnaround = flotilla.Turnaround{Overhead: time.Minute, RowRate: 2, Parallel: 8}
	j.Pace = map[string]Pace{"sonnet": {}}
}

func TestForesee(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	for _, c := range []struct {
		name     string
		n        int
		change   func(*Job)
		want     string
		feasible bool
	}{
		{"balanced: batches are in time", 6_000, nil, "batch* sync", true},
		{"fast", 6_000, func(j *Job) { j.Prefer = flotilla.Fast }, "batch sync*", true},
		{"fast, and many", 20_000, func(j *Job) { narrow(j); j.Prefer = flotilla.Fast }, "batch hybrid* sync", true},
		{"too few for batches", 400, nil, "sync*", true},
		{"sync is asked for", 6_000, func(j *Job) { j.Tier = SyncTier }, "sync*", true},
		{"batch is asked for", 6_000, func(j *Job) { j.Tier = BatchTier }, "batch*", true},
		{"no batch may carry them", 6_000, func(j *Job) { j.Classes[0].Alone = 5_800 }, "sync*", true},
		{"no org takes batches", 6_000, func(j *Job) {
			for i := range j.Fleet.Orgs {
				j.Fleet.Orgs[i].NoBatch = true
			}
		}, "sync*", true},
		{"no org takes sync", 6_000, func(j *Job) {
			for i := range j.Fleet.Orgs {
				j.Fleet.Orgs[i].NoSync = true
			}
		}, "batch*", true},
		{"a far deadline", 6_000, func(j *Job) { j.Deadline = j.Start.Add(5 * time.Hour) }, "batch* sync", true},
		{"a deadline before any batch ends", 6_000, func(j *Job) { j.Deadline = j.Start.Add(3 * time.Minute) }, "sync*", true},
		{"a deadline that batches meet in part", 25_000, func(j *Job) { narrow(j); j.Deadline = j.Start.Add(28 * time.Minute) }, "thrift* hybrid sync", true},
		{"a deadline that nothing meets", 6_000, func(j *Job) { j.Deadline = j.Start.Add(30 * time.Second) }, "sync*", false},
		{"a cap that pays batches", 6_000, func(j *Job) { j.Cap = flotilla.USD(7) }, "batch* hybrid sync", true},
		{"a cap that pays batches goes before a deadline", 6_000, func(j *Job) { j.Cap, j.Deadline = flotilla.USD(7), j.Start.Add(3*time.Minute) }, "batch hybrid thrift* sync", false},
		{"a cap below the price of batches", 6_000, func(j *Job) { j.Cap = flotilla.USD(3) }, "batch* sync", false},
		{"nothing is left to spend", 6_000, func(j *Job) { j.Cap = -1 }, "batch* sync", false},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			changes := []func(*Job){few}
			if c.change != nil {
				changes = append(changes, c.change)
			}
			f := foresee(t, judged(&sc, c.n, changes...))
			if got := f.names(); got != c.want || f.Feasible != c.feasible {
				t.Errorf("%s, feasible %t; want %s, %t\n%s", got, f.Feasible, c.want, c.feasible, f.table())
			}
		})
	}
}

// BenchmarkForesee is the benchmark: the plan of a million rows, in
// under 20 s and 500 MB.
func BenchmarkForesee(b *testing.B) {
	const bound, boundMB = 20.0, 500.0
	sc := named(b, "default")
	for b.Loop() {
		f := foresee(b, judged(&sc, 1_000_000))
		if len(f.Candidates) < 3 || !f.Feasible {
			b.Fatalf("%d candidates, feasible %t", len(f.Candidates), f.Feasible)
		}
	}
	per := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(per, "s/plan")
	b.ReportMetric(per/bound, "of-bound")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	mb := float64(m.Sys) / (1 << 20) // all that was ever had of the system: no less than the peak
	b.ReportMetric(mb, "MB")
	b.ReportMetric(mb/boundMB, "of-bound-MB")
}

// Equal jobs have equal forecasts, whatever runs beside them.
func TestForecastsRepeat(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	j := judged(&sc, 3_000, few)
	a, b := foresee(t, j), foresee(t, j)
	if a.table() != b.table() {
		t.Errorf("twice the same job:\n%s\n%s", a.table(), b.table())
	}
	j.Seed++
	if c := foresee(t, j); c.table() == a.table() {
		t.Error("another seed draws the same")
	}
}

func TestForeseeNothing(t *testing.T) {
	sc := named(t, "default")
	j := judged(&sc, 3_000)
	j.Classes[0].Rows = 0
	if _, err := Foresee(context.Background(), j); err == nil {
		t.Error("a job without calls has a forecast")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Foresee(ctx, judged(&sc, 3_000)); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
}

// An output length that is only bounded makes the range of dollars wide, with
// the bound at its end.
func TestForeseeBoundedLength(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	given := foresee(t, judged(&sc, 2_000, func(j *Job) { j.Tier = SyncTier }))
	bound := foresee(t, judged(&sc, 2_000, func(j *Job) {
		j.Tier = SyncTier
		c := &j.Classes[0]
		c.Out, c.OutSource, c.OutBound = c.MaxTokens, "max_tokens", true
	}))
	g, b := &given.Candidates[0], &bound.Candidates[0]
	most := flotilla.Money(2_000 * (400*3_000 + 256*15_000))
	if !bound.OutBound || bound.OutTokens != 256 || given.OutBound || given.OutTokens != 62.8 {
		t.Errorf("%.1f tokens, bound %t; given %.1f, %t", bound.OutTokens, bound.OutBound, given.OutTokens, given.OutBound)
	}
	if b.CostP95 < most*9/10 || b.CostP95 > b.Worst || b.CostP95 < g.CostP95*3/2 || b.CostP5 > g.CostP50 {
		t.Errorf("%s–%s, where each answer as long as allowed costs %s; given %s–%s", b.CostP5, b.CostP95, most, g.CostP5, g.CostP95)
	}
	if width := float64(g.CostP95) / float64(g.CostP5); width > 1.10 {
		t.Errorf("given a length, dollars are %s–%s", g.CostP5, g.CostP95)
	}
}

// Dollars go by the job's own prices, for models that the emulator does not
// know too.
func TestForeseePrices(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	usual := foresee(t, judged(&sc, 2_000, few))
	prices, err := price.ParsePrices("in=30,out=150")
	if err != nil {
		t.Fatal(err)
	}
	dear := foresee(t, judged(&sc, 2_000, few, func(j *Job) {
		j.Fleet.Orgs = usualOrgs(&sc, "claude-next")
		j.Fleet.Prices = price.Published().With(price.Unlisted("claude-next", prices))
		j.Classes[0].Model, j.Classes[0].Pool, j.Classes[0].Family, j.Classes[0].Worst = "claude-next", "claude-next", "other", 0
	}))
	for i := range usual.Candidates {
		u, d := &usual.Candidates[i], &dear.Candidates[i]
		if ratio := float64(d.CostP50) / float64(u.CostP50); u.Name != d.Name || ratio < 9.7 || ratio > 10.3 {
			t.Errorf("at ten times the price %s costs %s, %s costs %s", d.Name, d.CostP50, u.Name, u.CostP50)
		}
		if d.Binding[0].Pool != "claude-next" {
			t.Errorf("%s: bound in pool %s", d.Name, d.Binding[0].Pool)
		}
	}
}

// What one more step of a limit would save is told for what binds.
func TestForeseeOneStep(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	for _, c := range []struct {
		name, limit, org string
		value            float64
		least, most      time.Duration
		change           func(*Job)
	}{
		{"our cap", "cap", "high", 150, 80 * time.Second, 130 * time.Second, func(*Job) {}},
		{"requests", "rpm", "org-1", 2000, 400 * time.Second, 620 * time.Second, over(1, startTier)},
	} {
		f := foresee(t, judged(&sc, 40_000, func(j *Job) { j.Tier, j.Rehearsals = SyncTier, 1 }, c.change))
		if c.limit == "rpm" {
			f = foresee(t, judged(&sc, 20_000, func(j *Job) { j.Tier, j.Rehearsals = SyncTier, 1 }, c.change))
		}
		b := f.Candidates[0].Binding[0]
		if b.Limit != c.limit || b.Org != c.org || b.OneStep == nil || b.OneStep.Value != c.value || b.OneStep.Saves < c.least || b.OneStep.Saves > c.most {
			t.Errorf("%s: %+v, one step %+v\n%s", c.name, b, b.OneStep, f.table())
		}
	}
}

// Marked beginnings are priced as the caches hold them, and calls that share few
// of them stay on as few orgs as there is time for.
func TestForeseeCaching(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	mark := func(prefixes int) func(*Job) {
		return func(j *Job) {
			c := &j.Classes[0]
			c.In, c.Prefix, c.Prefixes, c.Worst = 3_000, 2_800, prefixes, 0
			j.Tier = SyncTier
		}
	}
	plain := foresee(t, judged(&sc, 4_000, few, mark(1), func(j *Job) { j.Classes[0].Prefix = 0 }))
	one := foresee(t, judged(&sc, 4_000, few, mark(1)))
	each := func(f *Forecast) float64 { return f.Candidates[f.Chosen].CostP50.Float() / 4_000 }
	without, with := each(plain), each(one)
	if saved := without - with; saved < 2_500*(3-.3)/1e6 || saved > 2_900*(3-.3)/1e6 {
		t.Errorf("a call costs $%.6f with a beginning of 2,800 tokens that is read, $%.6f without", with, without)
	}
	many := foresee(t, judged(&sc, 4_000, few, mark(1_000), func(j *Job) { j.Deadline = j.Start.Add(time.Hour) }))
	soon := foresee(t, judged(&sc, 4_000, few, mark(1_000), func(j *Job) { j.Deadline = j.Start.Add(90 * time.Second) }))
	if len(many.Orgs) != 1 || len(soon.Orgs) != 3 || len(one.Orgs) != 3 {
		t.Errorf("kept on %v with an hour, on %v with 90 s; one beginning on %v", many.Orgs, soon.Orgs, one.Orgs)
	}
}

// Without a deadline a route that waits for batches never pays the price of
// sync; with one, a rescue may.
func TestWorstOfBatchesIsTheirPrice(t *testing.T) {
	sc := named(t, "default")
	j := judged(&sc, 1000)
	j.Classes[0].Worst = flotilla.USD(10)
	batch := sched.Route{Batch: true, Target: sched.Never}
	if got := j.worst(batch); got != flotilla.USD(5) {
		t.Errorf("at worst %v by batch, want half of $10", got)
	}
	j.Deadline = j.Start.Add(5 * time.Hour)
	if got := j.worst(batch); got != flotilla.USD(10) {
		t.Errorf("at worst %v with a deadline, want $10", got)
	}
}
