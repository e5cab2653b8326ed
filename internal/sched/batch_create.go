package sched

import "time"

// onGathered has the rows of a batch: its intent is made durable and it is
// created, where its time has not passed meanwhile.
func (c *Core) onGathered(e *Gathered) {
	b := c.batchAt(e.Batch)
	if b == nil || b.step != batchGathering {
		return
	}
	c.bat.dirty = true
	q := b.lane.org.batches
	pile := b.stream.pile(b.lane.pool)
	pile.asked -= b.rows
	rows := min(max(e.Rows, 0), b.rows)
	if rows == 0 {
		q.calls.giveBack()
		pile.empty(c.now)
		c.forget(b, 0)
		return
	}
	pile.found(rows)
	q.own += rows - b.rows
	b.rows, b.bytes = rows, e.Bytes
	if worst := min(max(e.Worst, 0), b.worst); worst < b.worst {
		c.charge(b.stream, b.worst-worst, 0, b.aside...)
		b.worst = worst
	}
	b.step = batchReady
	if !b.stream.sendable(c.now) {
		c.releaseBatch(b, ReleaseBatch{})
		return
	}
	c.submit(b)
}

// submit asks for the create of a batch, its call taken already.
func (c *Core) submit(b *batch) {
	b.step, b.calling, b.sent = batchCreating, true, c.now
	b.lost = c.now + batchLife
	b.tries++
	var intent *PersistBatch
	if b.tries == 1 {
		intent = &PersistBatch{Batch: b.id, Lane: b.lane.id, Worst: b.worst}
	}
	c.out.submit(intent, SubmitBatch{Batch: b.id, Lane: b.lane.id, Try: b.tries, Probe: b.canary})
}

// batchLife is after how long a batch is given up: it expires after 24 hours
// (facts/claude-api.md 4.2), and an hour of grace is for its results.
const batchLife = 25 * time.Hour

// tendReady creates a batch again that was refused; where its org closed, its
// stream's time has passed, or it was refused too often, its rows may do
// better elsewhere.
func (c *Core) tendReady(b *batch) {
	q := b.lane.org.batches
	if !b.stream.sendable(c.now) && !b.stream.paused || b.lane.parked() != nil || b.tries >= createTries || b.doomed {
		c.releaseBatch(b, ReleaseBatch{})
		return
	}
	if d := b.stream.Deadline; d > 0 {
		c.batchWake(d)
	}
	if b.stream.paused || b.lane.paused {
		return
	}
	if at := max(b.due, q.hold, q.calls.free(c.now)); at > c.now {
		c.batchWake(at)
		return
	}
	q.calls.take(c.now)
	c.submit(b)
}

// createTries is after how many creates of the same rows, none of them made,
// they go back.
const createTries = 6

// onBatchCreated: the provider has it. Said again with Sure, it is proven ours.
func (c *Core) onBatchCreated(e *BatchCreated) {
	b := c.batchAt(e.Batch)
	if b == nil {
		return
	}
	c.bat.dirty = true
	switch b.step {
	case batchCreating:
		b.created = c.now
	case batchLooking:
		b.created = b.sent
	default:
		b.sure = b.sure || e.Sure && b.step >= batchPlaced
		return
	}
	c.answered(b, true)
	q := b.lane.org.batches
	q.fulls, q.full = 0, 0
	b.lane.sent++
	b.step, b.state, b.sure = batchPlaced, BatchRunning, e.Sure
	b.lost = max(b.created+batchLife, c.now+lostGrace)
	b.polled = c.now
	c.firstPoll(b)
}

// onBatchRefused: an error in place of the batch, and proof that there is none.
func (c *Core) onBatchRefused(e *BatchRefused) {
	b := c.batchAt(e.Batch)
	if b == nil || b.step != batchCreating {
		return
	}
	rf := &e.Refusal
	class := min(rf.Class, NumClasses-1)
	if class == RateLimited && rf.RetryAfter > 300*time.Second {
		class = Daily
	}
	b.lane.refused[class]++
	again := ReleaseBatch{Refused: true, Why: class}
	switch {
	case e.TooBig:
		c.answered(b, true)
		c.tooBig(b)
		c.releaseBatch(b, again)
	case class == Invalid || class == NoModel:
		c.answered(b, true)
		b.stream.deny(b.lane)
		c.releaseBatch(b, again)
	case class == Auth || class == Permission || class == Credit || class == Hold || class == Spend:
		c.answered(b, false)
		c.close(b.lane, &b.lane.org.park, class, rf)
		c.releaseBatch(b, again)
	case class == Daily:
		c.answered(b, false)
		c.close(b.lane, &b.lane.park, Daily, rf)
		c.releaseBatch(b, again)
	case class == QueueFull:
		c.answered(b, true)
		q := b.lane.org.batches
		q.refuseFull(c.placed(q), c.now, rf.RetryAfter)
		c.releaseBatch(b, again)
	case class == ServerError || class == Unknown504 || class == Conflict || class == Overloaded:
		c.answered(b, false)
		c.doubtCreate(b) // no proof: only a 429 or a call never sent is one (design.md)
	default:
		c.answered(b, true)
		c.createAgain(b, rf.RetryAfter)
	}
}

// createAgain has the same rows created after a wait, which holds for the
// whole org: the limit is its.
func (c *Core) createAgain(b *batch, retryAfter time.Duration) {
	wait := c.bat.rng.around(c.createGap(b), 0.25)
	if retryAfter > 0 {
		wait = c.bat.rng.longer(retryAfter, 0.1)
		c.holdQueue(b.lane.org.batches, wait)
	}
	b.step, b.due = batchReady, c.now+wait
}

func (c *Core) createGap(b *batch) time.Duration {
	return min(c.cfg.BaseDelay<<min(b.tries-1, 6), time.Minute)
}

// holdQueue keeps all calls to an org's batch endpoints for a while.
func (c *Core) holdQueue(q *batchQueue, wait time.Duration) {
	q.hold = max(q.hold, c.now+wait)
}

// tooBig halves what one batch of the lane may weigh.
func (c *Core) tooBig(b *batch) {
	l := b.lane
	size := b.bytes
	if size <= 0 {
		size = l.maxBytes
	}
	l.maxBytes = max(1, min(l.maxBytes, size/2))
	if b.rows <= 1 {
		b.stream.deny(l) // one row alone is too big: sync has other limits
	}
}

// onBatchFailed: a create without an answer. Not sent, it is repeated; else it
// may have been carried out.
func (c *Core) onBatchFailed(e *BatchFailed) {
	b := c.batchAt(e.Batch)
	if b == nil || b.step != batchCreating {
		return
	}
	b.lane.failed++
	c.answered(b, false)
	if e.Failure == NotSent {
		b.step, b.due = batchReady, c.now+c.bat.rng.around(c.createGap(b), 0.5)
		return
	}
	c.doubtCreate(b)
}
