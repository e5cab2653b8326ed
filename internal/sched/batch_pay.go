package sched

import (
	"math"
	"time"
)

// worstSlack is what the rows of one batch may cost over the mean of all.
const worstSlack = 1.1

// pay bounds a chunk by the stream's money. Where that is not there the driver
// is told, once; what it does not grant within a second makes the chunk
// smaller; and a chunk that would be much smaller waits for what is in flight to
// free its money, for each batch takes a minute beside its rows.
func (c *Core) pay(s *stream, p *pile, q *batchQueue, k *lot) time.Duration {
	t := s.bat
	full := k.rows
	k.rows = c.vary(k.rows, p.left())
	k.worst = worstOf(p, k.rows)
	id, lack := c.short(s, k.worst)
	if lack <= 0 {
		t.held, t.wanting, t.heldAt = false, false, 0
		return c.now
	}
	c.bat.short = true
	if !t.wanting {
		t.wanting, t.wantedAt = true, c.now
		c.out.want(Want{Ledger: id, Nanos: lack})
	}
	if c.now < t.wantedAt+wantWait {
		return t.wantedAt + wantWait
	}
	for lack > 0 && k.rows > 0 {
		can := max(0, float64(k.worst-lack)/math.Max(1, float64(k.worst)))
		k.rows = min(k.rows-1, int64(can*float64(k.rows)))
		k.worst = worstOf(p, k.rows)
		id, lack = c.short(s, k.worst)
	}
	few := min(full, p.left(), c.moneyRows(q))
	if at := c.awaitMoney(s, q, k.rows, few); at > c.now {
		t.held, t.needs = true, worstOf(p, 1)
		if t.ledger = id; id < 0 {
			t.ledger, _ = c.short(s, worstOf(p, few))
		}
		return at
	}
	t.heldAt = 0
	t.held = false
	return c.now
}

// wantWait is how long a driver has to grant money before a chunk makes do
// with what is there.
const wantWait = time.Second

func worstOf(p *pile, rows int64) int64 {
	return int64(math.Ceil(worstSlack * p.Worst * float64(rows)))
}

// moneyRows is how many rows a batch of a queue carries at least where money
// bounds it and more is about to come free.
func (c *Core) moneyRows(q *batchQueue) int64 { return max(tailRows, q.rowsFor(c)/4) }

// moneyWait is for how much of the time that a batch takes to begin a chunk of
// tailRows or more waits for more money. Longer waits make fewer and larger
// batches yet, but leave money idle: what is free turns over sooner in small ones.
const moneyWait = 0.1

// awaitMoney is until when a chunk of so many rows, few being the least, waits
// for money that what is outstanding will free; now: it makes do with what there
// is, for that will do or nothing will come in time.
func (c *Core) awaitMoney(s *stream, q *batchQueue, rows, few int64) time.Duration {
	t, until := s.bat, Never
	if rows < tailRows {
		t.heldAt = 0
	} else if t.heldAt == 0 {
		t.heldAt = c.now
	}
	switch {
	case rows < 1:
		return Never
	case rows >= few || !c.frees(s):
		return c.now
	case rows >= tailRows:
		until = t.heldAt + span(moneyWait*q.start())
	}
	if t.plan.timed {
		_, late := q.expect(few)
		until = min(until, t.plan.due-span(rushTimes*late))
	}
	return max(c.now, until)
}

// rushTimes is how many times what a batch takes are left of a stream's time
// when none waits any more: for the one that frees its money, and its own.
const rushTimes = 2

// frees says whether something of the stream's ledgers is reserved and will
// come back before long: what is overdue may be so for hours.
func (c *Core) frees(s *stream) bool {
	for _, id := range s.Ledgers {
		if int(id) < len(c.ledgers) && c.ledgers[id].reserved > c.stuckMoney(id) {
			return true
		}
	}
	return false
}

// stuckMoney is what is reserved of a ledger for batches that count as stalled, and
// whose end was not asked for, or that nobody has taken over yet.
func (c *Core) stuckMoney(id LedgerID) (nanos int64) {
	nanos = c.ledgers[id].ahead
	for _, b := range c.bat.live {
		if b.stalled && !b.canceling && !b.doomed && b.draws(id) {
			nanos += b.worst
		}
	}
	return nanos
}
