package main

import (
	"context"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/plan"
)

// planTiers are what --tier says, for forecasts.
var planTiers = map[tierChoice]plan.Tier{tierAuto: plan.AnyTier, tierSync: plan.SyncTier, tierBatch: plan.BatchTier}

// forecastSeed begins all rehearsals: equal jobs have equal forecasts.
const forecastSeed = 1

// planJob is the job as a forecast needs it.
func (r *runner) planJob(ctx context.Context, p *planReport, sup *supposed) plan.Job {
	j := plan.Job{
		Fleet: r.flags.fleetConfig(r.settings), Classes: planClasses(r.plan.Classes), Start: p.At, Prefer: r.flags.prefer,
		Tier: planTiers[r.flags.tier], Seed: forecastSeed,
	}
	j.Pace = r.profile.paces(j.Classes)
	j.Fleet.Orgs = nil
	for i := range sup.orgs {
		o := sup.orgs[i].Org
		if o.Turnaround.RowRate == 0 { // the profile knows better
			o.Turnaround = r.turnaround(ctx, o.Name)
		}
		j.Fleet.Orgs = append(j.Fleet.Orgs, o)
	}
	if p.Deadline != nil {
		j.Deadline = *p.Deadline
	}
	if p.CapUSD != nil {
		j.Cap = *p.CapUSD
		if j.Cap == 0 {
			j.Cap = -1 // nothing is left, where 0 would be no cap
		}
	}
	return j
}

func planClasses(classes []job.Class) []plan.Class {
	out := make([]plan.Class, len(classes))
	for i := range classes {
		c := &classes[i]
		out[i] = plan.Class{
			Model: c.Model, Pool: c.Pool, Family: c.Family, Rows: c.Rows, Alone: c.Alone, In: c.In, InDev: c.InDev, MaxTokens: c.MaxTokens, Bytes: c.Bytes,
			Out: c.Out, OutP95: c.OutP95, OutSource: string(c.OutSource), OutBound: c.OutSource == job.OutBound, OutRows: c.OutRows, Worst: c.Worst,
			Prefix: c.Prefix, Prefixes: c.Prefixes, Hour: c.Hour,
		}
	}
	return out
}

// Batches of an org that the journal is asked for, and how many tell anything.
const (
	turnaroundsAsked = 50
	turnaroundsLeast = 3
)

// turnaround is how the last batches of an org proceeded, as the journal has it;
// zero: it has too few.
func (r *runner) turnaround(ctx context.Context, org string) flotilla.Turnaround {
	if r.journal == nil || r.shares == nil {
		return flotilla.Turnaround{}
	}
	last, err := r.journal.Turnarounds(ctx, r.shares.realm, org, turnaroundsAsked)
	if err != nil {
		return flotilla.Turnaround{} // a forecast may do without
	}
	return turnaroundOf(last)
}

// usualOverhead is how long a batch waits before its first row where nothing
// else is known (facts/control.md C.2).
const usualOverhead = time.Minute

// turnaroundOf takes the overhead as usual, or as half of what the quickest took
// where that was less, and the middle rate of those that ended by themselves.
func turnaroundOf(last []journal.Turnaround) (t flotilla.Turnaround) {
	last = slices.DeleteFunc(slices.Clone(last), func(b journal.Turnaround) bool { return b.Canceled || b.Rows == 0 || b.Took <= 0 })
	if len(last) < turnaroundsLeast {
		return t
	}
	t.Overhead = usualOverhead
	for _, b := range last {
		t.Overhead = min(t.Overhead, b.Took/2)
	}
	rates := make([]float64, len(last))
	for i, b := range last {
		rates[i] = float64(b.Rows) / (b.Took - t.Overhead).Seconds()
	}
	slices.Sort(rates)
	t.RowRate = rates[len(rates)/2]
	return t
}
