package sched

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// orgs is a world of equal lanes that counts what beginnings cost: a send to a
// lane where no answer to a call of the same beginning is there yet writes it.
type orgs struct {
	*world
	sent   map[AttemptID]Send
	known  map[place]bool
	writes map[place]int
	lanes  map[LaneID]int // sends
}

// place is a beginning on a lane.
type place struct {
	affinity uint32
	lane     LaneID
}

func newOrgs(t *testing.T, lanes int, rpm float64) *orgs {
	w := &orgs{
		world: newWorld(t, Config{Ramp: RampOff}), sent: map[AttemptID]Send{},
		known: map[place]bool{}, writes: map[place]int{}, lanes: map[LaneID]int{},
	}
	for i := range lanes {
		w.lane(LaneConfig{Org: fmt.Sprint("org", i), Pool: "p", Group: int32(i), Cap: 50}, rpm, 1e8, 1e8)
	}
	w.step(&AddStream{})
	w.record = func(ev Event, acts []Action) {
		if d, ok := ev.(*Done); ok {
			w.known[w.of(w.sent[d.Attempt])] = true
		}
		for _, a := range acts {
			if s, ok := a.(*Send); ok {
				w.sent[s.Attempt] = *s
				w.lanes[s.Lane]++
				if at := w.of(*s); at.affinity != 0 && !w.known[at] {
					w.writes[at]++
				}
			}
		}
	}
	return w
}

func (w *orgs) of(s Send) place { return place{w.calls[s.Call].Affinity, s.Lane} }

func (w *orgs) written() (n int) {
	for _, k := range w.writes {
		n += k
	}
	return n
}

func marked(affinity uint32) Call {
	return Call{In: 100, MaxOut: 50, Out: 20, Worst: 10, Affinity: affinity}
}

// One call goes ahead and the others wait for its answer, then all lanes take
// part, each with one call ahead of its others.
func TestAffinityOneAhead(t *testing.T) {
	w := newOrgs(t, 3, 600)
	w.offer(600, marked(7))
	w.run(900 * time.Millisecond)
	if w.sends != 1 || w.c.Stream(0).Queued != 599 {
		t.Errorf("%d sent before an answer has come, %d queued", w.sends, w.c.Stream(0).Queued)
	}
	w.run(Never)
	w.want(Succeeded, 600)
	if w.written() != 3 {
		t.Errorf("written %v", w.writes)
	}
	if least := min(w.lanes[0], w.lanes[1], w.lanes[2]); least < 100 {
		t.Errorf("sent by lane: %v", w.lanes)
	}
}

// A few calls are no reason to write their beginning twice; those of others go
// by them meanwhile.
func TestAffinityFewStayTogether(t *testing.T) {
	w := newOrgs(t, 3, 6000)
	for doc := range uint32(40) {
		w.offer(8, marked(doc+1))
	}
	w.run(Never)
	w.want(Succeeded, 320)
	if w.written() > 48 {
		t.Errorf("40 beginnings written %d times, by lane %v, in %v", w.written(), w.lanes, w.end)
	}
	if w.end > 5*time.Second {
		t.Errorf("it took %v", w.end)
	}
}

// Where lanes are as busy as they may be, caches hold up nothing: what waits for
// a lane goes to another before that one stands idle for long.
func TestAffinityCostsNoTime(t *testing.T) {
	took := func(affinity func(i int) uint32) time.Duration {
		w := newOrgs(t, 3, 600)
		for i := range 3000 {
			w.offer(1, marked(affinity(i)))
		}
		w.run(Never)
		w.want(Succeeded, 3000)
		return w.end
	}
	plain := took(func(int) uint32 { return 0 })
	for _, rows := range []int{4, 20, 300, 1000, 3000} {
		if kept := took(func(i int) uint32 { return uint32(1 + i/rows) }); kept > plain*105/100+3*time.Second {
			t.Errorf("documents of %d rows: %v, without marks %v", rows, kept, plain)
		}
	}
}

// The one ahead may be refused, fail, hang, or its lane be closed: the others go
// on without it.
func TestAffinityLeadLost(t *testing.T) {
	for name, c := range map[string]struct {
		refuse func(now time.Duration, s Send) *Refusal
		fail   func(now time.Duration, s Send) (Failure, bool)
		wait   time.Duration
		within time.Duration
	}{
		"refused": {within: time.Minute, refuse: func(_ time.Duration, s Send) *Refusal {
			if s.Attempt > 2 {
				return nil
			}
			return &Refusal{Class: RateLimited, RetryAfter: 2 * time.Second}
		}},
		"closed": {within: 10 * time.Second, refuse: func(_ time.Duration, s Send) *Refusal {
			if s.Lane == 0 {
				return &Refusal{Class: Credit}
			}
			return nil
		}},
		"broken": {within: 30 * time.Second, fail: func(_ time.Duration, s Send) (Failure, bool) { return Reset, s.Attempt <= 2 }},
		"hung":   {within: aheadFor + 10*time.Second + 90*time.Second, wait: 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := newOrgs(t, 2, 6000)
			w.refuse, w.fail = c.refuse, c.fail
			w.latency = func(s Send) time.Duration {
				if s.Attempt == 1 {
					return max(c.wait, time.Second)
				}
				return time.Second
			}
			w.offer(100, marked(1))
			w.run(c.within)
			w.want(Succeeded, 100)
		})
	}
}

// A beginning that was not used for five minutes is written anew, by one call.
func TestAffinityGrowsCold(t *testing.T) {
	w := newOrgs(t, 1, 6000)
	w.offer(10, marked(1))
	w.run(time.Minute)
	w.known = map[place]bool{}
	w.offer(1, marked(1))
	w.run(5 * time.Minute) // that one kept it
	sent := w.sends
	w.offer(10, marked(1))
	w.run(5*time.Minute + 500*time.Millisecond)
	if n := w.sends - sent; n != 10 {
		t.Errorf("%d of 10 sent at once while it is kept", n)
	}
	w.run(12 * time.Minute)
	sent = w.sends
	w.offer(10, marked(1))
	w.run(12*time.Minute + 500*time.Millisecond)
	if n := w.sends - sent; n != 1 {
		t.Errorf("%d of 10 sent at once when it is gone", n)
	}
	w.run(Never)
	w.want(Succeeded, 31)
}

// What is remembered is bounded, and what is beyond it goes as if it marked
// nothing.
func TestAffinityBounds(t *testing.T) {
	w := newOrgs(t, 2, 600_000)
	w.offer(maxAside+2000, marked(1))
	if n := w.c.beg.aside; n != maxAside {
		t.Errorf("%d set aside", n)
	}
	for i := range maxBeginnings + 1000 {
		w.offer(2, marked(uint32(i+2)))
	}
	w.run(Never)
	w.want(Succeeded, maxAside+2000+2*(maxBeginnings+1000))
	if n := len(w.c.beg.all); n > maxBeginnings {
		t.Errorf("%d beginnings", n)
	}
	if w.c.beg.aside != 0 || len(w.c.beg.out) != 0 {
		t.Errorf("%d aside and %d ahead at the end", w.c.beg.aside, len(w.c.beg.out))
	}
}

// What is set aside can be taken back, and ends with its stream.
func TestAffinityWithdraw(t *testing.T) {
	w := newOrgs(t, 1, 6000)
	w.offer(5, marked(1))
	w.step(&Withdraw{Call: 3})
	w.want(Canceled, 1)
	w.step(&CloseStream{Stream: 0})
	w.run(Never)
	w.want(Succeeded, 1)
	if v := w.c.Stream(0); v.Queued != 0 || v.InFlight != 0 || w.c.beg.aside != 0 {
		t.Errorf("%+v, %d set aside", v, w.c.beg.aside)
	}
}

// verifyBeginnings holds what is known of beginnings to the calls themselves.
func (w *trouble) verifyBeginnings(r *rapid.T) {
	c := w.c
	aside, leads := 0, 0
	for _, b := range c.beg.all {
		aside += len(b.aside)
		for _, slot := range b.aside {
			if k := &c.calls[slot]; k.state != callAside || c.begins(k) != b {
				r.Fatalf("at %v: call %d is set aside and %d", w.now, k.id, k.state)
			}
		}
		for i := range b.lanes {
			if id := b.lanes[i].ahead; id != 0 {
				leads++
				if _, a := c.att(id); a == nil || a.lane != b.lanes[i].lane {
					r.Fatalf("at %v: attempt %d is not ahead on lane %d", w.now, id, b.lanes[i].lane.id)
				}
			}
		}
		if len(b.aside) > 0 && b.front == 0 && !b.waits(c.now) {
			r.Fatalf("at %v: %d calls wait for nobody", w.now, len(b.aside))
		}
	}
	if aside != c.beg.aside || leads != len(c.beg.out) {
		r.Fatalf("at %v: %d aside, counted %d; %d ahead, counted %d", w.now, aside, c.beg.aside, leads, len(c.beg.out))
	}
}
