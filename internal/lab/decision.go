package lab

import (
	"fmt"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// Care is what a job cares for.
type Care string

// Cares of the decision table.
const (
	ForLatency Care = "latency" // the least time inside the caps
	ForCost    Care = "cost"    // the fewest dollars within a day
)

// Decision is one line of the decision table: how to carry a job, and what it
// will take. It comes from a forecast.
type Decision struct {
	Model string
	N     int
	Care  Care

	Route string   // sync, batch, hybrid
	Orgs  []string // in use
	Chunk int      // rows of a batch, on average; 0: none is sent
	Conc  int      // most calls in flight over all orgs; 0: none by sync

	P5, P50, P95       time.Duration // of the wall-clock time; Never: it does not end
	USD5, USD50, USD95 price.Nanos
	Limit              string // that binds, for people
}

// decisions writes one table for each model.
func (g *Guide) decisions(b *strings.Builder) {
	for _, c := range g.Crossings {
		fmt.Fprintf(b, "\n### %s\n\n", c.Model)
		mdTable(b, "calls", "cares for", "tier", "orgs", "rows a batch", "calls in flight", "wall-clock, p50 (p5–p95)", "dollars, p50 (p5–p95)", "limit that binds")
		for i := range g.Decisions {
			if d := &g.Decisions[i]; d.Model == c.Model {
				mdRow(b, group(d.N), string(d.Care), d.Route, strings.Join(d.Orgs, ", "), orDash(d.Chunk), orDash(d.Conc),
					spread(took(d.P50), took(d.P5), took(d.P95)), spread(d.USD50.String(), d.USD5.String(), d.USD95.String()), d.Limit)
			}
		}
	}
}

// crossings writes from where which route is ahead.
func (g *Guide) crossings(b *strings.Builder) {
	mdTable(b, "model", "batch alone ends before sync alone from", "both from two ends are quickest from", "`balanced` takes batches from")
	for i := range g.Crossings {
		c := &g.Crossings[i]
		mdRow(b, c.Model, fromCalls(c.BatchFaster), fromCalls(c.Hybrid), fromCalls(c.Balanced))
	}
}

func fromCalls(n int) string {
	if n == 0 {
		return "at no size up to 1,000,000"
	}
	return group(n) + " calls"
}

// took is a time in the unit that suits it.
func took(d time.Duration) string {
	switch {
	case d == Never:
		return "never"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 90*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.1f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}

// spread is a middle with its range, or the middle alone where they read alike.
func spread(mid, low, high string) string {
	if low == mid && high == mid {
		return mid
	}
	return fmt.Sprintf("%s (%s–%s)", mid, low, high)
}

func orDash(n int) string {
	if n == 0 {
		return "–"
	}
	return group(n)
}
