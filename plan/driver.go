package plan

import (
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Brain decides what goes out when: *sched.Core, or a controller to compare it with.
type Brain interface {
	// Step takes in what happened at now and returns what to do about it,
	// valid until the next Step.
	Step(now time.Duration, ev sched.Event) []sched.Action
	// Next is when Step wants a Tick at the latest; sched.Never: only after an event.
	Next() time.Duration
}

// Call is one request of a rehearsal: what the scheduler is told of it and what
// the provider will see.
type Call struct {
	Sched   sched.Call
	Arrival emulator.Arrival // Org is set by the lane it goes out on
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
	stream   sched.StreamID
	lanes    []sched.LaneConfig
	cfg      sched.StreamConfig
	streamed bool // answers are taken as streams

	idle   []int // open connections without a request, by org
	flying []*flight
	free   []*flight
	heap   flights
	seq    uint64
	batch  []sched.Call

	tick    sched.Tick
	headers sched.Headers
	done    sched.Done
	refused sched.Refused
	failed  sched.Failed

	observe func(now time.Duration, ev sched.Event, acts []sched.Action)
	out     *Outcome
}

// flight is one exchange seen from the client.
type flight struct {
	at      time.Duration // when its next event is due
	index   int           // in driver.flying
	seq     uint64
	x       *emulator.Exchange
	attempt sched.AttemptID
	lane    sched.LaneID
	worst   int64
	first   bool // the event due is the first byte of a stream
	aborted bool
}

// Next implements emulator.Client.
func (d *driver) Next() time.Duration {
	if !d.started {
		return d.begin
	}
	next := d.brain.Next()
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
	for len(d.heap) > 0 && d.heap[0].at <= now {
		d.arrived(now, m, d.heap.pop())
	}
	if d.brain.Next() <= now {
		d.step(now, m, &d.tick)
	}
	d.fill(now, m)
}

func (d *driver) open(now time.Duration, m *emulator.Model) {
	for i := range d.lanes {
		d.step(now, m, &sched.AddLane{Lane: d.lanes[i]})
	}
	d.step(now, m, &sched.AddStream{Stream: d.cfg})
}

// fill offers calls as a Fleet does: up to the look-ahead whenever less than
// half of it is left.
func (d *driver) fill(now time.Duration, m *emulator.Model) {
	for d.queued < LookAhead/2 && d.offered < d.n {
		take := min(LookAhead-d.queued, d.n-d.offered)
		d.batch = d.batch[:0]
		for i := range take {
			call := d.calls(d.offered + i)
			c := call.Sched
			c.ID, c.Stream = sched.CallID(d.offered+i+1), d.stream
			c.Pool = d.pool[emulator.PoolOf(call.Arrival.Model)]
			d.batch = append(d.batch, c)
		}
		d.offered += take
		d.queued += take
		d.step(now, m, &sched.Offer{Calls: d.batch})
		if d.offered == d.n {
			d.step(now, m, &sched.Exhausted{Stream: d.stream})
		}
	}
}

func (d *driver) step(now time.Duration, m *emulator.Model, ev sched.Event) {
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
}

func (d *driver) send(now time.Duration, m *emulator.Model, s *sched.Send) {
	c := d.calls(int(s.Call) - 1)
	a := c.Arrival
	a.Org, a.Stream = d.orgs[s.Lane], d.streamed
	if d.idle[a.Org] > 0 {
		d.idle[a.Org]--
		a.Reused = true
	}
	if s.Try == 1 && !s.Hedge {
		d.queued--
	}
	f := d.newFlight()
	*f = flight{x: m.Arrive(now, a), attempt: s.Attempt, lane: s.Lane, worst: c.Sched.Worst}
	f.first = d.streamed && f.x.Status == 200 && f.x.FirstByte < f.x.End
	f.at = f.x.End
	if f.first {
		f.at = f.x.FirstByte
	}
	f.index = len(d.flying)
	d.flying = append(d.flying, f)
	d.push(f)
	d.out.sent(now, s, len(d.flying))
}

func (d *driver) newFlight() *flight {
	if n := len(d.free); n > 0 {
		f := d.free[n-1]
		d.free = d.free[:n-1]
		return f
	}
	return &flight{}
}

func (d *driver) push(f *flight) {
	d.seq++
	f.seq = d.seq
	d.heap.push(f)
}

// arrived is what a client sees at a flight's due time.
func (d *driver) arrived(now time.Duration, m *emulator.Model, f *flight) {
	if f.first {
		f.first = false
		f.at = f.x.End
		d.push(f)
		d.headers = sched.Headers{Attempt: f.attempt, Reading: readingOf(m, f.x, f.x.FirstByte)}
		d.step(now, m, &d.headers)
		return
	}
	x := f.x
	m.Finish(now, x)
	ev := d.event(m, f)
	if x.Status == 200 && x.Fault == emulator.NoFault || x.Status > 200 {
		d.idle[x.Org]++
	}
	d.remove(f)
	d.out.ended(now, x)
	m.Release(x)
	d.free = append(d.free, f)
	d.step(now, m, ev)
}

// event is how a Fleet would report the end of a flight.
func (d *driver) event(m *emulator.Model, f *flight) sched.Event {
	x := f.x
	switch {
	case f.aborted:
		d.failed = sched.Failed{Attempt: f.attempt, Failure: sched.Aborted}
		return &d.failed
	case x.Class != emulator.Admitted:
		d.refused = sched.Refused{Attempt: f.attempt, Reading: readingOf(m, x, x.End), Refusal: refusalOf(x)}
		return &d.refused
	case x.Fault == emulator.StreamError:
		d.refused = sched.Refused{Attempt: f.attempt, Reading: readingOf(m, x, x.FirstByte), Cost: f.worst, Refusal: sched.Refusal{Class: sched.Overloaded}}
		return &d.refused
	case x.Fault != emulator.NoFault:
		d.failed = sched.Failed{Attempt: f.attempt, Failure: failureOf(x)}
		return &d.failed
	}
	at := x.End
	if d.streamed {
		at = x.FirstByte
	}
	d.done = sched.Done{Attempt: f.attempt, Cost: x.Cost(), Reading: readingOf(m, x, at), Usage: sched.Usage{
		Input: x.Usage.Input, CacheWrite: x.Usage.CacheWrite5m + x.Usage.CacheWrite1h, CacheRead: x.Usage.CacheRead, Output: x.Usage.Output,
	}}
	return &d.done
}

func (d *driver) remove(f *flight) {
	last := len(d.flying) - 1
	d.flying[last].index = f.index
	d.flying[f.index] = d.flying[last]
	d.flying = d.flying[:last]
}

// abort cancels an exchange: the client sees its end at once.
func (d *driver) abort(now time.Duration, m *emulator.Model, id sched.AttemptID) {
	for _, f := range d.flying {
		if f.attempt != id || f.aborted {
			continue
		}
		if now < f.x.End {
			m.Cancel(now, f.x)
		}
		f.aborted, f.first = true, false
		d.heap.drop(f)
		f.at = now
		d.push(f)
		return
	}
}

func (d *driver) settle(now time.Duration, s *sched.Settle) {
	d.out.settled(now, s)
}
