package plan

import (
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// LookAhead is how many calls a rehearsal keeps offered and unsent, as a Fleet does.
const LookAhead = 4096

// Setting is one job of a rehearsal: who schedules it, over which lanes, from when.
type Setting struct {
	// Core shapes the scheduler; its Epoch is set to the model's start. Not
	// used where Brain is given.
	Core  sched.Config
	Brain Brain

	Lanes    []sched.LaneConfig // Org names an org of the scenario
	Stream   sched.StreamConfig
	N        int
	Calls    func(i int) Call // call i, from 0; asked more than once, and always answered alike
	Begin    time.Duration    // when the job starts
	Streamed bool             // answers come as streams: limit headers with the first byte
	Outages  []Outage         // spans without network

	BatchFaults []BatchFault // what goes wrong with calls to the batch endpoints
	Crashes     []Crash      // when the process dies and another goes on

	Observe   func(now time.Duration, ev sched.Event, acts []sched.Action) // nil: nobody looks; ev and acts are reused afterwards
	Made      func(core *sched.Core)                                       // is given each core as it is made, to look at; nil: nobody
	KeepSends bool                                                         // keep every send in the Outcome

	KeepBatches bool // keep every batch in the Outcome
}

// Rehearse carries jobs to their ends against a model on virtual time and says
// how each went, in the order of the settings. Jobs that have not ended at
// limit, on the model's time line, are left there with Stalled set: what they
// have in flight goes on in the model, and a later Rehearse on the same model
// begins where this one stopped (Begin must not be earlier).
//
// Equal models, limits and settings give equal outcomes. It panics where a
// setting names an org that the scenario lacks, and where a Brain breaks its
// contract by settling a call twice or by asking to be woken for nothing.
func Rehearse(m *emulator.Model, limit time.Duration, settings ...Setting) []*Outcome {
	drivers := make([]*driver, len(settings))
	outs := make([]*Outcome, len(settings))
	for i := range settings {
		drivers[i] = newDriver(m, &settings[i])
		outs[i] = drivers[i].out
		m.Join(drivers[i])
	}
	for !allOver(drivers) {
		next := m.NextInternal()
		if next > limit {
			break
		}
		m.Advance(next)
	}
	for _, d := range drivers {
		d.close()
	}
	return outs
}

func allOver(drivers []*driver) bool {
	for _, d := range drivers {
		if !d.over() {
			return false
		}
	}
	return true
}

func newDriver(m *emulator.Model, s *Setting) *driver {
	d := &driver{
		brain: s.Brain, lanes: s.Lanes, cfg: s.Stream, calls: s.Calls, n: s.N, begin: s.Begin,
		streamed: s.Streamed, observe: s.Observe, outages: slices.Clone(s.Outages),
		idle: make([]int, len(m.Scenario().Orgs)), inFlight: make([]int, len(s.Lanes)),
		rows: newRows(s.N, s.Calls), settled: newBitset(s.N), crashes: slices.Clone(s.Crashes),
		batches: map[sched.BatchID]*batch{}, seen: make([]int64, len(m.Scenario().Orgs)),
		config: s.Core, coreMade: s.Made, doubted: newBitset(s.N), nextBatch: 1,
	}
	d.config.Ledgers = slices.Clone(s.Core.Ledgers)
	for _, f := range s.BatchFaults {
		d.faults = append(d.faults, fault{BatchFault: f})
	}
	slices.SortFunc(d.outages, func(a, b Outage) int { return int(a.From - b.From) })
	d.out = &Outcome{
		Began: s.Begin, keep: s.KeepSends, keepBatches: s.KeepBatches, N: s.N,
		PeakByLane: make([]int, len(s.Lanes)), PeakQueued: make([]int64, len(m.Scenario().Orgs)),
	}
	if d.brain == nil {
		d.newCore(m)
	}
	d.pool = d.pools()
	for _, l := range s.Lanes {
		org, ok := m.OrgIndex(l.Org)
		if !ok {
			panic("plan: no org " + l.Org + " in the scenario")
		}
		d.orgs = append(d.orgs, org)
	}
	return d
}

func (d *driver) newCore(m *emulator.Model) {
	cfg := d.config
	cfg.Epoch = m.Start()
	core := sched.New(cfg)
	d.core, d.brain = core, core
	if d.coreMade != nil {
		d.coreMade(core)
	}
}

// pools interns the lanes' pools where the brain is a core; other brains serve
// one pool.
func (d *driver) pools() map[string]int32 {
	ids := map[string]int32{}
	for _, l := range d.lanes {
		if d.core != nil {
			ids[l.Pool] = d.core.Pool(l.Pool)
		} else {
			ids[l.Pool] = 0
		}
	}
	return ids
}

// over reports whether every call has settled and nothing is in flight.
func (d *driver) over() bool {
	return d.started && d.out.Settled == d.n && len(d.flying) == 0
}

// close ends a rehearsal: a driver that has not ended wants nothing any more.
func (d *driver) close() {
	d.closed = true
	d.out.Stalled = d.out.Settled < d.n
	if d.core != nil {
		d.out.Lanes = append([]sched.LaneView(nil), d.core.Lanes()...)
	}
}
