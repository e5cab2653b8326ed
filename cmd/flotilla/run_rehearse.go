package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/plan"
)

// rehearse fills in what forecasts say.
func (r *runner) rehearse(ctx context.Context, p *planReport, sup *supposed) error {
	j := r.planJob(ctx, p, sup)
	if len(j.Classes) == 0 {
		return nil // all that is pending is in batches already
	}
	f, err := plan.Foresee(ctx, j)
	if err != nil {
		return err
	}
	p.take(f)
	p.Slow = joined("; ", p.slowedText(f, r.plan.Worst/flotilla.Money(max(r.plan.Pending, 1))), p.Slow)
	return nil
}

// take fills in the routes of a forecast and what goes with the chosen one.
func (p *planReport) take(f *plan.Forecast) {
	for i := range f.Candidates {
		p.Routes = append(p.Routes, p.routeOf(&f.Candidates[i]))
	}
	c := &f.Candidates[f.Chosen]
	p.Chosen, p.Why, p.Feasible = c.Name, f.Why, f.Feasible
	p.Feasibility = p.feasibility(f)
	if f.Bound < plan.Never {
		p.Bounds = planBounds{f.Bound.Seconds(), f.BoundLimit, f.Polite.Seconds(), f.PoliteLimit}
	}
	p.Binding, p.binding = job.BindingTable(&flotilla.Report{Binding: c.Binding, Lanes: c.Lanes})
	if len(f.Orgs) < len(p.Orgs) {
		p.KeptOn = f.Orgs
	}
	p.FurtherOrgS, p.HalfBatch = f.FurtherOrg.Seconds(), f.HalfBatch
}

func (p *planReport) routeOf(c *plan.Candidate) planRoute {
	at := func(d time.Duration) time.Time {
		if d == plan.Never {
			return time.Time{}
		}
		return p.At.Add(d)
	}
	lines, _ := job.BindingTable(&flotilla.Report{Binding: c.Binding, Lanes: c.Lanes})
	return planRoute{
		Name: c.Name, Meets: c.Meets, route: c.Route, FirstS: c.First.Seconds(),
		P5S: secondsOf(c.P5), P50S: secondsOf(c.P50), P90S: secondsOf(c.P90), P95S: secondsOf(c.P95),
		EndsEarly: at(c.P5), Ends: at(c.P50), EndsLate: at(c.P95), P5USD: c.CostP5, P50USD: c.CostP50, P95USD: c.CostP95, WorstUSD: c.Worst,
		SyncRows: c.SyncRows, BatchRows: c.BatchRows, Limit: bindingLimit(lines),
	}
}

// secondsOf is a time of a forecast; -1: it does not end.
func secondsOf(d time.Duration) float64 {
	if d == plan.Never {
		return -1
	}
	return d.Seconds()
}

// bindingLimit is what holds a route back most, for people: the same limit of
// several orgs is one.
func bindingLimit(lines []job.BindingSummary) string {
	share := map[string]float64{}
	best := ""
	for i := range lines {
		l := &lines[i]
		if l.Limit == "work" || l.Limit == "" {
			continue
		}
		words := planLimit(l)
		share[words] += l.Share
		if best == "" || share[words] > share[best] {
			best = words
		}
	}
	return best
}

// planLimit names a limit that a table has room for.
func planLimit(l *job.BindingSummary) string {
	switch l.Limit {
	case "cap":
		return "our cap on calls"
	case "aimd":
		if l.Tier == tierNameBatch {
			return "our window of batches"
		}
	case "latency":
		return "the answers"
	case "rpm", "itpm", "otpm":
		return title(l.Org) + ": " + dimTexts[l.Limit] + "/min"
	case "batch_queue":
		return title(l.Org) + ": batch queue"
	}
	return strings.ReplaceAll(cmp.Or(limitTexts[l.Limit], l.Limit), "ORG", title(l.Org))
}

// feasibility says what is missing where no route keeps deadline and cap, and
// what would fit; empty: nothing is missing.
func (p *planReport) feasibility(f *plan.Forecast) string {
	if f.Feasible {
		return ""
	}
	var parts []string
	if f.Missing > 0 && p.CapUSD != nil {
		parts = append(parts, fmt.Sprintf("the cap leaves %s, which is %s too little: about %s of %s rows fit", dollars(*p.CapUSD), f.Missing, whole(f.RowsWithin), whole(p.Rows)))
	}
	if by := p.untilDeadline(); by > 0 && f.RowsInTime < p.Rows {
		shortest := "it would not end at all"
		if f.Shortest < plan.Never {
			shortest = "the shortest possible time is " + span(f.Shortest)
		}
		parts = append(parts, fmt.Sprintf("the deadline is in %s and %s: about %s of %s rows fit", span(by), shortest, whole(f.RowsInTime), whole(p.Rows)))
	}
	if len(parts) == 2 {
		parts = append(parts, fmt.Sprintf("about %s fit into both", whole(f.RowsFit)))
	}
	if len(parts) == 0 {
		c := &f.Candidates[f.Chosen]
		parts = append(parts, fmt.Sprintf("deadline and cap are not sure to be kept: p95 is %s and %s", span(c.P95), c.CostP95))
	}
	return strings.Join(parts, "; ")
}

// slowedText says by how much the cap on money slows the job; empty: it does not.
func (p *planReport) slowedText(f *plan.Forecast, worst flotilla.Money) string {
	if p.CapUSD == nil || !f.Feasible || f.SlowedBy < worthSaying {
		return ""
	}
	return fmt.Sprintf("the cap makes this about %s longer: near it fewer calls can be in flight, each held at its worst case of %s", span(f.SlowedBy), worst)
}
