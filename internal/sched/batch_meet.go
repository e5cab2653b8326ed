package sched

import (
	"cmp"
	"slices"
	"time"
)

// meet is the end of a route that is in a hurry (facts/control.md C.3): sync
// eats the source from its near end and batches from its far one until nothing
// is left. What batches still hold then is awaited, unless sync would be through
// with it sooner, the time of a cancel included.
func (c *Core) meet(s *stream) {
	o := &s.bat.plan
	if o.sync <= 0 {
		return
	}
	left := s.backlog()
	rest := float64(int64(s.queued)+left) / o.sync
	if left > 0 {
		rest = float64(int64(s.queued)+left) / (o.sync + o.batch)
	}
	o.meet = c.now + span(rest)
	if cancel := c.cancelTimeOf(s); rest > cancel {
		c.replan(c.now + span(rest-cancel))
	} else if late := c.lateBatches(s); len(late) > 0 {
		c.giveUpFor(s, late, rest)
	}
}

// cancelTimeOf is the longest time that a cancel of one of the stream's
// batches takes.
func (c *Core) cancelTimeOf(s *stream) float64 {
	most := 0.0
	for _, q := range c.bat.queues {
		if q.serves(s, c.now) {
			most = max(most, q.cancelTime())
		}
	}
	return most
}

// lateBatches are those that may be cancelled, the one that ends last first.
func (c *Core) lateBatches(s *stream) []*batch {
	late := c.bat.late[:0]
	for _, b := range c.bat.live {
		if b.stream == s && b.step == batchPlaced && b.sure && !b.canceling && !b.doomed {
			b.rest = c.remains(b)
			late = append(late, b)
		}
	}
	slices.SortStableFunc(late, func(a, b *batch) int { return cmp.Compare(b.rest, a.rest) })
	c.bat.late = late
	return late
}

// remains is how many seconds more a batch will probably run. One that is late
// is taken to be as late again.
func (c *Core) remains(b *batch) float64 {
	p50, _ := b.lane.org.batches.expect(b.rows)
	age := secs(c.now - b.created)
	return max(p50-age, lateShare*min(age, p50), age-p50)
}

const lateShare = 0.25

// unanswered is how many rows a cancelled batch will probably give back.
func (c *Core) unanswered(b *batch) float64 {
	q := b.lane.org.batches
	run := float64(b.rows) / q.rate()
	return float64(b.rows) * min(1, c.remains(b)/max(run, 1))
}

// giveUpFor ends the batches whose rows sync would answer sooner than they do.
// That is decided no earlier than the cancel has to go, for sync has other rows
// until then.
func (c *Core) giveUpFor(s *stream, late []*batch, rest float64) {
	o := &s.bat.plan
	rows := 0.0
	for _, b := range late {
		back := rows + c.unanswered(b)
		byThen := max(rest, b.lane.org.batches.cancelTime()) + back/o.sync + o.slack/2
		if b.rest <= giveUpGain*byThen {
			break
		}
		if s.offered+s.backlog()+int64(back) > o.affords {
			break // its caps leave them to batches
		}
		rows = back
		b.doom(CancelSooner)
	}
	c.replan(c.now + meetLook)
}

// While both tiers are near their end they are weighed every few seconds. What
// is given up is what would end later by a tenth, for nothing is sure.
const (
	giveUpGain = 1.1
	meetLook   = 3 * time.Second
)

// cancelTime is the seconds from a cancel to the end, as measured, else as
// observed elsewhere (facts/claude-api.md 4.5), and a poll.
func (q *batchQueue) cancelTime() float64 {
	if q.cancels.n > 0 {
		return q.cancels.v + secs(pollLeast)/2
	}
	return 40
}
