package plan

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
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

func TestForesee(t *testing.T) {
	sc := named(t, "default")
	f := foresee(t, judged(&sc, 10_000))
	t.Log("\n" + f.table())
}

// BenchmarkForesee is the benchmark: the plan of a million rows, in
// under 20 s and 500 MB.
func BenchmarkForesee(b *testing.B) {
	const bound = 20.0
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
}
