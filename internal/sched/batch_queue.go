package sched

import (
	"cmp"
	"time"
)

// batchQueue is an org's batch queue, over all its pools: what is in it, what
// it takes, and what was learned of how it proceeds.
type batchQueue struct {
	org   *org
	lanes []*lane

	cap    int64 // rows it takes; 0: unknown
	others int64 // rows of others in it
	own    int64 // rows of ours: from Gather until the batch is seen to have ended
	n      int   // such batches
	full   time.Duration
	fulls  int // queue-full refusals in a row

	learned   int64         // rows it took when it was full; 0: it was not, or that is long ago
	learnedAt time.Duration // when that was last believed

	calls callRate
	hold  time.Duration // a retry-after: no call before

	win      float64       // batches that may be outstanding; 0: no stream has come
	size     float64       // rows of a batch, at most
	depth    int64         // rows at which it stalled; 0: it never did
	struckAt time.Duration // when
	cleared  time.Duration // end of the last stall

	arms    [batchClasses]arm
	rates   ring    // rows a second of a batch
	waits   ring    // the same over a fixed measure, to tell whether they wait for each other
	quick   float64 // the least that the newest of these were together; 0: not known
	odds    ring    // time taken over what was expected
	cancels mean    // seconds from a cancel to the end

	overhead time.Duration // told; 0: not
	told     float64       // rate told; 0: not
	parallel int           // told; 0: not

	stall stall

	listing bool
	listed  time.Duration // when its listing was last asked for
	heard   bool          // and once answered
}

// Shares of an org's queue cap and of its calls that are ours.
const (
	queueShare = 0.8  // own and observed rows together (facts/control.md B.12)
	pollShare  = 0.25 // of the calls go to polling, so that a poll never keeps a create or a cancel waiting
)

func (c *Core) batchQueueOf(o *org) *batchQueue {
	if o.batches == nil {
		o.batches = &batchQueue{org: o}
		c.bat.queues = append(c.bat.queues, o.batches)
	}
	return o.batches
}

// tell takes in what a lane's configuration says of its org's queue.
func (q *batchQueue) tell(cfg *LaneConfig, now time.Duration) {
	q.cap = cmp.Or(cfg.Queue, q.cap)
	q.others = cmp.Or(cfg.Others, q.others)
	q.overhead = cmp.Or(cfg.Overhead, q.overhead)
	q.told = cmp.Or(cfg.RowRate, q.told)
	q.parallel = cmp.Or(cfg.Parallel, q.parallel)
	q.calls.set(cmp.Or(cfg.BatchRPM, q.calls.rpm), now)
}

// room is how many rows more may be put in.
func (q *batchQueue) room() int64 {
	room := int64(maxBatchRows)
	if most := q.most(); most > 0 {
		room = int64(queueShare*float64(most)) - q.others - q.own
	}
	if q.depth > 0 {
		room = min(room, int64(depthShare*float64(q.depth))-q.own)
	}
	return max(0, room)
}

// most is how many rows it takes, as far as is known; 0: nothing is.
func (q *batchQueue) most() int64 {
	if q.learned > 0 && (q.cap == 0 || q.learned < q.cap) {
		return q.learned
	}
	return q.cap
}

// doubtLearned raises what was learned once it is old: a queue that was full of
// others' rows need not be, and to ask costs one refusal.
func (q *batchQueue) doubtLearned(now time.Duration) {
	if q.learned == 0 || now < q.learnedAt+learnedHolds {
		return
	}
	q.learned += max(q.learned/2, startRows)
	q.learnedAt = now
	if q.learned > max(q.cap, maxBatchRows) {
		q.learned = 0
	}
}

// reopens is when a queue without room is asked again though nothing of ours
// left it.
func (q *batchQueue) reopens() time.Duration {
	if q.learned == 0 {
		return Never
	}
	return q.learnedAt + learnedHolds
}

const learnedHolds = 10 * time.Minute

func (c *Core) enqueue(b *batch) {
	q := b.lane.org.batches
	b.queued = true
	q.n++
	q.own += b.rows
	b.lane.n++
	b.lane.peak = max(b.lane.peak, b.lane.n)
}

// dequeue says that a batch is no longer in its org's queue.
func (c *Core) dequeue(b *batch) {
	if !b.queued {
		return
	}
	b.queued = false
	q := b.lane.org.batches
	q.n--
	q.own -= b.rows
	b.lane.n--
	c.bat.dirty = true
}

// refuseFull learns from a create that was refused for a full queue: it takes
// less than we thought, and nothing until something left it. What it holds is
// what was placed: creates that go out together are refused together.
func (q *batchQueue) refuseFull(placed int64, now time.Duration, wait time.Duration) {
	q.fulls++
	if took := placed + q.others; took > 0 {
		if learned := int64(float64(took) / queueShare); q.most() == 0 || learned < q.most() {
			q.learned = max(learned, 1)
		}
		q.learnedAt = now
	}
	gap := min(fullGap<<min(q.fulls-1, 5), fullGapMost)
	q.full = max(q.full, now+max(gap, wait))
}

// placed is how many rows of ours the provider is known to have in a queue.
func (c *Core) placed(q *batchQueue) (rows int64) {
	for _, b := range c.bat.live {
		if b.queued && b.step >= batchPlaced && b.lane.org.batches == q {
			rows += b.rows
		}
	}
	return rows
}

// Waits after a queue was full, where no batch of ours ends before: doubled
// each time.
const (
	fullGap     = 30 * time.Second
	fullGapMost = 10 * time.Minute
)

// Listings of an org's queue: before the first batch, then while there is work.
const (
	listGap  = 5 * time.Minute
	listWait = 10 * time.Second // for the first answer, before we go on without
)

// listQueues asks what others have in the queues that are used.
func (c *Core) listQueues() {
	for _, q := range c.bat.queues {
		l := q.lister(c)
		if l == nil {
			continue
		}
		at := max(q.hold, q.calls.free(c.now))
		if q.listed > 0 || q.listing {
			at = max(at, q.listed+listGap)
		}
		if at > c.now {
			c.batchWake(at)
			continue
		}
		q.calls.take(c.now)
		q.listing, q.listed = true, c.now
		c.out.list(ListBatches{Lane: l.id})
		c.batchWake(c.now + listGap)
	}
}

// unheard is until when the first listing of the queue is awaited; now or
// before: it is not.
func (q *batchQueue) unheard(now time.Duration) time.Duration {
	if q.listing && !q.heard {
		return q.listed + listWait
	}
	return now
}

// lister is a lane of the queue that has work, or nil.
func (q *batchQueue) lister(c *Core) *lane {
	if q.org.park.on {
		return nil
	}
	for _, l := range q.lanes {
		for _, s := range c.streams {
			if p := s.pile(l.pool); p != nil && p.Rows > 0 && s.batches(c.now) && !l.paused {
				return l
			}
		}
	}
	return nil
}

// onQueueSeen takes in what others have in an org's queue.
func (c *Core) onQueueSeen(e *QueueSeen) {
	l := c.batchLane(e.Lane)
	if l == nil {
		return
	}
	q := l.org.batches
	q.others = max(0, e.Others)
	if e.Cap > 0 {
		q.cap, q.learned = e.Cap, 0
	}
	q.heard = true
	c.bat.dirty = true
}
