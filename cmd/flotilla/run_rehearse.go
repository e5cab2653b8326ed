package main

import (
	"context"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/route"
)

// rehearse fills in the routes of a report.
func (r *runner) rehearse(_ context.Context, p *planReport, _ *supposed) error {
	fc := r.forecast()
	plan := &r.plan
	one := planRoute{
		Name: tierNameSync, Meets: true, P50USD: plan.Expected, P5USD: plan.Expected, P95USD: plan.Expected, WorstUSD: plan.Worst, SyncRows: plan.Pending,
		P5S: fc.soonest.Seconds(), P50S: ((fc.soonest + fc.latest) / 2).Seconds(), P90S: fc.latest.Seconds(), P95S: fc.latest.Seconds(), Limit: fc.polite.Limit.String(),
		EndsEarly: p.At.Add(fc.soonest), Ends: p.At.Add((fc.soonest + fc.latest) / 2), EndsLate: p.At.Add(fc.latest),
	}
	if r.flags.tier == tierBatch {
		one.Name, one.route = tierNameBatch, flotilla.Route{Batch: true, NoSync: true}
		one.SyncRows, one.BatchRows = 0, plan.Pending
	}
	p.Routes, p.Chosen, p.Why, p.Feasible = append(p.Routes, one), one.Name, "the only one", true
	if by := p.untilDeadline(); by > 0 && seconds(one.P90S) > by {
		p.Feasible, p.Feasibility = false, "the deadline cannot be met: the shortest possible time is "+span(seconds(one.P50S))
	}
	if fc.bound.Time < route.Never {
		p.Bounds = planBounds{fc.bound.Time.Seconds(), fc.bound.Limit.String(), fc.polite.Time.Seconds(), fc.polite.Limit.String()}
	}
	return nil
}
