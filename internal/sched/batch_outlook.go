package sched

import (
	"math"
	"time"
)

// outlook is what a stream's two tiers will do, as far as can be told now:
// worked out at each look at the batches, and so of one instant.
type outlook struct {
	sync  float64       // rows a second that sync could carry
	batch float64       // rows a second that batches get answered
	due   time.Duration // by when all is to have ended; Never: no such time
	meet  time.Duration // hybrid: when the rest will be done, both at work; Never: sync takes no part
	slack float64       // seconds that sync needs beside its rate: ramp, slow answers

	timed    bool // there is a time by when all is to have ended, and it has not passed
	pays     bool // the stream's caps pay all that is left by sync; else they leave some to batches
	risky    bool // batches alone may not be through by then
	rescuing bool
	affords  int64 // calls that its caps let it offer in all
}

// planBatches works out the outlook of each stream that batches, and ends what
// should go by sync instead.
func (c *Core) planBatches() {
	for _, s := range c.streams {
		if s.Route.Batch && s.bat != nil && !s.closed {
			c.look(s)
		}
	}
}

func (c *Core) look(s *stream) {
	o := &s.bat.plan
	o.sync, o.slack = c.syncRate(s)
	o.batch = c.batchRate(s)
	o.due = s.dueBy()
	o.meet = Never
	o.timed = c.now < o.due && o.due < Never
	o.risky = o.timed && c.tried(s) && float64(s.backlog()) > o.batch*secsTo(c.now, o.due)/2
	c.setAffords(s)
	o.pays = s.offered+s.backlog() <= o.affords
	switch {
	case s.Route.NoSync:
		o.rescuing = false
		return
	case s.Route.Target == 0:
		o.rescuing = false
	case o.timed || o.due == Never:
		c.rescue(s)
	default:
		o.rescuing = true // it is late as it is: as soon as possible
	}
	if o.pays {
		c.giveUp(s)
	}
}

// tried says whether anything is known of how the stream's batches proceed.
func (c *Core) tried(s *stream) bool {
	for _, q := range c.bat.queues {
		if q.serves(s, c.now) && (q.rates.n >= knownRates || q.stall.on) {
			return true
		}
	}
	return false
}

// giveUp ends the batches whose rows sync should take instead.
func (c *Core) giveUp(s *stream) {
	o := &s.bat.plan
	if s.Route.Target == 0 || !o.timed && o.due < Never {
		c.meet(s)
	}
	c.rescueBatches(s)
}

// dueBy is by when a stream's rows are to have ended.
func (s *stream) dueBy() time.Duration {
	due := Never
	if t := s.Route.Target; t > 0 {
		due = t
	}
	if s.Deadline > 0 {
		due = min(due, s.Deadline)
	}
	if due == Never {
		return Never
	}
	return due - dueMargin
}

// dueMargin is kept before a deadline for what nobody foresaw.
const dueMargin = 45 * time.Second

// syncRate is how many of a stream's rows a second its sync lanes could carry
// with their windows open, and how many seconds more that takes: a ramp that is
// not over, and the slowest answer.
func (c *Core) syncRate(s *stream) (rate, slack float64) {
	tail := 0.0
	for _, p := range s.bat.piles {
		rivals := 1.0
		for _, q := range p.pool.queues {
			if q.stream != s && q.n > 0 && q.stream.Priority >= s.Priority && q.stream.sendable(c.now) {
				rivals++
			}
		}
		out := s.expectOut(&item{out: int32(p.Out), maxOut: int32(p.MaxOut)})
		for _, l := range p.pool.lanes {
			if on, _, _, reopens := l.closed(); on && reopens > c.now || l.paused {
				continue
			}
			x, lat := l.could(p.In, out)
			rate += x / rivals
			tail = max(tail, lat)
			if l.ramp.g < float64(l.group.cap) || !l.sentAny || c.now-l.lastSend > idle/2 {
				slack = max(slack, c.rampLoss())
			}
		}
	}
	return rate, slack + tail
}

// rampLoss is how many seconds of full rate a ramp costs (facts/control.md B.5):
// doubled from its start every step.
func (c *Core) rampLoss() float64 {
	if c.cfg.Ramp == RampOff {
		return 0
	}
	loss := 0.0
	for g := c.cfg.start; g < 1; g *= 2 {
		loss += 1 - g
	}
	return loss * secs(c.cfg.step)
}

// could is the rows a second of a lane whose window is open, and how long its
// slowest answer takes.
func (l *lane) could(in, out float64) (rate, slowest float64) {
	if l.lat.out.n > 0 {
		out = l.lat.out.v
	}
	if l.meanIn.n > 0 {
		in = l.meanIn.v
	}
	lat := l.lat.mean.v
	if lat <= 0 {
		lat = nominal(out) + in/40_000 // as facts/control.md D has it
	}
	rate = min(float64(l.group.cap), l.aimd.w) / lat
	for d, use := range [NumDims]float64{1, in, out, in + out} {
		if b := &l.b[d]; b.r > 0 && use > 0 && (Dim(d) != Tokens || b.binds) {
			rate = min(rate, min(b.g, 1)*b.r/use)
		}
	}
	slowest = 4 * lat
	if l.lat.norm.n >= hedgeKnown {
		slowest = max(slowest, l.lat.norm.quantile(0.99)*nominal(out))
	}
	return rate * l.brake.m, slowest
}

// batchRate is how many of a stream's rows a second are answered by batch, as
// its orgs stand: what is outstanding over the time it takes.
func (c *Core) batchRate(s *stream) float64 {
	rate := 0.0
	for _, q := range c.bat.queues {
		if !q.serves(s, c.now) || q.stall.on {
			continue
		}
		x := c.flow(q)
		if q.n == 0 {
			rows := q.rowsFor(c)
			p50, _ := q.expect(rows)
			x = max(q.win, 1) * float64(rows) / p50
		}
		if !q.known() {
			x /= 2 // nothing has ended yet to show it
		}
		rate += x
	}
	return rate
}

// flow is the rows a second at which what is outstanding in a queue is
// answered: each batch over the time that its like takes, or that it took so
// far, for one that is late says that all may be.
func (c *Core) flow(q *batchQueue) float64 {
	x := 0.0
	for _, b := range c.bat.live {
		if b.lane.org != q.org || !b.queued || b.canceling || b.doomed {
			continue
		}
		p50, _ := q.expect(b.rows)
		if b.step >= batchPlaced {
			p50 = max(p50, secs(c.now-max(b.created, b.watched)))
		}
		x += float64(b.rows) / p50
	}
	return x
}

// serves says whether the queue has a lane for what a stream has left.
func (q *batchQueue) serves(s *stream, now time.Duration) bool {
	for _, l := range q.lanes {
		if c := l.parked(); c != nil && c.probe > now || l.paused || s.denies(l) {
			continue
		}
		if s.pile(l.pool) != nil {
			return true
		}
	}
	return false
}

// secsTo is how many seconds off a time is; Never is infinitely far.
func secsTo(now, at time.Duration) float64 {
	if at == Never {
		return math.Inf(1)
	}
	return secs(at - now)
}
