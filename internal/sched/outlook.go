package sched

import (
	"math"
	"slices"
	"time"
)

// Outlook is when a call that waits in a pool could go, as far as the core can
// tell.
type Outlook struct {
	At         time.Duration // not before; Never: not before a person acts
	Closed     bool          // every lane that takes its model is closed
	Class      Class         // why the one that reopens first is, when Closed
	Overloaded bool          // every lane that is not closed is braked by overload or failures
	Paused     bool          // every lane is held by a person
	Money      bool          // a ledger holds the head of the stream's queue there
}

// Outlook tells how a call of a stream stands in a pool, one that is queued
// there: the gates that hold it, and what is queued ahead of it at the rate at
// which the lanes' windows turn over.
func (c *Core) Outlook(id StreamID, pool, model int32) Outlook {
	s := c.stream(id)
	if s == nil || pool < 0 || int(pool) >= len(c.pools) {
		return Outlook{At: Never}
	}
	p := c.pools[pool]
	o := Outlook{At: Never, Closed: true, Overloaded: true, Paused: true}
	o.Money = slices.ContainsFunc(p.queues, func(q *queue) bool { return q.stream == s && q.n > 0 && q.wait == LimitBudget })
	rate, some := 0.0, false
	for _, l := range p.lanes {
		if l.denies(uint16(model)) {
			continue
		}
		some = true
		o.Paused = o.Paused && l.paused
		if on, class, _, reopens := l.closed(); on {
			if o.Closed && (reopens < o.At || o.Class == Invalid) {
				o.At, o.Class = reopens, class
			}
			continue
		}
		if o.Closed {
			o.Closed, o.At = false, Never
		}
		o.Overloaded = o.Overloaded && l.braked(c.now)
		o.At = min(o.At, l.frees(c.now))
		rate += l.turnover()
	}
	if !some { // it settles unroutable
		return Outlook{At: c.now}
	}
	if o.Closed {
		o.Overloaded = false
		return o
	}
	if p.wake < Never {
		o.At = min(o.At, p.wake)
	}
	if rate > 0 {
		o.At = max(o.At, after(c.now, span(p.ahead(s)/rate)))
	}
	return o
}

// braked says that the lane is held back by overload or failures.
func (l *lane) braked(now time.Duration) bool {
	return l.brake.m < 1 || now < l.hold && l.holdWhy == LimitOverload
}

// frees is about when the lane may take another call: when its own gate opens,
// or where only an answer can help, when the next is due.
func (l *lane) frees(now time.Duration) time.Duration {
	switch {
	case l.paused:
		return Never
	case !l.open && l.opens > now && l.opens < Never:
		return l.opens
	case l.n > 0 && l.lat.mean.n > 0:
		return after(now, span(l.lat.mean.v/float64(l.n)))
	}
	return now
}

// turnover is how many calls a second the lane takes about: what its window
// turns over, and what its limits refill.
func (l *lane) turnover() float64 {
	if l.paused || l.lat.mean.n == 0 || l.lat.mean.v <= 0 {
		return 0
	}
	rate := math.Max(l.win, 1) / l.lat.mean.v
	if r := l.b[Requests].r; r > 0 {
		rate = min(rate, r)
	}
	if r := l.b[Input].r; r > 0 && l.meanIn.v > 0 {
		rate = min(rate, r/l.meanIn.v)
	}
	return rate * min(1, max(l.brake.m, 0.01))
}

// ahead counts what is queued in the pool at the stream's priority or above.
func (p *pool) ahead(s *stream) float64 {
	n := 0
	for _, q := range p.queues {
		if q.stream.Priority >= s.Priority {
			n += q.n
		}
	}
	return float64(n)
}

// HeldByMoney says whether a ledger holds the next call of a stream in some
// pool: a cheap look for drivers that ask after every Step.
func (c *Core) HeldByMoney(id StreamID) bool {
	s := c.stream(id)
	if s == nil {
		return false
	}
	for _, q := range s.queues {
		if q.n > 0 && q.wait == LimitBudget {
			return true
		}
	}
	return false
}

// Judged counts how a lane's RateLimited refusals were judged so far: from one
// Step to the next it tells how the one refusal of that Step was.
func (c *Core) Judged(id LaneID) (steady, hidden, accel, daily int64) {
	l := c.lanes[id]
	return l.steady, l.hidden, l.accelSilent, l.refused[Daily]
}
