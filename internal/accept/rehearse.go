package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/plan"
	"github.com/flotilla-llm/flotilla/price"
)

// setting is what all arms share.
type setting struct {
	course  *course
	work    *work
	profile *lab.Profile
	real    realised // of the reference arm
}

// horizon is later than any arm ends.
const horizon = 96 * time.Hour

// allOrgs are those of the default scenario.
var allOrgs = []string{"high", "batch", "low"}

// oneOrg is what scripts have.
var oneOrg = []string{"high"}

// rehearse carries the rows on virtual time, in every way.
func (s *setting) rehearse(ctx context.Context, t *table) error {
	s.course.say("virtual time: the reference, sync alone")
	ref, o, err := s.dispatcher(ctx, &dispatch{id: "s", name: "dispatcher, --tier sync", tier: plan.SyncTier, orgs: allOrgs})
	if err != nil {
		return err
	}
	s.real = realisedIn(o)
	t.Work.InputTokens, t.Work.OutputTokens, t.Work.LatencyS = o.Input, o.Output, s.real.latency.Seconds()
	s.hold(ref, tiers{sync: true})
	a, err := s.script()
	if err != nil {
		return err
	}
	t.add(a)
	for _, d := range s.dispatches() {
		s.course.say("virtual time: (%s) %s", d.id, d.name)
		arm, o, err := s.dispatcher(ctx, d)
		if err != nil {
			return err
		}
		s.hold(arm, arm.open())
		t.add(arm)
		if d.then != nil {
			if err := d.then(ctx, s, t, arm, o); err != nil {
				return err
			}
		}
	}
	t.add(ref)
	return s.semaphores(ctx, t)
}

// hold puts an arm against its bounds.
func (s *setting) hold(a *arm, t tiers) {
	sc, err := world(a.Scenario)
	if err != nil {
		return // it ran in it
	}
	physical, polite := s.real.bounds(&sc, a.Orgs, t, a.Succeeded)
	a.against(physical, polite)
}

// script is arm (a).
func (s *setting) script() (*arm, error) {
	s.course.say("virtual time: (a) a script")
	a := &arm{ID: "a", Name: scriptName(), Scenario: scenarioName, Orgs: oneOrg, Route: plan.BatchName}
	sc, err := world(a.Scenario)
	if err != nil {
		return nil, err
	}
	o, st := s.carry(sc, plan.Setting{Brain: &script{}, Lanes: batchLanes(&sc, oneOrg, nil), Stream: sched.StreamConfig{Route: sched.Route{Batch: true}}})
	a.take(o, st)
	s.hold(a, tiers{batch: true})
	a.Told = append(a.Told, fmt.Sprintf("%s batches, one after the other, %.1f s each on average: %s × %.1f s = %s s",
		grouped(a.Batches), a.WallS/float64(a.Batches), grouped(a.Batches), a.WallS/float64(a.Batches), seconds(a.WallS)))
	return a, nil
}

// semaphores are arms (d), with the dispatcher by sync on the same org beside
// them.
func (s *setting) semaphores(ctx context.Context, t *table) error {
	for i, name := range []string{scenarioName, starterName} {
		s.course.say("virtual time: (d) a semaphore in %s", name)
		sc, err := world(name)
		if err != nil {
			return err
		}
		a := &arm{ID: fmt.Sprint("d", i+1), Name: semaphoreName(), Scenario: name, Orgs: oneOrg, Route: plan.SyncName}
		o, st := s.carry(sc, plan.Setting{Brain: newSemaphore(), Lanes: syncLanes(&sc, oneOrg, nil)})
		a.take(o, st)
		s.hold(a, tiers{sync: true})
		t.add(a)
		beside, _, err := s.dispatcher(ctx, &dispatch{id: fmt.Sprint("s", i+1), name: "dispatcher, --tier sync, the same org", tier: plan.SyncTier, orgs: oneOrg, scenario: name})
		if err != nil {
			return err
		}
		s.hold(beside, tiers{sync: true})
		t.add(beside)
	}
	return nil
}

// carry rehearses the work by a setting, which lacks the work itself.
func (s *setting) carry(sc emulator.Scenario, set plan.Setting) (*plan.Outcome, emulator.Stats) {
	set.N, set.Calls, set.Stream.N = s.work.n, s.work.call, int64(s.work.n)
	m := emulator.NewModel(sc, seed, epoch)
	o := plan.Rehearse(m, horizon, set)[0]
	return o, m.Stats(horizon)
}

// take fills in how a rehearsal went. A row that its client gave up is lost, and
// so is one that the provider never answered.
func (a *arm) take(o *plan.Outcome, st emulator.Stats) {
	a.Over, a.Rows, a.WallS = overVirtual, o.N, o.Makespan().Seconds()
	a.USD, a.Succeeded, a.Hedges, a.Adopted = price.Nanos(o.Cost), o.Succeeded, o.Hedges, o.Adopted
	a.bill(st, flotilla.DefaultConc(family))
	a.Refused += o.BatchRefused
	if a.spent() { // what its money did not pay for is left to a run with more of it
		a.Pending = o.Outcomes[sched.OverBudget] + o.N - o.Settled
	}
	a.Lost = max(a.Rows-a.Pending-a.Succeeded, 0)
	if a.Pending == 0 {
		a.Lost = max(a.Lost, a.Rows-int(st.Succeeded)) // whole answers, by the provider's count
	}
	a.Doubled = max(0, o.SyncRows+o.BatchRows-a.Rows)
	a.SyncRows, a.BatchRows = o.SyncRows, o.BatchRows
}
