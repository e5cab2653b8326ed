package sched

import "time"

// stall is an org whose batches do not proceed, or may not (facts/control.md
// B.12). It takes nothing but canaries until something ends.
type stall struct {
	on    bool
	since time.Duration

	// Some of what is overdue is cancelled to see how far it came.
	asked     int // witnesses that have not been collected
	begun     bool
	succeeded float64 // their rows
	ran       float64 // in so many seconds

	dead bool          // they had come nowhere: canaries only
	next time.Duration // when one may go
	gap  time.Duration
	fly  BatchID // that is out
}

// The watchdog's times (facts/control.md B.12), and how long it waits for what
// it cancelled to end.
const (
	stallLeast   = 15 * time.Minute
	stallTimes   = 3.0
	canaryRows   = 20
	canaryGap    = 15 * time.Minute
	canaryGapMax = 2 * time.Hour
	verdictWait  = 10 * time.Minute
	depthLeast   = 1000 // rows of ours that are no depth: it was something else
)

// bound is the age above which a batch counts as stalled: no less than that of
// any that was made before it and has not ended, for it may wait for their
// places.
func (c *Core) bound(q *batchQueue, b *batch) time.Duration {
	most, weighed := q.bound(b.rows), b.rows
	for _, x := range c.bat.live {
		if x.id < b.id && x.rows > b.rows && x.rows != weighed && x.lane.org == q.org && x.queued {
			most, weighed = max(most, q.bound(x.rows)), x.rows // most are as large as the one before
		}
	}
	return most
}

// bound is that of batches of a size.
func (q *batchQueue) bound(rows int64) time.Duration {
	prior := secs(priorWait) + float64(rows)/priorRate
	if q.rates.n > 0 && q.rate() < priorRate {
		prior = max(prior, q.start()+float64(rows)/q.rate())
	} else if a := &q.arms[classOf(rows)]; a.took.n > 0 {
		prior = a.took.quantile(0.9)
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
		if due := max(b.created, b.watched) + c.bound(q, b); c.now < due {
			c.batchWake(due)
			continue
		}
		b.stalled = true
		c.struck(q, b)
	}
	for _, q := range c.bat.queues {
		if q.stall.on && !q.stall.dead {
			c.tendStall(q)
		}
	}
}

// struck says that a batch is overdue.
func (c *Core) struck(q *batchQueue, b *batch) {
	s := &q.stall
	switch {
	case b.id == s.fly:
		s.fly = 0
		b.doom(CancelStalled)
		c.nextCanary(q)
	case s.on:
		if s.dead {
			b.doom(CancelStalled)
		}
	default:
		c.out.note(Note{Kind: NoteStalled, Lane: b.lane.id, Value: float64(b.rows)})
		*s = stall{on: true, since: c.now}
		q.narrow()
		if q.own > depthLeast {
			q.depth, q.struckAt = q.own, c.now
		}
	}
}

// tendStall has the oldest cancelled of what is overdue or on the way to be,
// until half of the rows are left: their number may be what starves the rest,
// and how far they came tells how fast it goes. Where none can be cancelled, or
// they do not end, it goes over to canaries.
func (c *Core) tendStall(q *batchQueue) {
	s := &q.stall
	if !s.begun {
		s.begun = true
		left := q.own
		for _, b := range c.bat.live {
			if b.lane.org == q.org && b.sure && b.step == batchPlaced && !b.canceling && !b.stream.closed && c.now-b.created > c.bound(q, b)/2 {
				b.doom(CancelStalled)
				b.witness = true
				s.asked++
				if left -= b.rows; left <= q.own/2 {
					break
				}
			}
		}
	}
	wait := s.since + verdictWait
	if s.asked <= 0 || c.now >= wait {
		c.judgeStall(q)
		return
	}
	c.batchWake(wait)
}

// verdict takes in how far a batch came that was ended before its time.
func (c *Core) verdict(b *batch, succeeded int64, took float64) {
	s := &b.lane.org.batches.stall
	if !b.witness || !s.on || s.dead {
		return
	}
	s.asked--
	s.succeeded += float64(max(succeeded, 0))
	s.ran += max(took-b.lane.org.batches.start(), 1)
}

// judgeStall ends the wait for the witnesses. Where they had come nowhere the
// org is dead for now; where they proceeded, the others are left to it, at the
// pace that showed.
func (c *Core) judgeStall(q *batchQueue) {
	s := &q.stall
	if s.succeeded > 0 {
		rate := s.succeeded / s.ran
		q.slowed(rate)
		c.clear(q)
		return
	}
	s.dead, s.next, s.gap = true, c.now, 0
	for _, b := range c.bat.live {
		if b.lane.org == q.org && (b.stalled || c.now-b.created > c.bound(q, b)/2) {
			b.doom(CancelStalled)
		}
	}
}

// slowed forgets how batches proceeded before, and takes them to proceed so
// fast from now on.
func (q *batchQueue) slowed(rate float64) {
	if q.rates.n > 0 && rate > 0.5*q.rate() {
		return // they were only late
	}
	q.rates.reset()
	q.odds.reset()
	q.waits.reset()
	q.quick = 0
	for i := range q.arms {
		q.arms[i].took.reset()
	}
	q.rates.add(rate)
	q.win = max(q.win, startWindow) // they will be small
}

// clear ends a stall. What is still out is watched as if it were new.
func (c *Core) clear(q *batchQueue) {
	q.stall = stall{}
	q.cleared = c.now
	for _, b := range c.bat.live {
		if b.lane.org == q.org && !b.doomed {
			b.stalled, b.watched = false, c.now
		}
	}
	c.bat.dirty = true
	c.out.note(Note{Kind: NoteProceeds, Lane: q.lanes[0].id, Value: q.rate()})
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

// proceeded says that a batch ended by itself: its org is alive.
func (c *Core) proceeded(q *batchQueue) {
	if q.stall.on {
		c.clear(q)
	}
	if q.depth > 0 && c.now-q.struckAt > depthClean {
		q.depth += q.depth / 10
		q.struckAt = c.now
	}
}

// depthClean is after how long without a stall a little more is put into a
// queue that once stalled.
const depthClean = 2 * time.Hour
