package plan

import (
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// flight is one exchange seen from the client.
type flight struct {
	at      time.Duration // when its next event is due
	pos     int           // in the heap; -1: not there
	index   int           // in driver.flying
	x       *emulator.Exchange
	attempt sched.AttemptID
	call    sched.CallID
	lane    sched.LaneID
	worst   int64
	fate    fate
	first   bool // the event due is the first byte of a stream
	headed  bool // it was there
}

// fate is what becomes of a flight on the client's side.
type fate uint8

const (
	answered   fate = iota // the provider's exchange says
	aborted                // the scheduler had it cancelled
	broken                 // the network went away under it
	unsent                 // there was no network to send it over
	fateUnused             // of a flight that is not in use
)

func (d *driver) send(now time.Duration, m *emulator.Model, s *sched.Send) {
	c := d.calls(int(s.Call) - 1)
	if s.Try == 1 && !s.Hedge {
		d.queued--
	}
	f := d.newFlight()
	*f = flight{attempt: s.Attempt, call: s.Call, lane: s.Lane, worst: c.Sched.Worst, index: len(d.flying)}
	d.flying = append(d.flying, f)
	d.inFlight[s.Lane]++
	d.out.sent(now, s, len(d.flying), d.inFlight[s.Lane])
	if o := d.outage(now); o != nil {
		f.fate, f.at = unsent, now+o.Fails
		d.heap.push(f)
		return
	}
	a := c.Arrival
	a.Org, a.Stream = d.orgs[s.Lane], d.streamed
	if d.idle[a.Org] > 0 {
		d.idle[a.Org]--
		a.Reused = true
	}
	f.x = m.Arrive(now, a)
	f.first = d.streamed && f.x.Status == 200 && f.x.FirstByte < f.x.End
	f.at = f.x.End
	if f.first {
		f.at = f.x.FirstByte
	}
	d.heap.push(f)
}

func (d *driver) newFlight() *flight {
	if n := len(d.free); n > 0 {
		f := d.free[n-1]
		d.free = d.free[:n-1]
		return f
	}
	return &flight{}
}

// arrived is what a client sees at a flight's due time.
func (d *driver) arrived(now time.Duration, m *emulator.Model, f *flight) {
	if f.first {
		f.first, f.headed = false, true
		f.at = f.x.End
		d.heap.push(f)
		d.headers = sched.Headers{Attempt: f.attempt, Reading: readingOf(m, f.x, f.x.FirstByte)}
		d.step(now, m, &d.headers)
		return
	}
	ev := d.landed(now, m, f)
	d.remove(f)
	if f.x != nil {
		m.Release(f.x)
	}
	*f = flight{fate: fateUnused}
	d.free = append(d.free, f)
	d.step(now, m, ev)
}

// landed counts a flight that is over and gives the event of it.
func (d *driver) landed(now time.Duration, m *emulator.Model, f *flight) sched.Event {
	if f.x != nil {
		m.Finish(now, f.x)
		if f.fate == answered && keepsConnection(f.x) {
			d.idle[f.x.Org]++
		}
	}
	d.out.ended(now, f)
	return d.event(m, f)
}

// keepsConnection: after a whole answer or refusal the connection is idle; any
// fault takes it along.
func keepsConnection(x *emulator.Exchange) bool {
	return x.Status > 0 && x.Fault == emulator.NoFault
}

func (d *driver) remove(f *flight) {
	last := len(d.flying) - 1
	d.flying[last].index = f.index
	d.flying[f.index] = d.flying[last]
	d.flying[last] = nil
	d.flying = d.flying[:last]
	d.inFlight[f.lane]--
}

// abort cancels an exchange: the client sees its end at once.
func (d *driver) abort(now time.Duration, m *emulator.Model, id sched.AttemptID) {
	for _, f := range d.flying {
		if f.attempt == id && f.fate != aborted {
			d.end(now, now, m, f, aborted)
			return
		}
	}
}

// end breaks a flight off at now; the client sees it at the given instant.
func (d *driver) end(now, seen time.Duration, m *emulator.Model, f *flight, why fate) {
	if f.x != nil && now < f.x.End {
		m.Cancel(now, f.x)
	}
	d.heap.drop(f)
	f.fate, f.first, f.at = why, false, seen
	d.heap.push(f)
}
