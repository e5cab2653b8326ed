package sched

import "time"

// A create whose answer was lost may have been carried out. It is looked for
// before its rows go anywhere else (facts/peer-faults.md 10), until enough
// whole listings, over long enough, have not shown it.
const (
	findFirst  = 5 * time.Second // then twice as long each time,
	findMost   = time.Minute     // up to this
	findAsked  = 3
	findFor    = 2 * time.Minute
	findJitter = 0.1
)

// doubtCreate begins to look for a batch.
func (c *Core) doubtCreate(b *batch) {
	b.step, b.asked, b.fails = batchLooking, 0, 0
	b.gap = findFirst
	b.due = c.now + c.bat.rng.around(b.gap, findJitter)
	b.lost = max(b.sent+batchLife, c.now+lostGrace)
}

// onBatchAbsent: it was not there; a listing that failed says nothing.
func (c *Core) onBatchAbsent(e *BatchAbsent) {
	b := c.batchAt(e.Batch)
	if b == nil || b.step != batchLooking {
		return
	}
	c.answered(b, e.Asked)
	if e.Asked {
		b.asked++
	}
	if b.asked >= findAsked && c.now-b.sent >= findFor {
		if b.stream.closed {
			c.forget(b, 0)
		} else {
			c.releaseBatch(b, ReleaseBatch{})
		}
		return
	}
	b.gap = min(2*b.gap, findMost)
	b.due = c.now + c.bat.rng.around(b.gap, findJitter)
}

// notOurs begins anew after the results of what was believed to be our batch
// turned out to be somebody else's: there may be another candidate.
func (c *Core) notOurs(b *batch) {
	b.sure, b.stalled, b.doomed, b.canceling, b.why = false, false, false, false, CancelUntold
	c.enqueue(b)
	c.doubtCreate(b)
}

// onAdopt takes over a batch of an earlier process.
func (c *Core) onAdopt(e *AdoptBatch) {
	if was := c.batchAt(e.Was); was != nil && was.stream.closed {
		c.forget(was, 0)
	}
	l, s := c.batchLane(e.Lane), c.stream(e.Stream)
	if l == nil || s == nil || s.closed {
		c.bat.last++
		c.out.release(ReleaseBatch{Batch: c.bat.last, Lost: true})
		return
	}
	b := c.newBatch(s, l, min(max(e.Rows, 0), mostCount), max(e.Worst, 0), e.Aside...)
	b.bytes, b.tries = e.Bytes, 1
	at := max(min(e.CreatedAt, c.now), c.now-batchMemory)
	b.sent, b.created, b.polled = at, at, c.now
	s.batchState().adopted(b)
	if !e.Known {
		c.doubtCreate(b)
		b.due = c.now
		return
	}
	b.step, b.sure, b.canceling, b.doomed = batchPlaced, e.Sure, e.Canceling, e.Canceling
	b.cancelAt = c.now
	b.lost = max(b.created+batchLife, c.now+lostGrace)
	b.due = c.now
	c.bat.dirty = true
}

// batchMemory is how old a batch can be at most: its results are kept for 29
// days (facts/claude-api.md 4.4).
const batchMemory = 29 * 24 * time.Hour

// lostGrace is how long at least we ask about a batch that we came to late.
const lostGrace = time.Hour
