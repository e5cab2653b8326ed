package sched

import (
	"slices"
	"time"
)

// queue holds the calls of one stream for one pool: a short front in order of
// offering, where calls that came back stand first, and behind it the calls
// never sent.
type queue struct {
	stream *stream
	pool   *pool

	front []int32 // slots of calls, by seq
	fresh fifo
	doubt fifo // sent when fresh is empty (design.md "The scheduler core")
	seq   uint64
	n     int // all of them, withdrawn ones left out

	head      int32 // slot of the call at the head when it was last looked at
	headID    CallID
	headSince time.Duration

	wait    Limit // what held its head last
	ledger  LedgerID
	needs   int64
	wanting bool // Want was sent for its head
	kept    keeping
	aside   int // calls set aside, not in n (affinity.go)
}

// doubtSeq is where calls in doubt begin in a queue's order.
const doubtSeq = 1 << 62

func (c *Core) queueOf(s *stream, pool int32) *queue {
	for _, q := range s.queues {
		if q.pool.id == pool {
			return q
		}
	}
	p := c.pools[pool]
	q := &queue{stream: s, pool: p, head: -1}
	s.queues = append(s.queues, q)
	p.queues = append(p.queues, q)
	return q
}

func (c *Core) onOffer(e *Offer) {
	for i := range e.Calls {
		k := &e.Calls[i]
		s := c.stream(k.Stream)
		if s == nil || s.closed {
			continue
		}
		if k.Pool < 0 || int(k.Pool) >= len(c.pools) {
			c.out.settle(Settle{Call: k.ID, Outcome: Unroutable})
			continue
		}
		q := c.queueOf(s, k.Pool)
		it := item{
			id: k.ID, worst: k.Worst, in: k.In, maxOut: k.MaxOut, out: k.Out,
			model: uint16(k.Model), failed: uint8(min(k.Failed, 255)),
		}
		if q.n == 0 {
			s.vtime = max(s.vtime, q.pool.vtime[s.Priority])
		}
		to := &q.fresh
		if k.InDoubt {
			it.flags = itemDoubt
			to = &q.doubt
		}
		if to.push(&c.chunks, it); k.Affinity != 0 {
			to.mark(k.Affinity)
		}
		q.add(1)
		s.offered++
	}
}

func (q *queue) add(n int) {
	if q.pool.backlog == 0 {
		q.pool.joins()
	}
	q.n += n
	q.pool.backlog += n
	q.stream.queued += n
	if q.n == 0 {
		q.kept = keeping{}
	}
}

// fill sees to it that the front holds the next calls to be sent, one more than
// look if there are so many. Few calls are ever looked at, so few need a slot.
func (c *Core) fill(q *queue, look int) {
	for q.fresh.n > 0 && (len(q.front) <= look || c.calls[q.front[look]].seq >= doubtSeq) {
		c.pull(q, &q.fresh, 0)
	}
	for q.doubt.n > 0 && len(q.front) <= look {
		c.pull(q, &q.doubt, doubtSeq)
	}
}

// pull moves a call that was never sent to the front part.
func (c *Core) pull(q *queue, from *fifo, base uint64) {
	q.seq++
	affinity := from.marked()
	if it := from.pop(&c.chunks); it.flags&itemDead == 0 {
		slot := c.newCall(q, it, base+q.seq)
		c.calls[slot].affinity = affinity
		c.putBack(q, slot)
	}
}

// putBack inserts a slot by its place in the order of offering: what came back
// is older than what was never sent, so it stands in front.
func (c *Core) putBack(q *queue, slot int32) {
	seq := c.calls[slot].seq
	i := len(q.front)
	for i > 0 && c.calls[q.front[i-1]].seq > seq {
		i--
	}
	q.front = slices.Insert(q.front, i, slot)
	k := &c.calls[slot]
	k.state = callQueued
	if b := c.learns(k); b != nil {
		b.front++
		k.counted = true
	}
}

// take removes the i-th call of the front.
func (c *Core) take(q *queue, i int) {
	if k := &c.calls[q.front[i]]; k.counted {
		c.begins(k).front--
		k.counted = false
	}
	q.front = slices.Delete(q.front, i, i+1)
}

// requeue puts a call that was in flight or waiting back into its queue.
func (c *Core) requeue(slot int32) {
	k := &c.calls[slot]
	c.putBack(k.q, slot)
	if k.q.n == 0 {
		k.stream.vtime = max(k.stream.vtime, k.q.pool.vtime[k.stream.Priority])
	}
	k.q.add(1)
}

// onWithdraw takes a call back (Withdraw).
func (c *Core) onWithdraw(id CallID) {
	if slot, ok := c.callOf.get(int64(id)); ok {
		c.withdrawSlot(slot)
		return
	}
	for _, s := range c.streams {
		for _, q := range s.queues {
			it := q.fresh.find(id)
			if it == nil {
				it = q.doubt.find(id)
			}
			if it != nil && it.flags&itemDead == 0 {
				it.flags |= itemDead
				it.id = 0
				q.add(-1)
				s.settled++
				c.out.settle(Settle{Call: id, Outcome: Canceled})
				return
			}
		}
	}
}

func (c *Core) withdrawSlot(slot int32) {
	k := &c.calls[slot]
	switch {
	case k.ended || k.withdrawn:
	case k.state == callFlying:
		k.withdrawn = true
		c.abortAll(slot)
	default:
		c.unqueue(slot)
		c.settleCall(slot, Canceled)
	}
}

// unqueue takes a call that is not in flight out of its queue or wait.
func (c *Core) unqueue(slot int32) {
	k := &c.calls[slot]
	switch k.state {
	case callWaiting:
		c.waits.remove(c, slot)
		k.stream.queued--
		return
	case callAside:
		c.fetch(slot)
		return
	}
	if i := slices.Index(k.q.front, slot); i >= 0 {
		c.take(k.q, i)
		k.q.add(-1)
		c.refill(c.begins(k))
	}
}

// drop forgets what a closed stream has not sent.
func (c *Core) drop(q *queue) {
	q.add(-q.n)
	for _, slot := range q.front {
		c.freeCall(slot)
	}
	q.front = nil
	for q.fresh.n > 0 {
		q.fresh.pop(&c.chunks)
	}
	for q.doubt.n > 0 {
		q.doubt.pop(&c.chunks)
	}
}
