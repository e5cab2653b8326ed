package plan

import (
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/price"
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

	Size  int64 // encoded bytes in a batch; 0: four a token of input, and 200
	Alone bool  // no batch may carry it
}

func (c *Call) size() int64 {
	if c.Size > 0 {
		return c.Size
	}
	return 4*int64(c.Sched.In) + 200
}

// batchWorst is the upper bound by batch.
func (c *Call) batchWorst() int64 { return int64(price.Nanos(c.Sched.Worst).ByBatch()) }

// driver runs one brain inside the model's time, as a Fleet does over HTTP.
type driver struct {
	brain    Brain
	core     *sched.Core  // the brain, where it is ours
	config   sched.Config // that it was made of
	coreMade func(*sched.Core)
	pool     map[string]int32
	orgs     []int // emulator org by lane
	calls    func(i int) Call
	n        int  // calls in all
	rows     rows // what is left of them
	queued   int  // offered and not sent, as a Fleet's look-ahead counts
	told     bool // that nothing more will be offered
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
	offer    []sched.Call
	settled  bitset

	batches   map[sched.BatchID]*batch
	nextBatch sched.BatchID
	said      []sched.Event // answers that are due within this turn
	away      []*errand     // by when they land
	errands   int
	seen      []int64 // others' rows in the queue, by org, when last looked
	doubted   bitset  // rows whose outcome a crash left unknown
	faults    []fault
	crashes   []Crash

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
	next := min(d.brain.Next(), d.nextOutage(), d.nextCrash())
	if len(d.heap) > 0 {
		next = min(next, d.heap[0].at)
	}
	if len(d.away) > 0 {
		next = min(next, d.away[0].at)
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
	d.crash(now, m)
	if !d.started { // it crashed, and is not back yet
		return
	}
	landed := false
	for len(d.heap) > 0 && d.heap[0].at <= now {
		landed = true
		d.arrived(now, m, d.heap.pop())
	}
	for len(d.away) > 0 && d.away[0].at <= now {
		landed = true
		e := d.away[0]
		d.away = d.away[1:]
		if ev := d.heard(now, e); ev != nil {
			d.step(now, m, ev)
		}
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
	if d.cfg.Route.Batch && d.rows.kinds == nil {
		d.rows.sort(d.poolOf, len(d.pool))
	}
	d.adopt(now, m)
	if d.n == 0 {
		d.told = true
		d.step(now, m, &sched.Exhausted{Stream: d.stream})
	}
}

func (d *driver) poolOf(c *Call) int32 { return d.pool[emulator.PoolOf(c.Arrival.Model)] }

// step feeds one event to the brain, carries out what it answers, and says how
// many actions that were. What an action is answered by at once goes in with
// the same turn.
func (d *driver) step(now time.Duration, m *emulator.Model, ev sched.Event) int {
	n := d.one(now, m, ev)
	for len(d.said) > 0 {
		next := d.said[0]
		d.said = d.said[1:]
		n += d.one(now, m, next)
		if _, ok := next.(*sched.Gathered); ok {
			d.rows.backlog(d.stream, func(b *sched.Backlog) { d.said = append(d.said, b) })
		}
	}
	return n
}

func (d *driver) one(now time.Duration, m *emulator.Model, ev sched.Event) int {
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
			d.mark(int(a.Call) - 1)
			d.out.settled(now, a)
		default:
			d.carryOut(now, m, a)
		}
	}
	return len(acts)
}

// mark notes that a row has ended.
func (d *driver) mark(i int) {
	if d.settled.has(i) {
		panic(fmt.Sprintf("plan: call %d settled twice", i+1))
	}
	d.settled.set(i)
}
