package sched

import (
	"math"
	"time"
)

// Lanes tells how all lanes stand, in the order of their ids.
func (c *Core) Lanes() []LaneView {
	views := make([]LaneView, len(c.lanes))
	for i := range views {
		views[i] = c.Lane(LaneID(i))
	}
	return views
}

// Lane tells how one lane stands at the time of the last Step. It panics for
// a lane that was not opened.
func (c *Core) Lane(id LaneID) LaneView {
	l := c.lanes[id]
	v := LaneView{
		Org: l.cfg.Org, Pool: l.cfg.Pool, Tier: l.cfg.Tier,
		InFlight: l.n, Peak: l.peak, Window: l.win, Cap: l.group.cap, Waiting: l.waiting,
		Refused: l.refused, Steady: l.steady, Hidden: l.hidden, Accel: l.accelSilent,
		Sent: l.sent, Succeeded: l.succeeded, Failed: l.failed,
		DayTokens: int64(l.day.sum), DayLimit: int64(l.day.limit), Clocks: l.clocks,
		Ramp: finite(l.ramp.g), AIMD: finite(l.aimd.w),
	}
	v.Clocks[l.waiting] += c.now - l.waitSince
	for d := range l.b {
		b := &l.b[d]
		v.Rate[d] = b.g
		if b.r == 0 {
			continue
		}
		v.Refill[d], v.Others[d] = b.r, b.col
		if b.armed || b.told > 0 {
			v.Capacity[d], v.Level[d] = b.cap, b.lvl
			v.SoftFloor[d], v.HardFloor[d] = b.soft.of(b.cap), b.hard.of(b.cap)
		}
	}
	v.Paused = l.paused
	v.Closed, v.Class, _, v.Reopens = l.closed()
	if l.cfg.Tier == Batch {
		l.viewBatches(&v)
	}
	return v
}

// finite turns "no limit" into 0.
func finite(x float64) float64 {
	if math.IsInf(x, 1) {
		return 0
	}
	return x
}

// InFlight is how many attempts of the lane are out: a cheap look for tickers.
func (c *Core) InFlight(id LaneID) int { return c.lanes[id].n }

// closed says whether a lane takes no calls, why, since and until when (0:
// unknown; Never: not before a person acts).
func (l *lane) closed() (on bool, class Class, since, reopens time.Duration) {
	if p := l.parked(); p != nil {
		reopens = p.until
		if reopens == 0 {
			reopens = p.probe
		}
		return true, p.class, p.since, reopens
	}
	if l.day.stopped {
		return true, Daily, l.day.since, l.day.reopens
	}
	return false, 0, 0, 0
}

// Stream tells how a stream stands: as one that never was, where it was closed
// and nothing is left of it.
func (c *Core) Stream(id StreamID) StreamView {
	s := c.stream(id)
	if s == nil {
		return StreamView{Ledger: -1}
	}
	v := StreamView{Queued: s.queued, InFlight: s.flying, Settled: s.settled, Offered: s.offered, Hedges: s.hedges, Spent: s.charged, Paused: s.paused, Ledger: -1}
	c.viewBatches(s, &v)
	var head *queue
	closed := 0
	for _, q := range s.queues {
		if q.n == 0 {
			continue
		}
		if head == nil || q.wait == LimitBudget {
			head = q
		}
		if c.allClosed(q, &v) {
			closed++
		}
	}
	if head == nil {
		c.heldByMoney(s, &v)
		c.closedBatches(s, &v)
		return v
	}
	if s.sendable(c.now) {
		v.Waiting = head.wait
	}
	if len(head.front) > 0 && head.head == head.front[0] {
		v.HeadWait = c.now - head.headSince
	}
	v.AllClosed = closed > 0 && c.queuesWaiting(s) == closed
	if head.wait == LimitBudget {
		v.Ledger, v.Needs = head.ledger, head.needs
		v.BudgetBound = c.stuck(head)
	} else {
		c.heldByMoney(s, &v)
	}
	c.closedBatches(s, &v)
	return v
}

func (c *Core) queuesWaiting(s *stream) int {
	n := 0
	for _, q := range s.queues {
		if q.n > 0 {
			n++
		}
	}
	return n
}

// stuck says that nothing in flight can free enough for the queue's head.
func (c *Core) stuck(q *queue) bool {
	if int(q.ledger) >= len(c.ledgers) {
		return false
	}
	l := &c.ledgers[q.ledger]
	return l.limit >= 0 && (l.reserved == l.ahead || l.spent+q.needs > l.limit)
}

// allClosed says whether every lane that could take a queue's calls is closed,
// and fills in which opens first.
func (c *Core) allClosed(q *queue, v *StreamView) bool {
	some := false
	for _, l := range q.pool.lanes {
		if len(q.front) > 0 && l.denies(c.calls[q.front[0]].model) {
			continue
		}
		on, class, since, reopens := l.closed()
		if !on {
			return false
		}
		v.ClosedSince = max(v.ClosedSince, since)
		if !some && v.Reopens == 0 || reopens < v.Reopens {
			v.Reopens, v.ClosedFor = reopens, class
		}
		some = true
	}
	return some
}
