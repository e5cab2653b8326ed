package sched

import "time"

// A running batch shows nothing until it ends, so a poll only asks whether it
// has. It is asked often enough to lose a tenth of its time at most, near its
// expected end first of all, and never so often that the polls of all batches
// together take more than a quarter of the org's calls.
const (
	pollFirst  = 30 * time.Second // of a size whose time is not known
	pollEarly  = 0.75             // of the expected time has passed, where it is
	pollOften  = 0.1              // of its age between polls
	pollLeast  = 10 * time.Second
	pollMost   = 2 * time.Minute
	pollEnding = 10 * time.Second // at most, once its end was asked for
	pollJitter = 0.1
	pollMissed = 5 * time.Second // after a 404 of a batch that we made (facts/peer-faults.md 9), and longer each time
)

// firstPoll sets when a batch is first asked about.
func (c *Core) firstPoll(b *batch) {
	q := b.lane.org.batches
	at := pollFirst
	if q.known() {
		p50, _ := q.expect(b.rows)
		at = min(max(pollLeast, span(pollEarly*p50)), pollMost)
	}
	b.gap = max(b.created+at-c.now, pollLeast)
	b.due = c.now + c.spaced(b, b.gap)
}

// pollAgain sets when a batch that has not ended is asked about next.
func (c *Core) pollAgain(b *batch, wish time.Duration) {
	gap := time.Duration(pollOften * float64(c.now-b.created))
	gap = max(pollLeast, min(gap, pollMost))
	if b.canceling {
		gap = min(gap, pollEnding)
	}
	b.gap = gap
	b.due = c.now + max(c.spaced(b, gap), wish)
}

// spaced is a wait with the chance that keeps polls apart, no shorter than the
// org's calls allow.
func (c *Core) spaced(b *batch, gap time.Duration) time.Duration {
	q := b.lane.org.batches
	return c.bat.rng.around(max(gap, q.calls.spacing(q.n)), pollJitter)
}

// tendPlaced cancels a batch whose end is wanted, and polls.
func (c *Core) tendPlaced(b *batch) {
	if b.doomed && !b.canceling && b.sure {
		due := b.due
		if b.fails == 0 {
			b.due = c.now
		}
		if c.callBatch(b, func() { c.out.cancelBatch(CancelBatch{Batch: b.id, Why: b.why}) }) {
			b.canceling, b.cancelAt = true, c.now
			return
		}
		b.due = max(due, b.due)
		return
	}
	c.callBatch(b, func() { c.out.poll(PollBatch{Batch: b.id}) })
}

// onBatchPolled takes in how a batch stands.
func (c *Core) onBatchPolled(e *BatchPolled) {
	b := c.batchAt(e.Batch)
	if b == nil || b.step != batchPlaced {
		return
	}
	switch e.State {
	case BatchRunning, BatchCanceling:
		c.answered(b, true)
		b.fails = 0
		c.seenRunning(b, e)
	case BatchEnded:
		c.answered(b, true)
		b.fails = 0
		c.seenEnded(b)
	case BatchMissing:
		c.answered(b, true)
		b.fails++
		b.state = BatchMissing
		c.unseen(b, pollMissed, e.RetryAfter)
	default:
		b.fails++
		b.state = BatchUnknown
		c.pollRefused(b, e)
	}
}

func (c *Core) seenRunning(b *batch, e *BatchPolled) {
	b.state, b.polled = e.State, c.now
	if e.State == BatchCanceling {
		if !b.canceling {
			b.cancelAt = c.now
		}
		b.canceling = true
	} else if b.canceling && c.now-b.cancelAt > cancelAgain {
		b.canceling = false // it was not heard
	}
	c.pollAgain(b, e.RetryAfter)
}

// cancelAgain is after how long a batch that still runs is cancelled again: its
// status shows a cancel at once (facts/claude-api.md 4.5), so one that it does not
// show was lost, and a rescue waits for it.
const cancelAgain = 20 * time.Second

// seenEnded frees the place of a batch and has its results collected.
func (c *Core) seenEnded(b *batch) {
	b.state, b.step = BatchEnded, batchOver
	b.ended = c.now - (c.now-b.polled)/2
	b.due, b.gap, b.fails = c.now, 0, 0
	b.lost = max(b.lost, c.now+lostGrace)
	if b.canceling {
		b.lane.org.batches.cancels.add(secs(b.ended-b.cancelAt), 8)
	}
	q := b.lane.org.batches
	b.full = float64(q.n) >= float64(int(q.win))
	q.full = 0 // something left the queue
	c.dequeue(b)
}

// unseen asks again after a while that grows.
func (c *Core) unseen(b *batch, first, wish time.Duration) {
	b.gap = min(first<<min(b.fails-1, 6), pollMost)
	b.due = c.now + max(c.spaced(b, b.gap), wish)
	if b.canceling && b.state != BatchCanceling {
		b.canceling = c.now-b.cancelAt <= cancelAgain
	}
}

// pollRefused takes in what came in place of a batch.
func (c *Core) pollRefused(b *batch, e *BatchPolled) {
	rf := e.Refusal
	if rf == nil {
		b.lane.failed++
		c.answered(b, false)
		c.unseen(b, pollLeast, e.RetryAfter)
		return
	}
	class := min(rf.Class, NumClasses-1)
	b.lane.refused[class]++
	wish := max(e.RetryAfter, rf.RetryAfter)
	switch class {
	case Auth, Permission, Credit, Hold, Spend:
		c.answered(b, false)
		c.close(b.lane, &b.lane.org.park, class, rf)
	case RateLimited, Acceleration, Concurrency, Daily, QueueFull:
		c.answered(b, true)
		if wish > 0 {
			c.holdQueue(b.lane.org.batches, min(c.bat.rng.longer(wish, 0.1), pollHold))
		}
	default:
		c.answered(b, false)
	}
	c.unseen(b, pollLeast, wish)
}

// pollHold is how long a refused poll keeps an org's batch calls at most: they
// are free, and the results wait.
const pollHold = 5 * time.Minute

// onBatchUncollected: results that could not be read whole are asked for again.
func (c *Core) onBatchUncollected(e *BatchUncollected) {
	b := c.batchAt(e.Batch)
	if b == nil || b.step != batchOver {
		return
	}
	c.answered(b, false)
	b.fails++
	b.gap = min(pollMissed<<min(b.fails-1, 6), pollMost)
	b.due = c.now + c.bat.rng.around(b.gap, pollJitter)
}
