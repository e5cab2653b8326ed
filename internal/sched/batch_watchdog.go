package sched

import "time"

// stall is an org whose batches do not proceed, or may not (facts/control.md
// B.12). It takes nothing but canaries until something ends.
type stall struct {
	on    bool
	since time.Duration
	asked BatchID       // cancelled to see how far it came; 0: none
	dead  bool          // it had come nowhere: canaries only
	next  time.Duration // when one may go
	gap   time.Duration
	fly   BatchID // that is out
}

// The watchdog's times (facts/control.md B.12), and how long it waits for a
// cancelled batch to end.
const (
	stallLeast   = 15 * time.Minute
	stallTimes   = 3.0
	canaryRows   = 20
	depthLeast   = 1000 // rows of ours that are no depth: it was something else
	canaryGap    = 15 * time.Minute
	canaryGapMax = 2 * time.Hour
	verdictWait  = 10 * time.Minute
)

// bound is the age above which a batch counts as stalled.
func (q *batchQueue) bound(rows int64) time.Duration {
	prior := secs(priorWait) + float64(rows)/priorRate
	if a := &q.arms[classOf(rows)]; a.took.n > 0 {
		return max(stallLeast, span(stallTimes*a.took.quantile(0.9)))
	}
	if q.rates.n > 0 && q.rate() < priorRate {
		prior = q.start() + float64(rows)/q.rate()
	}
	return max(stallLeast, span(stallTimes*prior))
}

// watchBatches finds batches that do not proceed, and decides what becomes of
// their org.
func (c *Core) watchBatches() {
	for _, b := range c.bat.live {
		if b.step != batchPlaced || b.stalled || b.canceling || b.stream.closed {
			continue
		}
		q := b.lane.org.batches
		if due := b.created + q.bound(b.rows); c.now < due {
			c.batchWake(due)
			continue
		}
		b.stalled = true
		c.struck(q, b)
	}
	for _, q := range c.bat.queues {
		if q.stall.on {
			c.tendStall(q)
		}
	}
}

// struck says that a batch is overdue.
func (c *Core) struck(q *batchQueue, b *batch) {
	c.out.note(Note{Kind: NoteStalled, Lane: b.lane.id, Value: float64(b.rows)})
	if b.id == q.stall.fly {
		q.stall.fly = 0
		b.doomed = true
		c.nextCanary(q)
		return
	}
	if q.stall.on {
		b.doomed = b.doomed || q.stall.dead
		return
	}
	q.stall = stall{on: true, since: c.now}
	if q.own > depthLeast {
		q.depth, q.struck = q.own, c.now
	}
}

// tendStall has the oldest overdue batch cancelled, whose rows tell how far it
// came, and goes over to canaries where there is none to ask or it does not end.
func (c *Core) tendStall(q *batchQueue) {
	s := &q.stall
	if s.dead {
		return
	}
	if s.asked == 0 {
		for _, b := range c.bat.live {
			if b.lane.org == q.org && b.stalled && b.sure && b.step == batchPlaced && !b.canceling && !b.stream.closed {
				s.asked, b.doomed = b.id, true
				break
			}
		}
	}
	wait := s.since + verdictWait
	if b := c.batchAt(s.asked); b == nil || c.now >= wait {
		c.deaden(q)
		return
	}
	c.batchWake(wait)
}

// deaden goes over to canaries: what is overdue is ended, its rows go elsewhere.
func (c *Core) deaden(q *batchQueue) {
	q.stall.dead, q.stall.next, q.stall.gap = true, c.now, 0
	q.win = max(1, q.win/2)
	for _, b := range c.bat.live {
		if b.lane.org == q.org && b.stalled {
			b.doomed = true
		}
	}
	c.bat.dirty = true
}

// verdict takes in how far a batch came that did not end by itself. The one
// that was asked after a stall decides: where it came nowhere the org is dead
// for now; where it proceeds, the others are left to it, at the pace it showed.
func (c *Core) verdict(b *batch, succeeded int64, took float64) {
	q := b.lane.org.batches
	if b.id != q.stall.asked || q.stall.dead {
		return
	}
	if succeeded <= 0 {
		c.deaden(q)
		return
	}
	c.clear(q, b.lane)
	q.slowed(float64(succeeded) / max(took-q.start(), 1))
}

// slowed forgets how batches proceeded before and takes them to proceed so
// fast from now on.
func (q *batchQueue) slowed(rate float64) {
	if rate > 0.5*q.rate() && q.rates.n > 0 {
		return // it was only late
	}
	q.rates.reset()
	q.odds.reset()
	for i := range q.arms {
		q.arms[i].took.reset()
	}
	q.rates.add(rate)
	q.win = max(q.win, startWindow)
}

// canaryGate says when a dead org may be asked by a few rows.
func (c *Core) canaryGate(q *batchQueue) (Limit, time.Duration) {
	s := &q.stall
	switch {
	case !s.dead || s.fly != 0:
		return LimitAIMD, Never
	case c.now < s.next:
		return LimitAIMD, s.next
	}
	return LimitNone, 0
}

// nextCanary puts the next one off.
func (c *Core) nextCanary(q *batchQueue) {
	s := &q.stall
	s.gap = min(max(canaryGap, 2*s.gap), canaryGapMax)
	s.next = c.now + s.gap
	c.bat.dirty = true
}

// canaryEnded: something proceeds again, if slowly.
func (c *Core) canaryEnded(b *batch, running float64) {
	q := b.lane.org.batches
	c.clear(q, b.lane)
	if rate := float64(b.rows) / running; rate < slowRate {
		q.slowed(rate)
	}
	c.bat.dirty = true
}

// slowRate is where a batch proceeds so slowly that its overhead is nothing
// beside it, in rows a second.
const slowRate = 0.25

// clear ends a stall.
func (c *Core) clear(q *batchQueue, l *lane) {
	q.stall = stall{}
	c.out.note(Note{Kind: NoteProceeds, Lane: l.id, Value: q.rate()})
}

// proceeded says that a batch ended by itself: its org is alive.
func (c *Core) proceeded(q *batchQueue, b *batch) {
	if q.stall.on && !b.stalled {
		c.clear(q, b.lane)
	}
	if q.depth > 0 && c.now-q.struck > depthClean {
		q.depth += q.depth / 10
		q.struck = c.now
	}
}

// depthClean is after how long without a stall a little more is put into a
// queue that once stalled.
const depthClean = 30 * time.Minute
