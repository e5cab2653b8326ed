package plan

import (
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Brain decides what goes out when: the scheduler of real runs, or a controller
// to compare it with. It keeps the contract of internal/sched: ids of lanes and
// streams are given in the order of opening, attempt ids rise by one, and each
// call offered settles exactly once.
type Brain interface {
	// Step takes in what happened at now and returns what to do about it,
	// valid until the next Step.
	Step(now time.Duration, ev sched.Event) []sched.Action
	// Next is when Step wants a Tick at the latest; sched.Never: only after an
	// event. It may be due already only if the Tick will bring an action.
	Next() time.Duration
}

// Call is one request of a rehearsal: what the scheduler is told of it and what
// the provider will see.
type Call struct {
	Sched   sched.Call       // ID, Stream and Pool are filled in
	Arrival emulator.Arrival // Org, Stream and Reused are filled in by how it is sent
}

// driver runs one brain inside the model's time, as a Fleet does over HTTP.
type driver struct {
	brain    Brain
	core     *sched.Core // the brain, where it is ours
	pool     map[string]int32
	orgs     []int // emulator org by lane
	calls    func(i int) Call
	n        int // calls in all
	offered  int
	queued   int // offered and not sent, as a Fleet's look-ahead counts
	begin    time.Duration
	started  bool
	closed   bool
	stream   sched.StreamID
	lanes    []sched.LaneConfig
	cfg      sched.StreamConfig
	streamed bool // answers are taken as streams
	outages  []Outage
	begun    int // outages that have begun
	barren   int // turns in a row in which the brain woke and did nothing

	idle     []int // open connections without a request, by org
	inFlight []int // by lane
	flying   []*flight
	free     []*flight
	heap     flights
	batch    []sched.Call
	settled  []uint64 // bit set by call

	tick    sched.Tick
	headers sched.Headers
	done    sched.Done
	refused sched.Refused
	failed  sched.Failed

	observe func(now time.Duration, ev sched.Event, acts []sched.Action)
	out     *Outcome
}

// Next implements emulator.Client.
func (d *driver) Next() time.Duration {
	switch {
	case d.closed:
		return emulator.Never
	case !d.started:
		return d.begin
	}
	next := min(d.brain.Next(), d.nextOutage())
	if len(d.heap) > 0 {
		next = min(next, d.heap[0].at)
	}
	return next
}

// Act implements emulator.Client: it does what a turn of a Fleet's loop does.
func (d *driver) Act(now time.Duration, m *emulator.Model) {
	if !d.started {
		d.started = true
		d.open(now, m)
	}
	d.breakOff(now, m)
	landed := false
	for len(d.heap) > 0 && d.heap[0].at <= now {
		landed = true
		d.arrived(now, m, d.heap.pop())
	}
	if d.brain.Next() <= now {
		d.wake(now, m, landed)
	}
	d.fill(now, m)
}

// wake sends a Tick that is due, and finds a brain that would be woken for ever.
func (d *driver) wake(now time.Duration, m *emulator.Model, landed bool) {
	if d.step(now, m, &d.tick) > 0 || landed || d.brain.Next() > now {
		d.barren = 0
		return
	}
	if d.barren++; d.barren > maxBarren {
		panic(fmt.Sprintf("plan: the brain asks at %v to be woken at %v, and does nothing then", now, d.brain.Next()))
	}
}

// maxBarren turns in a row without effect are a busy loop.
const maxBarren = 100

func (d *driver) open(now time.Duration, m *emulator.Model) {
	for i := range d.lanes {
		d.step(now, m, &sched.AddLane{Lane: d.lanes[i]})
	}
	d.step(now, m, &sched.AddStream{Stream: d.cfg})
	if d.n == 0 {
		d.step(now, m, &sched.Exhausted{Stream: d.stream})
	}
}

// fill offers calls as a Fleet does: up to the look-ahead whenever less than
// half of it is left.
func (d *driver) fill(now time.Duration, m *emulator.Model) {
	for d.queued < LookAhead/2 && d.offered < d.n {
		take := min(LookAhead-d.queued, d.n-d.offered)
		d.batch = d.batch[:0]
		for i := range take {
			d.batch = append(d.batch, d.call(d.offered+i))
		}
		d.offered += take
		d.queued += take
		d.step(now, m, &sched.Offer{Calls: d.batch})
		if d.offered == d.n {
			d.step(now, m, &sched.Exhausted{Stream: d.stream})
		}
	}
}

// call is what the scheduler is told of call i, from 0.
func (d *driver) call(i int) sched.Call {
	c := d.calls(i)
	s := c.Sched
	s.ID, s.Stream = sched.CallID(i+1), d.stream
	s.Pool = d.pool[emulator.PoolOf(c.Arrival.Model)]
	return s
}

// step feeds one event to the brain, carries out what it answers, and says how
// many actions that were.
func (d *driver) step(now time.Duration, m *emulator.Model, ev sched.Event) int {
	acts := d.brain.Step(now, ev)
	if d.observe != nil {
		d.observe(now, ev, acts)
	}
	for _, act := range acts {
		switch a := act.(type) {
		case *sched.Send:
			d.send(now, m, a)
		case *sched.Abort:
			d.abort(now, m, a.Attempt)
		case *sched.Settle:
			d.settle(now, a)
		}
	}
	return len(acts)
}

func (d *driver) settle(now time.Duration, s *sched.Settle) {
	word, bit := (s.Call-1)/64, uint64(1)<<((s.Call-1)%64)
	if d.settled[word]&bit != 0 {
		panic(fmt.Sprintf("plan: call %d settled twice", s.Call))
	}
	d.settled[word] |= bit
	d.out.settled(now, s)
}
