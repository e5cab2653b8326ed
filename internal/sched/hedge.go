package sched

import (
	"math"
	"time"
)

// Hedging (facts/control.md B.11): once nothing is left to send, an attempt
// that takes far longer than its like gets a second one beside it. The first
// to finish wins; the other is cancelled, and what it produced is billed. So
// it happens only where it moves the end of the run.
const (
	hedgeShare  = 0.01 // of a stream's calls, and of its dollars
	hedgeAtMost = 3    // calls, where that is more
	hedgeLate   = 1.3  // times the 95th percentile of its size
	hedgeGain   = 0.2  // of the mean latency must be won
	hedgeSilent = 10 * time.Second
	hedgeLook   = time.Second // between looks at an attempt that is late but has little to gain
	hedgeKnown  = 20          // answers that must be known of a lane
)

// hedge starts second attempts where the rules allow, and otherwise wakes the
// core when one may be due.
func (c *Core) hedge() {
	if !c.cfg.Hedge {
		return
	}
	for _, s := range c.streams {
		if s.exhausted && s.queued == 0 && s.flying > 0 && s.sendable(c.now) {
			if c.now < s.lookAt {
				c.wake = min(c.wake, s.lookAt)
				continue
			}
			for c.hedgeOne(s) {
			}
		}
	}
}

// hedgeOne hedges the most overdue attempt of a stream.
func (c *Core) hedgeOne(s *stream) bool {
	if !s.mayHedge() {
		return false
	}
	late, over := int32(-1), 0.0
	for i := range c.attempts {
		a := &c.attempts[i]
		if a.id == 0 || a.abort || c.calls[a.call].stream != s {
			continue
		}
		if k := &c.calls[a.call]; k.hedged || k.withdrawn || k.ended {
			continue
		}
		if x := c.overdue(a); x > over {
			late, over = int32(i), x
		}
	}
	if late < 0 {
		return false
	}
	if !c.hedgeAttempt(s, late) {
		s.lookAt = c.now + hedgeLook
		c.wake = min(c.wake, s.lookAt)
		return false
	}
	return true
}

// mayHedge is the share of calls and of dollars.
func (s *stream) mayHedge() bool {
	n := float64(s.hedges + 1)
	return n <= max(hedgeAtMost, hedgeShare*float64(s.offered)) &&
		n*s.cost.v <= max(hedgeShare*float64(s.spent), 0)
}

// overdue is how late an attempt is, above 1, or 0; for one that is not late
// it sees to it that the core wakes when it is.
func (c *Core) overdue(a *attempt) float64 {
	l := a.lane
	if l.lat.norm.n < hedgeKnown {
		return 0
	}
	limit := span(hedgeLate * l.lat.norm.quantile(0.95) * nominal(a.w.out))
	due := a.sent + limit
	if a.headed && l.gap.n >= hedgeKnown {
		due = min(due, a.seen+max(hedgeSilent, span(6*l.gap.v)))
	}
	if c.now < due {
		c.wake = min(c.wake, due)
		return 0
	}
	return 1 + secs(c.now-due)
}

func (c *Core) hedgeAttempt(s *stream, i int32) bool {
	a := &c.attempts[i]
	k := &c.calls[a.call]
	if _, lack := c.short(s, k.worst); lack > 0 {
		return false
	}
	w := s.weigh(&k.item)
	best, least := (*lane)(nil), math.Inf(1)
	for _, l := range k.q.pool.lanes {
		if l == a.lane && len(k.q.pool.lanes) > 1 || l.denies(w.model) || l.parked() != nil {
			continue
		}
		l.advance(c.now)
		if why, _ := c.laneGate(l); why != LimitNone {
			continue
		}
		if why, _ := c.itemGate(l, &w); why != LimitNone {
			continue
		}
		if x := l.expect(w.out); x < least {
			best, least = l, x
		}
	}
	if best == nil || a.lane.remains(c.now-a.sent, a.w.out)-least <= hedgeGain*a.lane.lat.mean.v {
		return false
	}
	k.hedged = true
	s.hedges++
	c.send(best, a.call, &w, true)
	return true
}

// expect is how long an answer of so many tokens takes on the lane, in
// seconds; unknown counts as usual.
func (l *lane) expect(out float64) float64 {
	if l.lat.norm.n < hedgeKnown {
		return nominal(out)
	}
	return l.lat.norm.quantile(0.5) * nominal(out)
}

// remains is how many seconds more an attempt will probably take that has taken
// so long: what those that took longer still took, or as long again.
func (l *lane) remains(elapsed time.Duration, out float64) float64 {
	t := secs(elapsed)
	if m, n := l.lat.norm.above(normalise(t, out)); n >= 3 {
		return m*nominal(out) - t
	}
	return t
}
