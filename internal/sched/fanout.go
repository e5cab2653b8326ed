package sched

import (
	"math"
	"slices"
	"time"
)

// dispatch sends all that may be sent now and finds out when more may.
func (c *Core) dispatch() {
	c.release()
	c.wake = c.waits.next(c)
	for _, p := range c.pools {
		if p.backlog == 0 {
			c.rest(p)
			continue
		}
		c.openLanes(p)
		for c.serve(p) {
		}
		c.wake = min(c.wake, p.wake)
	}
	c.hedge()
	if c.wake <= c.now {
		c.wake = c.now + minWait
	}
}

// serve sends one call of the pool, if one may go. Calls are looked at in the
// order of priority, then of fair share; within a queue a few behind the head
// may overtake it (facts/control.md B.9).
func (c *Core) serve(p *pool) bool {
	p.wake = Never
	if p.backlog == 0 {
		c.rest(p)
		return false
	}
	end := c.setEndgame(p)
	if !p.anyOpen() {
		c.closeBooks(p)
		c.holdQueues(p)
		p.wake = min(p.wake, end)
		return false
	}
	c.pass++
	for _, q := range c.order(p) {
		if sent := c.serveQueue(p, q); sent != nil {
			c.reopenLanes(p, sent)
			return true
		}
	}
	c.closeBooks(p)
	p.wake = min(p.wake, end)
	return false
}

// openLanes finds the lanes of a pool that would take some call.
func (c *Core) openLanes(p *pool) {
	for _, l := range p.lanes {
		l.advance(c.now)
	}
	for _, l := range p.lanes {
		c.openLane(l)
	}
}

func (c *Core) openLane(l *lane) {
	l.why, l.opens = c.laneGate(l)
	l.open = l.why == LimitNone
	l.blame = LimitNone
}

// reopenLanes looks again at the lanes that a send may have closed.
func (c *Core) reopenLanes(p *pool, sent *lane) {
	for _, l := range p.lanes {
		if l.open && (l.group == sent.group || l.org == sent.org) {
			c.openLane(l)
		}
	}
}

func (p *pool) anyOpen() bool {
	for _, l := range p.lanes {
		if l.open {
			return true
		}
	}
	return false
}

// closeBooks notes, when no more can be sent, what holds each lane and when
// the first may open.
func (c *Core) closeBooks(p *pool) {
	for _, l := range p.lanes {
		why := l.why
		if l.open {
			if why = l.blame; why == LimitNone {
				why = LimitWork
			}
		} else {
			p.wake = min(p.wake, l.opens)
		}
		c.wait(l, why)
	}
}

// order is the pool's queues with something to send, the first to be served
// first. The slice is the core's.
func (c *Core) order(p *pool) []*queue {
	c.queues = c.queues[:0]
	for _, q := range p.queues {
		if q.n > 0 && q.stream.sendable(c.now) {
			c.queues = append(c.queues, q)
		}
	}
	if len(c.queues) > 1 {
		slices.SortStableFunc(c.queues, func(a, b *queue) int {
			if x, y := p.rank(a), p.rank(b); x != y {
				return y - x
			}
			switch {
			case a.stream.vtime < b.stream.vtime:
				return -1
			case a.stream.vtime > b.stream.vtime:
				return 1
			}
			return 0
		})
	}
	return c.queues
}

// rank puts higher priorities first, except that what a lower one is due goes
// before all.
func (p *pool) rank(q *queue) int {
	r := int(q.stream.Priority)
	if p.owed[r] >= owedTurn {
		r += int(NumPriorities)
	}
	return r
}

// Lower priorities get a twentieth of the work while they wait; they are paid
// in turns of so much.
const (
	owedShare = 0.05
	owedTurn  = 4000
)

// serveQueue sends one call of the queue, if one may go, and says on which lane.
func (c *Core) serveQueue(p *pool, q *queue) *lane {
	no := blocked{in: math.MaxInt32, out: math.MaxInt32, worst: math.MaxInt64}
	c.fill(q, c.cfg.LookAhead)
	for i := 0; i <= c.cfg.LookAhead && i < len(q.front); i++ {
		slot := q.front[i]
		if i == 0 {
			c.noteHead(q, slot)
		}
		if c.impossible(p, q, i, slot) {
			i--
			c.fill(q, c.cfg.LookAhead)
			continue
		}
		if i > 0 && !p.denials && no.covers(&c.calls[slot].item) {
			continue
		}
		if l := c.serveCall(p, q, i, slot, &no); l != nil {
			return l
		}
		if i == 0 && c.now-q.headSince >= c.cfg.HeadPatience {
			c.holdFor(p, q, 1)
			return nil
		}
	}
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
	q.take(i)
	q.add(-1)
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
	best, why, first := c.choose(p, q, &w)
	if best == nil {
		no.byLanes(&k.item)
		if i == 0 {
			q.wait = why
		}
		p.wake = min(p.wake, first)
		return nil
	}
	q.wait = LimitNone
	q.take(i)
	q.add(-1)
	c.send(best, slot, &w, false)
	return best
}

// choose is the least loaded lane that takes a call of weight w now, or why
// none does and when the first may.
func (c *Core) choose(p *pool, q *queue, w *weight) (best *lane, why Limit, first time.Duration) {
	first, least := Never, math.Inf(1)
	for _, l := range p.lanes {
		if !l.open || l.denies(w.model) || l.held == c.pass && l.heldBy > p.rank(q) {
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

// send reserves, debits and asks for the exchange.
func (c *Core) send(l *lane, slot int32, w *weight, hedge bool) {
	_, a := c.newAttempt()
	k := &c.calls[slot]
	a.call, a.lane, a.sent, a.worst, a.w, a.hedge = slot, l, c.now, k.worst, *w, hedge
	a.epoch, a.tok, a.drain, a.seen = l.epoch, w.in+w.out, l.drain, c.now
	k.tries++
	k.flying++
	k.state = callFlying
	k.stream.flying++
	c.reserve(k.stream, k.worst)
	c.debit(l, a)
	a.kind = c.probeKind(l, a)
	c.share(l.pool, k, w)
	l.lastSend, l.sentAny = c.now, true
	c.out.send(
		Persist{Call: k.id, Attempt: a.id, Lane: l.id, Worst: k.worst},
		Send{Call: k.id, Attempt: a.id, Lane: l.id, Try: int(k.tries), Hedge: hedge, Probe: a.kind != noProbe},
	)
}

// debit takes what an attempt will draw from mirror, pace and counts.
func (c *Core) debit(l *lane, a *attempt) {
	l.n++
	l.group.n++
	l.sent++
	l.brake.sent()
	l.peak = max(l.peak, l.n)
	l.ramp.peak, l.aimd.peak = max(l.ramp.peak, l.n), max(l.aimd.peak, l.n)
	l.maxOuts += a.w.maxOut
	l.day.flying += a.tok
	a.n = l.n
	a.reserved = l.reserve
	for d := range l.b {
		b := &l.b[d]
		if w := a.charged(Dim(d)); w != 0 {
			b.debit(w)
			b.credit = max(0, b.credit-w)
			b.want = 0
		}
		a.cum[d] = b.cum
	}
	l.accel.debit(&a.w, 1)
	l.rate.add(c.now, a.w.in)
	l.since.add(a.w.in, 1)
	for _, d := range [...]Dim{Requests, Input, Output} {
		if b := &l.b[d]; b.g < maxGain && b.growRate(c.now, c.own(l, d)) {
			c.say(NoteRate, l, 0, d, b.g)
		}
	}
}

func (c *Core) probeKind(l *lane, a *attempt) probeKind {
	if p := l.parked(); p != nil {
		p.flying, a.park = true, p
		return parkProbe
	}
	if c.thinned(l) {
		l.thin.flying = true
		return thinProbe
	}
	if l.alone.sent(a.id, c.now) {
		return firstProbe
	}
	return noProbe
}

// share books a send for the fairness between streams and priorities.
func (c *Core) share(p *pool, k *call, w *weight) {
	n := work(&k.item, w.out)
	pr := k.stream.Priority
	p.vtime[pr] = max(p.vtime[pr], k.stream.vtime)
	k.stream.vtime += n / k.stream.Weight
	p.owed[pr] = max(0, p.owed[pr]-n)
	for low := range pr {
		p.owed[low] = min(p.owed[low]+owedShare*n, 2*owedTurn)
	}
}
