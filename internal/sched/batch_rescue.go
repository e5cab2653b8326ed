package sched

import (
	"math"
	"time"
)

// Rescue (facts/control.md B.12): a route that is to end by a time leaves all
// to batches for as long as sync can still carry what they will not have
// answered by then. It begins as late as is safe, for every row that a batch
// answers meanwhile is half as dear and spares colleagues; and it stops again
// where batches turn out to be fast enough, but not in the last minutes, in
// which they could take no more.
const (
	rescueShare = 0.85             // of what sync could carry is counted on
	rescueEnd   = 60 * time.Second // before the time, the last batch should have ended
	rescueKeep  = 0.05             // of the rows: hysteresis
)

// cancelAllow is what facts/control.md B.12 allows for a cancel; where several
// were seen to take less, four times what they took, and cancelLeast, is
// enough.
const (
	cancelAllow = 10 * time.Minute
	cancelLeast = 3 * time.Minute
	cancelSeen  = 3
)

// cancelWithin is how long a cancel of the stream's batches may take.
func (c *Core) cancelWithin(s *stream) time.Duration {
	most := cancelLeast
	for _, q := range c.bat.queues {
		switch {
		case !q.serves(s, c.now):
		case q.cancels.n < cancelSeen:
			return cancelAllow
		default:
			most = max(most, span(4*q.cancelTime()))
		}
	}
	return min(most, cancelAllow)
}

// rescue decides whether sync takes part.
func (c *Core) rescue(s *stream) {
	o := &s.bat.plan
	if !c.canBatch(s) {
		o.rescuing = true // nothing else takes its rows, now or later
		return
	}
	if o.due == Never || o.sync <= 0 {
		o.rescuing = false
		return
	}
	rows := float64(s.backlog()) + c.comingBack(s)
	r := secsTo(c.now, o.due)
	pause := c.batchPause(s)
	can := func(r float64) float64 {
		return o.batch*max(0, r-pause) + rescueShare*o.sync*max(0, r-o.slack)
	}
	short := rows - can(r)
	switch {
	case rows == 0:
		o.rescuing = false
	case short >= 0:
		o.rescuing = true
	case short < -rescueKeep*rows && r > pause+secs(cancelAllow):
		o.rescuing = false
	}
	if !o.rescuing {
		c.replan(o.due - span(rescueIn(rows, o, pause)))
	}
}

// rescueIn is how many seconds before the time sync has to begin, if nothing
// changes: where both tiers together still carry just the rows.
func rescueIn(rows float64, o *outlook, pause float64) float64 {
	batch, sync := o.batch, rescueShare*o.sync
	first, then, rate := pause, o.slack, batch
	if o.slack < pause {
		first, then, rate = o.slack, pause, sync
	}
	if rate > 0 && first+rows/rate <= then {
		return first + rows/rate // one of them alone, in the last minutes
	}
	return (rows + batch*pause + sync*o.slack) / (batch + sync)
}

// batchPause is how many seconds before the time batches answer nothing more:
// the ones begun later would not end.
func (c *Core) batchPause(s *stream) float64 {
	start := math.Inf(1)
	for _, q := range c.bat.queues {
		if q.serves(s, c.now) {
			start = min(start, q.start())
		}
	}
	return start + secs(rescueEnd) + 60
}

// canBatch says whether any batch lane could take the stream's rows, now or
// after a while.
func (c *Core) canBatch(s *stream) bool {
	if len(s.bat.piles) == 0 {
		return true // nothing is known yet of what it has
	}
	for _, p := range s.bat.piles {
		for _, l := range p.pool.batch {
			if k := l.parked(); (k == nil || k.probe < Never) && !s.denies(l) {
				return true
			}
		}
	}
	return false
}

// comingBack is how many rows the stream's batches will give back: those whose
// end was asked for, and those that will not end by the time.
func (c *Core) comingBack(s *stream) float64 {
	n := 0.0
	for _, b := range c.bat.live {
		if b.stream == s && b.step < batchOver && (b.doomed || b.canceling || c.endsLate(b, s.bat.plan.due)) {
			n += c.unanswered(b)
		}
	}
	return n
}

// endsLate says that a batch will probably not have ended shortly before a time.
func (c *Core) endsLate(b *batch, due time.Duration) bool {
	if due == Never || b.step < batchPlaced {
		return false
	}
	p50, p90 := b.lane.org.batches.expect(b.rows)
	left := p90 - secs(c.now-b.created)
	if left < lateShare*p50 {
		left = max(left, c.remains(b))
	}
	return left > secs(due-rescueEnd-c.now)
}

// rescueBatches ends the batches that will not have ended by the time, as long
// before it as their rows need to be answered by sync.
func (c *Core) rescueBatches(s *stream) {
	o := &s.bat.plan
	if !o.timed || o.sync <= 0 {
		return
	}
	rows := c.comingBack(s)
	if rows == 0 {
		return
	}
	at := o.due - c.cancelWithin(s) - span(o.slack+rows/(rescueShare*o.sync))
	if c.now < at {
		c.replan(at)
		return
	}
	for _, b := range c.bat.live {
		if b.stream == s && b.sure && !b.doomed && b.step == batchPlaced && c.endsLate(b, o.due) {
			b.doom(CancelLate)
		}
	}
	c.replan(c.now + rescueLook)
}

// rescueLook is how often the last batches are looked at.
const rescueLook = 10 * time.Second
