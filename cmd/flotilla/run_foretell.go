package main

import (
	"context"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
)

// foretell says how the job would go by each of its routes, and chooses one.
func (r *runner) foretell(ctx context.Context) (*planReport, error) {
	sup := suppose(r.usable(), r.pools(), &r.profile, r.learned(ctx))
	p := r.newReport(&sup)
	if p.Rows == 0 {
		return p, nil
	}
	return p, r.rehearse(ctx, p, &sup)
}

// choose foretells the job and settles the route that it takes.
func (r *runner) choose(ctx context.Context) (err error) {
	if r.report, err = r.foretell(ctx); err != nil {
		return err
	}
	r.route = r.standing()
	if c := r.report.chosen(); c != nil {
		r.route = c.route
	}
	return nil
}

// standing is the route where nothing is foretold, since all that is left is in
// batches of an earlier run: what comes back of them goes the way that was asked
// for.
func (r *runner) standing() flotilla.Route {
	switch {
	case r.flags.tier == tierBatch || r.settings.noSync():
		return flotilla.Route{Batch: true, NoSync: true}
	case r.flags.tier == tierSync:
		return flotilla.Route{}
	}
	return flotilla.Route{Batch: true, Target: r.deadline, Patient: r.deadline.IsZero() && r.flags.prefer == flotilla.Cheap}
}

// promise is what the summary holds the outcome against.
func (c *planRoute) promise() job.Forecast {
	return job.Forecast{
		Route: c.Name, P5: seconds(c.P5S), P50: seconds(c.P50S), P95: seconds(c.P95S),
		Cost5: c.P5USD, Cost50: c.P50USD, Cost95: c.P95USD,
	}
}

// newReport is what a report says of the job itself.
func (r *runner) newReport(sup *supposed) *planReport {
	plan := &r.plan
	p := &planReport{
		At: r.now()(), Rows: plan.Pending - plan.Batched, Batched: plan.Batched, Cached: plan.Settled + plan.Cached, Models: plan.Models, Priced: plan.Priced,
		Orgs: []string{}, Assumed: sup.assumed, InTokens: plan.Tokens, CapUSD: r.capLeft(), OutTokens: r.outPerCall(), OutSource: r.outSources(), Warnings: plan.Warnings, Slow: r.slowText(),
		Caching: plan.Caching.Text(), CachingHint: plan.Caching.Hint,
		Routes: []planRoute{},
	}
	for _, o := range sup.orgs {
		p.Orgs = append(p.Orgs, o.Name)
	}
	if text := r.flags.roomText(); text != "" {
		p.Assumed = append(p.Assumed, text)
	}
	if at := r.flags.deadline.from(p.At); !at.IsZero() {
		p.Deadline = &at
	}
	return p
}

// capLeft is what may still be spent on the job; nil: there is no cap.
func (r *runner) capLeft() *flotilla.Money {
	if r.settings.MaxSpend == 0 {
		return nil
	}
	left := max(r.settings.MaxSpend-r.plan.Spent, 0)
	return &left
}

// untilDeadline is how long the job may take; 0: there is no deadline.
func (p *planReport) untilDeadline() time.Duration {
	if p.Deadline == nil {
		return 0
	}
	return max(p.Deadline.Sub(p.At), 1)
}
