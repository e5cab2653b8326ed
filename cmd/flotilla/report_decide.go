package main

import (
	"context"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/plan"
	"github.com/flotilla-llm/flotilla/price"
)

// decisionSizes are the jobs of the decision table.
var decisionSizes = []int{10, 100, 1_000, 10_000, 100_000, 1_000_000}

// patience is how long a job that cares for cost alone may take: a batch is
// answered within it or not at all (facts/claude-api.md 4.1).
const patience = 24 * time.Hour

// forecaster rehearses jobs with what was measured.
type forecaster struct {
	settings *Settings
	profile  *profile
	in, out  int // tokens of a call
	assumed  []string
}

// Rehearsals of large jobs: what is left to chance in them is little, and a
// table of them should be made while one waits. 0 is as plan has it.
const (
	largeJob        = 100_000
	largeRehearsals = 3
)

func rehearsalsOf(n int) int {
	if n < largeJob {
		return 0
	}
	return largeRehearsals
}

// model makes the crossing and the decisions of one model.
func (f *forecaster) model(ctx context.Context, m price.Model) (lab.Crossing, []lab.Decision, error) {
	c := lab.Crossing{Model: m.ID}
	var ds []lab.Decision
	for _, n := range decisionSizes {
		sup := f.suppose(m)
		fc, err := plan.Foresee(ctx, f.job(m, n, &sup, plan.AnyTier))
		if err != nil {
			return c, ds, err
		}
		candidates := fc.Candidates
		taken := candidates[fc.Chosen].Name
		if !slices.ContainsFunc(candidates, func(c plan.Candidate) bool { return c.Name == plan.BatchName }) && takesBatches(&sup) {
			small, err := plan.Foresee(ctx, f.job(m, n, &sup, plan.BatchTier))
			if err != nil {
				return c, ds, err
			}
			candidates = append(slices.Clone(candidates), small.Candidates...)
		}
		for i := range candidates {
			if p := pointOf(n, &candidates[i]); p.Route != plan.ThriftName {
				p.Taken = p.Route == taken
				c.Points = append(c.Points, p)
			}
		}
		ds = append(ds, decisionOf(m.ID, n, lab.ForLatency, quickest(fc.Candidates)), decisionOf(m.ID, n, lab.ForCost, cheapest(candidates)))
	}
	c.Find()
	return c, ds, nil
}

// suppose is what is known of the orgs that were measured, and of the rest what
// plan assumes.
func (f *forecaster) suppose(m price.Model) supposed {
	orgs := f.orgs()
	sup := suppose(orgs, []string{m.Pool}, &profile{}, nil)
	for _, a := range sup.assumed {
		if a = m.ID + ": " + a; !slices.Contains(f.assumed, a) {
			f.assumed = append(f.assumed, a)
		}
	}
	return sup
}

// orgs are those of the profile: what the configuration says of them, but for
// limits, and what was measured.
func (f *forecaster) orgs() []OrgSetting {
	var out []OrgSetting
	for i := range f.profile.Orgs {
		known := &f.profile.Orgs[i]
		if known.SameAs != "" {
			continue
		}
		o := OrgSetting{Org: flotilla.Org{Name: known.Name}}
		for _, s := range f.settings.Orgs {
			if s.Name == known.Name {
				o.NoSync, o.NoBatch, o.Share, o.TokensPerDay = s.NoSync, s.NoBatch, s.Share, s.TokensPerDay
			}
		}
		f.profile.teach(&o, known.ID)
		out = append(out, o)
	}
	return out
}

func takesBatches(s *supposed) bool {
	return slices.ContainsFunc(s.orgs, func(o OrgSetting) bool { return !o.NoBatch })
}

func (f *forecaster) job(m price.Model, n int, sup *supposed, tier plan.Tier) plan.Job {
	room := 4 * f.out // as plan has it where nobody says
	class := plan.Class{
		Model: m.ID, Pool: m.Pool, Family: m.Family(), Rows: n, In: float64(f.in), MaxTokens: float64(room), Out: float64(f.out), OutSource: "--out-tokens",
		Bytes: float64(bytesOfText*f.in + bytesAround),
	}
	j := plan.Job{Fleet: f.settings.FleetConfig(), Classes: []plan.Class{class}, Start: f.profile.at, Tier: tier, Seed: forecastSeed, Rehearsals: rehearsalsOf(n)}
	j.Fleet.Orgs, j.Fleet.Prices = nil, f.settings.Prices
	for i := range sup.orgs {
		j.Fleet.Orgs = append(j.Fleet.Orgs, sup.orgs[i].Org)
	}
	j.Pace = f.profile.paces(j.Classes)
	return j
}

func pointOf(n int, c *plan.Candidate) lab.CrossingPoint {
	return lab.CrossingPoint{N: n, Route: c.Name, P5: c.P5, P50: c.P50, P95: c.P95, USD: c.CostP50, BatchRows: c.BatchRows}
}

// quickest is the route with the least p90; of equal ones the cheaper.
func quickest(cs []plan.Candidate) *plan.Candidate {
	best := &cs[0]
	for i := range cs {
		if c := &cs[i]; c.P90 < best.P90 || c.P90 == best.P90 && c.CostP50 < best.CostP50 {
			best = c
		}
	}
	return best
}

// cheapest is the route with the fewest dollars whose p90 is within patience, of
// equal ones the quicker; the quickest where none is.
func cheapest(cs []plan.Candidate) *plan.Candidate {
	var best *plan.Candidate
	for i := range cs {
		c := &cs[i]
		if c.P90 > patience {
			continue
		}
		if best == nil || c.CostP50 < best.CostP50 || c.CostP50 == best.CostP50 && c.P90 < best.P90 {
			best = c
		}
	}
	if best == nil {
		return quickest(cs)
	}
	return best
}

func decisionOf(model string, n int, care lab.Care, c *plan.Candidate) lab.Decision {
	d := lab.Decision{
		Model: model, N: n, Care: care, Route: c.Name, Chunk: c.BatchSize,
		P5: c.P5, P50: c.P50, P95: c.P95, USD5: c.CostP5, USD50: c.CostP50, USD95: c.CostP95,
	}
	for _, l := range c.Lanes {
		switch {
		case l.Tier == tierNameSync && l.N > 0:
			d.Conc += l.Peak
		case l.Tier == tierNameSync, c.BatchRows == 0:
			continue
		}
		if !slices.Contains(d.Orgs, title(l.Org)) {
			d.Orgs = append(d.Orgs, title(l.Org))
		}
	}
	lines, _ := job.BindingTable(&flotilla.Report{Binding: c.Binding, Lanes: c.Lanes})
	d.Limit = bindingLimit(lines)
	return d
}
