package sched

import (
	"cmp"
	"math"
	"slices"
)

// gatherBatches begins all batches that may be begun now, and notes what holds
// each lane.
func (c *Core) gatherBatches() {
	for c.gatherOne() {
	}
	for _, q := range c.bat.queues {
		for _, l := range q.lanes {
			if l.blame == LimitNone || l.blame == LimitWork {
				l.blame = LimitWork
				if l.n > 0 {
					l.blame = LimitLatency
				}
			}
			c.wait(l, l.blame)
		}
	}
}

// gatherOne begins one batch, if one may be begun: of the stream that comes
// first, on the lane with most room in its window.
func (c *Core) gatherOne() bool {
	c.openBatchLanes()
	for _, s := range c.batchOrder() {
		for _, p := range s.bat.piles {
			if p.left() > 0 && c.gatherPile(s, p) {
				return true
			}
		}
	}
	return false
}

func (c *Core) openBatchLanes() {
	for _, q := range c.bat.queues {
		for _, l := range q.lanes {
			l.why, l.opens = c.createGate(l)
			l.open, l.blame = l.why == LimitNone, LimitNone
		}
	}
}

// batchOrder is the streams that may gather, by priority, then by fair share.
func (c *Core) batchOrder() []*stream {
	c.bat.order = c.bat.order[:0]
	for _, s := range c.streams {
		if s.batches(c.now) {
			c.bat.order = append(c.bat.order, s)
		}
	}
	slices.SortStableFunc(c.bat.order, func(a, b *stream) int {
		if n := cmp.Compare(b.Priority, a.Priority); n != 0 {
			return n
		}
		return cmp.Compare(a.bat.gathered, b.bat.gathered)
	})
	return c.bat.order
}

func (c *Core) gatherPile(s *stream, p *pile) bool {
	var best *lane
	var most lot
	least := math.Inf(1)
	for _, l := range p.pool.batch {
		if s.denies(l) {
			continue
		}
		q := l.org.batches
		if at := q.unheard(c.now); at > c.now {
			l.blame = LimitBatchQueue // the others wait with it, else they would take all
			c.batchWake(at)
			return false
		}
		q.open()
		if l.why == LimitAIMD { // open may have moved it
			l.why, l.opens = c.createGate(l)
			l.open = l.why == LimitNone
		}
		k, why, at := lot{}, l.why, l.opens
		if l.open {
			k, why, at = c.chunkFor(s, p, l)
		}
		if why != LimitNone {
			l.blame = cmp.Or(l.blame, why)
			c.batchWake(at)
			continue
		}
		if x := float64(q.n+1) / max(q.win, 1); x < least {
			best, most, least = l, k, x
		}
	}
	if best == nil {
		return false
	}
	if at := c.pay(s, p, best.org.batches, &most); at > c.now {
		best.blame = LimitBudget
		c.batchWake(at)
		return false
	}
	c.gather(s, p, best, most)
	return true
}

// gather asks for the rows of a batch. Its call is taken at once, so that what
// was gathered is created without a wait.
func (c *Core) gather(s *stream, p *pile, l *lane, k lot) {
	q := l.org.batches
	q.calls.take(c.now)
	b := c.newBatch(s, l, k.rows, k.worst)
	b.canary = k.canary
	if k.canary {
		q.stall.fly = b.id
	}
	if x := l.parked(); x != nil {
		x.flying, b.probing = true, x
	}
	p.asked += k.rows
	s.bat.gathered += float64(k.rows) / s.Weight
	c.out.gather(Gather{Batch: b.id, Stream: s.id, Lane: l.id, Rows: k.rows, Bytes: k.bytes, Worst: k.worst})
}
