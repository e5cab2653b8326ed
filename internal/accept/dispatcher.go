package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/plan"
	"github.com/flotilla-llm/flotilla/price"
)

// dispatch is one arm of the dispatcher.
type dispatch struct {
	id, name string
	scenario string // empty: default
	prefer   flotilla.Prefer
	tier     plan.Tier
	orgs     []string
	profile  *lab.Profile
	cap      price.Nanos  // 0: the most that the rows can cost, which never binds
	crash    []plan.Crash // when the process dies, and when it is back
	then     func(ctx context.Context, s *setting, t *table, a *arm, o *plan.Outcome) error
}

// dispatches are arms (b) and (c).
func (s *setting) dispatches() []*dispatch {
	out := []*dispatch{
		{id: "b", name: "dispatcher, --tier batch", tier: plan.BatchTier, orgs: allOrgs},
		{id: "b1", name: "dispatcher, --tier batch, the script's org alone", tier: plan.BatchTier, orgs: oneOrg},
	}
	for _, p := range []*lab.Profile{nil, s.profile} {
		fast := &dispatch{id: "c-fast", name: "dispatcher, --prefer fast", prefer: flotilla.Fast, then: again}
		out = append(out, fast,
			&dispatch{id: "c-balanced", name: "dispatcher, --prefer balanced", prefer: flotilla.Balanced},
			&dispatch{id: "c-cheap", name: "dispatcher, --prefer cheap", prefer: flotilla.Cheap})
		for _, d := range out[len(out)-3:] {
			d.orgs, d.profile = allOrgs, p
			if p != nil {
				d.id, d.name = d.id+"-p", d.name+", by the profile"
			}
		}
	}
	return out
}

// capShare is the share of its dollars that the capped arm may spend: less than
// batches alone would cost, so that the cap must stop it.
const capShare = 0.4

// again carries the fast arm twice more: killed in its middle, and under a cap
// that does not pay for all of it.
func again(ctx context.Context, s *setting, t *table, a *arm, o *plan.Outcome) error {
	half := o.Makespan() / 2
	for _, d := range []*dispatch{
		{id: a.ID + "-killed", name: a.Name + ", killed in the middle, back 10 s later", crash: []plan.Crash{{At: half, Back: half + 10*time.Second}}},
		{id: a.ID + "-cap", name: fmt.Sprintf("%s, --max-spend %.0f %% of its dollars", a.Name, 100*capShare), cap: price.Nanos(capShare * float64(a.USD))},
	} {
		s.course.say("virtual time: (%s) %s", d.id, d.name)
		d.prefer, d.orgs = flotilla.Fast, a.Orgs
		if a.Profiled {
			d.profile = s.profile
		}
		more, _, err := s.dispatcher(ctx, d)
		if err != nil {
			return err
		}
		s.hold(more, more.open())
		t.add(more)
	}
	return nil
}

// open are the tiers that the arm's route takes, but for the first request, which
// goes by sync alone.
func (a *arm) open() tiers {
	return tiers{sync: a.Route != plan.BatchName, batch: a.Route != plan.SyncName}
}

// dispatcher carries the work on virtual time, by the route that a forecast
// chooses.
func (s *setting) dispatcher(ctx context.Context, d *dispatch) (*arm, *plan.Outcome, error) {
	if d.scenario == "" {
		d.scenario = scenarioName
	}
	a := &arm{ID: d.id, Name: d.name, Scenario: d.scenario, Orgs: d.orgs, Profiled: d.profile != nil, Cap: d.cap, most: s.work.most}
	sc, err := world(d.scenario)
	if err != nil {
		return nil, nil, err
	}
	f, err := plan.Foresee(ctx, s.job(d))
	if err != nil {
		return nil, nil, err
	}
	c := &f.Candidates[f.Chosen]
	a.Route, a.Why = c.Name, f.Why
	if a.Cap == 0 {
		a.Cap = s.work.class.Worst
	}
	set := plan.Setting{
		Core:    sched.Config{Seed: seed, Hedge: d.prefer == flotilla.Fast, Ledgers: []sched.Ledger{{Limit: int64(a.Cap), Final: true}}},
		Lanes:   syncLanes(&sc, d.orgs, d.profile),
		Stream:  sched.StreamConfig{Route: routeOf(c.Route), Ledgers: []sched.LedgerID{0}},
		Crashes: d.crash,
	}
	if c.Route.Batch {
		set.Lanes = append(set.Lanes, batchLanes(&sc, d.orgs, d.profile)...)
	}
	o, st := s.carry(sc, set)
	a.take(o, st)
	a.Told = append(a.Told, forecastText(f, c))
	return a, o, nil
}

// forecastText is what was said before the start.
func forecastText(f *plan.Forecast, c *plan.Candidate) string {
	var ways []string
	for i := range f.Candidates {
		w := &f.Candidates[i]
		ways = append(ways, fmt.Sprintf("%s %s for %s", w.Name, span(w.P50), dollars(w.CostP50)))
	}
	return fmt.Sprintf("forecast: %s; taken: %s, %s (p5 to p95: %s to %s)", strings.Join(ways, ", "), c.Name, f.Why, span(c.P5), span(c.P95))
}

// job is the work as a forecast needs it, with the lengths that the first answers
// tell. What is not measured of an org is taken to be as an org of its name is
// in the emulator's default scenario, as flotilla run does.
func (s *setting) job(d *dispatch) plan.Job {
	j := plan.Job{Classes: []plan.Class{s.work.class}, Start: epoch, Prefer: d.prefer, Tier: d.tier, Seed: seed, Cap: d.cap}
	likely, _ := emulator.Named(scenarioName)
	for i := range likely.Orgs {
		l := &likely.Orgs[i]
		if !slices.Contains(d.orgs, l.Name) {
			continue
		}
		o := flotilla.Org{Name: l.Name}
		if d.profile != nil {
			o = taught(d.profile, l.Name, d.profile.Measured)
		}
		if o.PerMinute[pool].Requests == 0 {
			o.PerMinute = map[string]flotilla.Limits{pool: {Requests: float64(l.Limits.Requests), Input: float64(l.Limits.Input), Output: float64(l.Limits.Output)}}
		}
		if o.BatchQueue == 0 {
			o.BatchQueue, o.BatchRPM = l.BatchQueue, float64(l.BatchRPM)
		}
		j.Fleet.Orgs = append(j.Fleet.Orgs, o)
	}
	j.Fleet.Hedge = d.prefer == flotilla.Fast
	if d.profile != nil {
		j.Pace = paceOf(d.profile, s.work.class.Model)
	}
	return j
}

func paceOf(p *lab.Profile, model string) map[string]plan.Pace {
	q := p.PaceOf(model, p.Measured)
	if q == nil {
		return nil
	}
	first := time.Duration(q.First.Value * float64(time.Second))
	return map[string]plan.Pace{family: {First: first, FirstSD: q.FirstSD, PerSecond: q.PerSecond.Value}}
}

// routeOf is a route as the scheduler takes it, of a job that starts at the epoch.
func routeOf(r flotilla.Route) sched.Route {
	out := sched.Route{Batch: r.Batch, NoSync: r.NoSync}
	switch {
	case r.Patient:
		out.Target = sched.Never
	case !r.Target.IsZero():
		out.Target = r.Target.Sub(epoch)
	}
	return out
}
