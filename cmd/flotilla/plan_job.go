package main

import (
	"context"

	"github.com/flotilla-llm/flotilla/internal/job"
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
