package sched

import (
	"math"
	"slices"
	"time"
)

// serveQueue sends one call of the queue, if one may go, and says on which lane.
func (c *Core) serveQueue(p *pool, q *queue) *lane {
	no := blocked{in: math.MaxInt32, out: math.MaxInt32, worst: math.MaxInt64}
	look := c.cfg.LookAhead
	c.fill(q, look)
	for i := 0; i <= look && i < len(q.front); i++ {
		slot := q.front[i]
		if i == 0 {
			c.noteHead(q, slot)
		}
		if c.impossible(p, q, i, slot) || c.setAside(q, i, slot) {
			i--
			c.fill(q, look)
			continue
		}
		if i > 0 && !p.denials && no.covers(&c.calls[slot].item) {
			continue
		}
		if l := c.serveCall(p, q, i, slot, &no); l != nil {
			return l
		}
		if c.calls[slot].affinity != 0 && look < c.cfg.LookAhead+heldLook {
			look++
			c.fill(q, look)
		}
		// A head that money holds may be passed for as long as it is held, as other
		// streams pass it: else lanes stand idle for hours while a batch has the money.
		if i == 0 && q.wait != LimitBudget && c.now-q.headSince >= c.cfg.HeadPatience {
			c.holdFor(p, q, 1)
			return nil
		}
	}
	q.kept.note(no.kept, c.now)
	if len(q.front) > 0 {
		c.holdFor(p, q, 0)
	}
	return nil
}

// blocked is the least that did not pass in one look along a queue: calls that
// weigh as much need not be asked about.
type blocked struct {
	in, out int32 // of a call that no lane took
	worst   int64 // of a call that a ledger held
	kept    bool  // some call waits for a lane that keeps its beginning
}

func (b *blocked) covers(it *item) bool {
	return it.worst >= b.worst || it.in >= b.in && max(it.out, it.maxOut) >= b.out
}

func (b *blocked) byLanes(it *item) {
	if it.in <= b.in {
		b.in, b.out = it.in, max(it.out, it.maxOut)
	}
}

func (c *Core) noteHead(q *queue, slot int32) {
	if id := c.calls[slot].id; q.head != slot || q.headID != id {
		q.head, q.headID, q.headSince = slot, id, c.now
	}
}

// holdFor keeps lower priorities from the lanes that this queue's head waits
// for, and equal ones, too, when it has waited long (more is 1).
func (c *Core) holdFor(p *pool, q *queue, more int) {
	if q.wait == LimitBudget {
		return
	}
	head := &c.calls[q.front[0]]
	for _, l := range p.lanes {
		if l.open && !l.denies(head.model) {
			l.held, l.heldBy = c.pass, p.rank(q)+more
		}
	}
}

// impossible settles a call that can never be sent.
func (c *Core) impossible(p *pool, q *queue, i int, slot int32) bool {
	k := &c.calls[slot]
	var o Outcome
	switch {
	case c.never(k.stream, k.worst):
		o = OverBudget
	case p.denials && !slices.ContainsFunc(p.lanes, func(l *lane) bool { return !l.denies(k.model) }):
		o = Unroutable
	default:
		return false
	}
	c.take(q, i)
	q.add(-1)
	c.refill(c.begins(k))
	c.settleCall(slot, o)
	return true
}

// serveCall sends the i-th call of a queue on the best lane that takes it.
func (c *Core) serveCall(p *pool, q *queue, i int, slot int32, no *blocked) *lane {
	k := &c.calls[slot]
	if id, lack := c.short(k.stream, k.worst); lack > 0 {
		no.worst = min(no.worst, k.worst)
		if i == 0 {
			c.want(q, id, lack)
			q.wait, q.ledger, q.needs = LimitBudget, id, k.worst
			p.blame(LimitBudget)
		}
		return nil
	}
	if i == 0 {
		q.wanting = false
	}
	w := k.stream.weigh(&k.item)
	best, why, first := c.place(p, q, k, &w, no)
	if best == nil {
		if k.affinity == 0 {
			no.byLanes(&k.item)
		}
		if i == 0 {
			q.wait = why
		}
		p.wake = min(p.wake, first)
		return nil
	}
	q.wait = LimitNone
	c.take(q, i)
	q.add(-1)
	c.send(best, slot, &w, false)
	c.led(k, best)
	return best
}

// choose is the least loaded lane that takes a call of weight w now, or why
// none does and when the first may: of all lanes, or where the call marks a
// beginning, of those on which that stands so.
func (c *Core) choose(p *pool, q *queue, k *call, w *weight, b *beginning, s warmState) (best *lane, why Limit, first time.Duration) {
	first, least := Never, math.Inf(1)
	for _, l := range p.lanes {
		if !l.open || p.shuns(k, l) || b != nil && !b.is(s, l, c.now) || l.denies(w.model) || l.held == c.pass && l.heldBy > p.rank(q) {
			continue
		}
		limit, at := c.itemGate(l, w)
		if limit != LimitNone {
			if l.blame == LimitNone {
				l.blame = limit
			}
			if at < first || why == LimitNone {
				first, why = at, limit
			}
			continue
		}
		if x := c.load(p, l); x < least {
			best, least = l, x
		}
	}
	return best, why, first
}

// load is how busy a lane is (B.9). In the tail, when there are fewer calls
// than room, the quicker lane is the better one.
func (c *Core) load(p *pool, l *lane) float64 {
	if l.endgame && l.lat.mean.n > 0 {
		return l.lat.mean.v
	}
	x := float64(l.n) / max(1, l.win)
	for d := range l.b {
		if b := &l.b[d]; b.r > 0 && !math.IsInf(b.cap, 1) && (Dim(d) != Tokens || b.binds) {
			x = max(x, 1-b.lvl/b.cap)
		}
	}
	return x
}
