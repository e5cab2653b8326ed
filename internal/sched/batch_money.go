package sched

import "math"

// The money gate: a row that sync takes costs twice what it costs by batch, and
// is lost to batches once it was offered. So a stream that may batch takes rows
// for sync only while its caps still pay what is left by batch, and what was
// taken by sync; a cap then never strands rows by haste.
const (
	restSlack  = 1.03 // over the mean price of what is left
	firstLook  = 64   // rows by sync at most that are taken before a price is known,
	firstShare = 0.01 // for at most so much of the money
	gateLook   = 1.0  // seconds to the next look while the gate binds
	lastShare  = 0.3
)

// setAffords works out how many calls the stream may offer in all, as its caps
// stand.
func (c *Core) setAffords(s *stream) {
	o := &s.bat.plan
	o.affords = math.MaxInt64
	left := c.forBatches(s)
	if left <= 0 && c.inBatches(s) == 0 {
		return
	}
	for _, id := range s.Ledgers {
		if int(id) < len(c.ledgers) && c.ledgers[id].limit >= 0 {
			o.affords = min(o.affords, s.offered+c.affordable(s, id, left))
		}
	}
	if o.affords < math.MaxInt64 && s.flying > 0 {
		c.batchWake(after(c.now, span(gateLook)))
	}
}

// affordable is how many calls more one ledger pays. What it lacks for as many
// as would be taken at once is asked for, once for each limit it has.
func (c *Core) affordable(s *stream, id LedgerID, left float64) int64 {
	l := &c.ledgers[id]
	sync, batch, known := s.prices()
	free := float64(l.limit-l.spent) - c.committed(s, id, sync, batch)
	if !known {
		if n := int64(firstShare * max(0, free) / max(1, sync)); s.offered < firstLook {
			return max(0, min(n, firstLook-s.offered))
		}
		return 0
	}
	rest := restSlack * (float64(s.queued)*sync + left*batch)
	more := (free - rest - c.endgameMoney(s, left, batch)) / max(1, sync-batch)
	if want := float64(s.look(s.bat.plan.sync)); more < want && left >= want && s.bat.gate != l.limit+1 {
		s.bat.gate = l.limit + 1
		c.out.want(Want{Ledger: id, Nanos: int64((want-more)*(sync-batch)) + 1})
	}
	return int64(max(0, min(more, 1e15)))
}

// endgameMoney is what is to be left in the end: batches reserve several times
// what they come to, so that where every cent is needed the last rows would go
// in ever smaller ones. It is enough for lastShare of a full wave of batches, and
// for two of the smallest.
func (c *Core) endgameMoney(s *stream, left, batch float64) float64 {
	worst := worstSlack * s.worstRow()
	wave, full := left+float64(c.inBatches(s)), 0.0
	for _, q := range c.bat.queues {
		if q.serves(s, c.now) && !q.stall.on {
			full += max(q.win, 1) * float64(q.rowsFor(c))
		}
	}
	return max(min(2*tailRows, wave)*worst, lastShare*min(wave, full)*(worst-batch))
}

// inBatches is how many of the stream's rows are in batches.
func (c *Core) inBatches(s *stream) (rows int64) {
	for _, b := range c.bat.live {
		if b.stream == s {
			rows += b.rows
		}
	}
	return rows
}

// committed is what of a ledger's reservations will probably be spent: of the
// stream's own their mean price, of others' all.
func (c *Core) committed(s *stream, id LedgerID, sync, batch float64) float64 {
	own, spent := 2*s.worstRow()*float64(s.flying), sync*float64(s.flying)
	for _, b := range c.bat.live {
		if b.stream == s && b.draws(id) {
			own += float64(b.worst)
			spent += batch * float64(b.rows)
		}
	}
	return max(0, float64(c.ledgers[id].reserved)-own) + spent
}

// forBatches is how many rows batches are still to carry: none where no lane
// takes them. That they may be late changes nothing: a cap goes before a
// deadline.
func (c *Core) forBatches(s *stream) float64 {
	left := 0.0
	for _, p := range s.bat.piles {
		if c.takesBatches(s, p.pool) {
			left += float64(p.left())
		}
	}
	return left
}

// prices are what one of the stream's rows costs by either tier, in
// nano-dollars: one is half of the other where only one was measured.
func (s *stream) prices() (sync, batch float64, known bool) {
	sync, batch = s.cost.v, s.bat.cost.v
	switch {
	case s.cost.n > 0 && s.bat.cost.n > 0:
	case s.cost.n > 0:
		batch = sync / 2
	case s.bat.cost.n > 0:
		sync = 2 * batch
	default:
		return 2 * s.worstRow(), s.worstRow(), false
	}
	return sync, min(batch, sync), true
}

// worstRow is the mean worst case of a row by batch.
func (s *stream) worstRow() float64 {
	worst := 0.0
	for _, p := range s.bat.piles {
		worst = max(worst, p.Worst)
	}
	return worst
}

// takesBatches says whether some batch lane of the pool is open to the stream.
func (c *Core) takesBatches(s *stream, p *pool) bool {
	for _, l := range p.batch {
		if on, _, _, _ := l.closed(); !on && !l.paused && !s.denies(l) {
			return true
		}
	}
	return false
}
