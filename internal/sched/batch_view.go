package sched

import "time"

// Batches tells how all batches stand that were not yet collected or released,
// those of closed streams included, in the order of their ids.
func (c *Core) Batches() []BatchView {
	views := make([]BatchView, len(c.bat.live))
	for i, b := range c.bat.live {
		views[i] = c.viewBatch(b)
	}
	return views
}

// Batch tells how one batch stands; ok is false where it is no more.
func (c *Core) Batch(id BatchID) (v BatchView, ok bool) {
	b := c.batchAt(id)
	if b == nil {
		return BatchView{}, false
	}
	return c.viewBatch(b), true
}

func (c *Core) viewBatch(b *batch) BatchView {
	v := BatchView{
		Batch: b.id, Stream: b.stream.id, Lane: b.lane.id, Rows: b.rows, Worst: b.worst, State: b.state,
		Created: b.created, Placed: b.step >= batchPlaced, Sure: b.sure, Stalled: b.stalled, Canceling: b.canceling,
	}
	switch b.step {
	case batchPlaced:
		p50, _ := b.lane.org.batches.expect(b.rows)
		v.Expected = max(b.created+span(p50), c.now)
	case batchOver:
		v.Expected = b.ended
	}
	return v
}

// viewBatches fills in what a lane of the batch tier shows of its org's queue.
func (l *lane) viewBatches(v *LaneView) {
	q := l.org.batches
	v.Window, v.Cap = q.win, 0
	v.Ramp, v.AIMD, v.Rate = 0, q.win, [NumDims]float64{}
	v.Queued, v.Queue, v.QueueOthers, v.BatchRPM = q.own, q.most(), q.others, q.calls.rpm
	v.Stalled = q.stall.on
	if q.known() {
		v.RowRate, v.Overhead = q.rate(), span(q.start())
		v.Parallel = int(q.win)
	}
}

// viewBatches fills in what a stream that may batch shows.
func (c *Core) viewBatches(s *stream, v *StreamView) {
	v.Wants = noBound
	if s.MaxQueue > 0 {
		v.Wants = max(0, s.MaxQueue-s.queued)
	}
	if s.bat == nil {
		return
	}
	for _, b := range c.bat.live {
		if b.stream == s && b.step > batchGathering {
			v.Batched += b.rows
			v.Batches++
		}
	}
	o := &s.bat.plan
	v.SyncRate, v.BatchRate = o.sync, o.batch
	if !s.Route.Batch {
		return
	}
	if len(c.bat.queues) == 0 { // no lane of the tier is open: nothing is looked at
		v.OnlyIneligible = s.Route.NoSync
		return
	}
	v.Rescuing = o.rescuing
	v.OnlyIneligible = s.Route.NoSync || s.Route.Target != 0 && !o.rescuing
	v.Wants = s.wants(o.sync)
	if n := c.scouts(s); v.OnlyIneligible && !s.Route.NoSync && n > 0 {
		v.OnlyIneligible, v.Wants = false, n
	}
}

// scouts is how many calls a stream sends by sync although batches are to carry
// them all: one for each lane of whose limits and speed nothing is known, for
// when a rescue has to begin is reckoned with them. Where batches have time to
// spare there will be none.
func (c *Core) scouts(s *stream) int {
	if !s.bat.plan.risky || s.queued+s.flying > 0 || s.bat.plan.affords <= s.offered {
		return 0
	}
	n := 0
	for _, p := range s.bat.piles {
		if p.Rows == 0 {
			continue
		}
		for _, l := range p.pool.lanes {
			if on, _, _, _ := l.closed(); !on && !l.paused && l.sent == 0 {
				n++
			}
		}
	}
	return n
}

// noBound is Wants of a stream that holds nothing back.
const noBound = 1 << 30

// wants keeps what waits for sync short, so that it and batches can meet, and
// asks for more in portions.
func (s *stream) wants(rate float64) int {
	look := s.look(rate)
	if 2*s.queued > look {
		return 0
	}
	return int(min(int64(look-s.queued), max(0, s.bat.plan.affords-s.offered)))
}

// look is how many calls of a stream that may batch stand ready for sync.
func (s *stream) look(rate float64) int {
	look := max(leastLook, int(rate*secs(syncLook)))
	if s.MaxQueue > 0 {
		look = min(look, s.MaxQueue)
	}
	return look
}

const (
	syncLook  = 30 * time.Second // of sends
	leastLook = 64
)

// heldByMoney says in a stream's view that a cap holds its batches, where
// nothing in flight can free enough.
func (c *Core) heldByMoney(s *stream, v *StreamView) {
	t := s.bat
	if t == nil || !t.held || s.backlog() == 0 || int(t.ledger) >= len(c.ledgers) || t.ledger < 0 {
		return
	}
	v.Ledger, v.Needs = t.ledger, t.needs
	l := &c.ledgers[t.ledger]
	v.BudgetBound = l.limit >= 0 && l.spent+t.needs > l.limit
	if v.Waiting == LimitNone {
		v.Waiting = LimitBudget
	}
}

// closedBatches says in a stream's view whether batches keep it from being held
// by closed lanes alone, or are held by them, too.
func (c *Core) closedBatches(s *stream, v *StreamView) {
	if s.bat == nil || !s.Route.Batch {
		return
	}
	if v.Batches > 0 {
		v.AllClosed = false
		return
	}
	for _, p := range s.bat.piles {
		if p.left() == 0 {
			continue
		}
		if c.takesBatches(s, p.pool) || !v.OnlyIneligible && c.takesCalls(p.pool) {
			v.AllClosed = false
			return
		}
		v.AllClosed = len(p.pool.batch) > 0
		v.reopen(p.pool.batch)
		if !v.OnlyIneligible {
			v.reopen(p.pool.lanes)
		}
		if v.Reopens == 0 {
			v.Reopens = Never // no lane is closed: they do not accept its rows
		}
	}
}

// reopen takes in when closed lanes open again.
func (v *StreamView) reopen(lanes []*lane) {
	for _, l := range lanes {
		if on, class, since, reopens := l.closed(); on && (v.Reopens == 0 || reopens < v.Reopens) {
			v.Reopens, v.ClosedFor = reopens, class
			v.ClosedSince = max(v.ClosedSince, since)
		}
	}
}

func (c *Core) takesCalls(p *pool) bool {
	for _, l := range p.lanes {
		if on, _, _, _ := l.closed(); !on {
			return true
		}
	}
	return false
}
