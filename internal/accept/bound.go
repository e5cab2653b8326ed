package main

import (
	"math"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/route"
	"github.com/flotilla-llm/flotilla/plan"
)

// tiers are those that an arm may use.
type tiers struct{ sync, batch bool }

// realised is what the calls came to in the reference arm: sync alone over all
// orgs.
type realised struct {
	calls                      int
	input, output              float64 // tokens of a call, mean
	latency, shortest, longest time.Duration
}

func realisedIn(o *plan.Outcome) realised {
	n := max(1, o.Succeeded)
	return realised{
		calls: n, input: float64(o.Input) / float64(n), output: float64(o.Output) / float64(n),
		latency: o.Latency / time.Duration(n), shortest: o.MinLatency, longest: o.MaxLatency,
	}
}

// bounds are the least times in which so many rows can be carried by some orgs of
// a scenario: a linear program over org × tier (internal/route.Task), in which
// every org keeps its own limits. physical knows limits alone, polite leaves the
// soft floor to others and opens windows by the ramp too.
func (r *realised) bounds(sc *emulator.Scenario, orgs []string, t tiers, rows int) (physical, polite time.Duration) {
	task := route.Task{Classes: []route.Class{{
		Rows: float64(rows), Input: r.input, Output: r.output,
		Latency: r.latency, Shortest: r.shortest, Longest: r.longest, Alone: !t.batch,
	}}}
	for i := range sc.Orgs {
		if o := &sc.Orgs[i]; slices.Contains(orgs, o.Name) {
			task.Orgs = append(task.Orgs, siteOf(sc, o, t))
		}
	}
	manners := task
	task.Soft, task.Ramp = -1, route.RampOff
	least, _ := task.Fastest(math.Inf(1))
	mannered, _ := manners.Fastest(math.Inf(1))
	return least.Time, mannered.Time
}

func siteOf(sc *emulator.Scenario, o *emulator.Org, t tiers) route.Site {
	s := route.Site{Lanes: []route.Lane{{}}, Group: []int{0}}
	if t.sync {
		s.Lanes[0] = route.Lane{
			Cap:       flotilla.DefaultConc(family),
			PerMinute: [route.NumDims]float64{float64(o.Limits.Requests), float64(o.Limits.Input), float64(o.Limits.Output)},
		}
	}
	if t.batch {
		s.Batch = route.BatchLane{Queue: float64(o.BatchQueue), Overhead: sc.Batches.Overhead, RowRate: rowRate(sc), Parallel: atOnce(sc)}
	}
	return s
}

// family is that of the judge's model.
const family = "sonnet"

// The emulator's own defaults, where a scenario leaves them out.
func rowRate(sc *emulator.Scenario) float64 {
	if r := sc.Batches.RowsPerSecond; r > 0 {
		return r
	}
	return 2
}

func atOnce(sc *emulator.Scenario) int {
	if n := sc.Batches.AtOnce; n > 0 {
		return n
	}
	return 8
}
