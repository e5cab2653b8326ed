package sched

import "slices"

// ledger is money: every attempt reserves its worst case before it is sent, so
// spent + reserved never exceeds the limit (facts/control.md B.10).
type ledger struct {
	limit    int64 // negative: none
	spent    int64 // known spent, and worst cases in doubt
	reserved int64 // worst cases in flight, and ahead
	ahead    int64 // of reserved, for batches that may be taken over
	final    bool
}

func newLedger(l Ledger) ledger {
	ahead := max(l.Ahead, 0)
	return ledger{limit: l.Limit, spent: l.Spent, reserved: ahead, ahead: ahead, final: l.Final}
}

// Ledger tells a ledger's limit (negative: none), what was spent from it (worst
// cases in doubt included) and what attempts in flight have reserved, in
// nano-dollars.
func (c *Core) Ledger(id LedgerID) (limit, spent, reserved int64) {
	if id < 0 || int(id) >= len(c.ledgers) {
		return 0, 0, 0
	}
	l := &c.ledgers[id]
	return l.limit, l.spent, l.reserved
}

func (l *ledger) lacks(worst int64) int64 {
	if l.limit < 0 {
		return 0
	}
	return max(0, l.spent+l.reserved+worst-l.limit)
}

// short finds the ledger that cannot grant worst, and how much it lacks.
func (c *Core) short(s *stream, worst int64) (LedgerID, int64) {
	for _, id := range s.Ledgers {
		if int(id) >= len(c.ledgers) {
			continue
		}
		if n := c.ledgers[id].lacks(worst); n > 0 {
			return id, n
		}
	}
	return -1, 0
}

// never says that a ledger can never grant worst.
func (c *Core) never(s *stream, worst int64) bool {
	for _, id := range s.Ledgers {
		if int(id) < len(c.ledgers) {
			if l := &c.ledgers[id]; l.final && l.limit >= 0 && worst > l.limit {
				return true
			}
		}
	}
	return false
}

// reserve sets a worst case aside in a stream's ledgers, but for those that do
// not count it.
func (c *Core) reserve(s *stream, worst int64, but ...LedgerID) {
	for _, id := range s.Ledgers {
		if int(id) < len(c.ledgers) && !slices.Contains(but, id) {
			c.ledgers[id].reserved += worst
		}
	}
}

// charge turns a reservation into what the attempt cost; 0 releases it.
func (c *Core) charge(s *stream, worst, cost int64, but ...LedgerID) {
	c.bat.dirty = c.bat.dirty || c.bat.short
	s.charged += cost
	for _, id := range s.Ledgers {
		if int(id) < len(c.ledgers) && !slices.Contains(but, id) {
			c.ledgers[id].reserved -= worst
			c.ledgers[id].spent += cost
		}
	}
}

func (c *Core) setLedger(id LedgerID, limit, free int64) {
	if id < 0 || int(id) >= len(c.ledgers) {
		return
	}
	l := &c.ledgers[id]
	l.limit = limit
	free = min(max(free, 0), l.ahead)
	l.ahead -= free
	l.reserved -= free
	c.bat.dirty = c.bat.dirty || c.bat.short && free > 0
	for _, s := range c.streams {
		if s.bat != nil {
			s.bat.wanting = false
		}
		for _, q := range s.queues {
			q.wanting = q.wanting && q.ledger != id
		}
	}
}

// want tells the driver that a ledger holds a queue's head, once until that
// passes or the limit moves.
func (c *Core) want(q *queue, id LedgerID, nanos int64) {
	if !q.wanting || q.ledger != id {
		q.wanting = true
		c.out.want(Want{Ledger: id, Nanos: nanos})
	}
}
