package sched

import (
	"slices"
	"time"
)

// batching is what a core has of batches: nothing, as long as no batch lane is
// open. Its chance is its own, so that batches beside it leave what a sync
// stream does as it is.
type batching struct {
	rng    prng
	last   BatchID
	live   []*batch // in the order of their ids
	queues []*batchQueue
	order  []*stream     // scratch of batchOrder
	late   []*batch      // scratch of lateBatches
	dirty  bool          // something happened since the last look that may open a gate
	short  bool          // money held a chunk: what is freed may open that gate
	wake   time.Duration // when one may open by time alone
	looked time.Duration // when all was looked at last
}

// batch is a batch from its Gather until it is collected or released. Its rows
// are the driver's.
type batch struct {
	id     BatchID
	stream *stream
	lane   *lane
	rows   int64
	bytes  int64
	worst  int64      // nano-dollars reserved
	aside  []LedgerID // of its stream, that do not count it
	step   batchStep
	state  BatchState // as last polled
	queued bool       // it counts in its org's queue

	calling bool          // one of its HTTP calls is out, and at most one
	due     time.Duration // not before, for the next
	gap     time.Duration // before that
	fails   int           // answers in a row that told nothing
	tries   int           // creates
	asked   int           // whole listings that did not show it
	probing *park         // it is the one try of a parked lane or org

	meant   time.Duration // gathered, or adopted
	sent    time.Duration // last create
	created time.Duration
	polled  time.Duration // when it was last seen not to have ended
	ended   time.Duration // about when it did
	lost    time.Duration // from then on it is given up

	sure      bool    // proven ours
	full      bool    // the window was full when it ended
	canary    bool    // a probe of a stalled queue (facts/control.md B.12)
	rest      float64 // seconds it will probably run on; scratch of lateBatches
	stalled   bool
	watched   time.Duration // the watchdog counts from here, where it is later
	witness   bool          // cancelled to see how far it came
	doomed    bool          // its end is wanted
	why       CancelWhy     // …
	canceling bool          // and was asked for
	cancelAt  time.Duration
}

// batchStep is how far a batch has come.
type batchStep uint8

const (
	batchGathering batchStep = iota // the driver takes its rows
	batchReady                      // has its rows and waits for its create
	batchCreating
	batchLooking // its create may have been carried out
	batchPlaced  // the provider has it
	batchOver    // it ended; its results are to be collected
)

// batchAt finds a live batch.
func (c *Core) batchAt(id BatchID) *batch {
	i, ok := slices.BinarySearchFunc(c.bat.live, id, func(b *batch, id BatchID) int { return int(b.id - id) })
	if !ok {
		return nil
	}
	return c.bat.live[i]
}

// newBatch enters a batch into its org's queue.
func (c *Core) newBatch(s *stream, l *lane, rows, worst int64, aside ...LedgerID) *batch {
	c.bat.last++
	b := &batch{id: c.bat.last, stream: s, lane: l, rows: rows, worst: worst, aside: aside, meant: c.now, lost: Never}
	c.bat.live = append(c.bat.live, b)
	c.reserve(s, worst, aside...)
	c.enqueue(b)
	return b
}

// draws says whether a ledger counts the batch.
func (b *batch) draws(id LedgerID) bool {
	return slices.Contains(b.stream.Ledgers, id) && !slices.Contains(b.aside, id)
}

// forget ends a batch: what it cost is charged, what of its worst case is
// left is free.
func (c *Core) forget(b *batch, cost int64) {
	c.dequeue(b)
	c.charge(b.stream, b.worst, cost, b.aside...)
	if p := b.probing; p != nil && p.flying {
		p.flying = false
	}
	if q := b.lane.org.batches; q.stall.fly == b.id {
		q.stall.fly = 0
		c.nextCanary(q)
	}
	if i := slices.Index(c.bat.live, b); i >= 0 {
		c.bat.live = slices.Delete(c.bat.live, i, i+1)
	}
	c.bat.dirty = true
}

// releaseBatch gives a batch up: its rows go back. Lost, its money is in doubt
// for good.
func (c *Core) releaseBatch(b *batch, r ReleaseBatch) {
	r.Batch = b.id
	cost := int64(0)
	if r.Lost {
		cost = b.worst
	}
	c.out.release(r)
	c.forget(b, cost)
}

// tendBatches looks after all batches where something may have opened a gate.
func (c *Core) tendBatches() {
	t := &c.bat
	if len(t.queues) == 0 {
		return
	}
	if t.dirty || c.now >= t.wake {
		t.wake, t.short, t.looked = Never, false, c.now
		c.planBatches()
		c.watchBatches()
		for i := 0; i < len(t.live); {
			b := t.live[i]
			if c.tend(b); i < len(t.live) && t.live[i] == b {
				i++
			}
		}
		c.listQueues()
		c.gatherBatches()
		t.dirty = false
	}
	c.wake = min(c.wake, t.wake)
}

// batchWake sees to it that batches are looked at again at a time.
func (c *Core) batchWake(at time.Duration) {
	if at < Never {
		c.bat.wake = min(c.bat.wake, max(at, c.now+minWait))
	}
}

// replan sees to it that the tiers are weighed again at a time: that they are
// is a matter of seconds.
func (c *Core) replan(at time.Duration) { c.batchWake(max(at, c.now+replanLeast)) }

const replanLeast = time.Second

// tend does what is due for one batch.
func (c *Core) tend(b *batch) {
	switch {
	case b.calling || b.step == batchGathering:
		return
	case c.now >= b.lost && b.step >= batchLooking:
		c.loseBatch(b)
		return
	case b.stream.closed:
		if b.step == batchReady {
			c.releaseBatch(b, ReleaseBatch{})
		} else {
			c.batchWake(b.lost)
		}
		return
	}
	c.batchWake(b.lost)
	switch b.step {
	case batchReady:
		c.tendReady(b)
	case batchLooking:
		c.callBatch(b, func() { c.out.find(FindBatch{Batch: b.id}) })
	case batchPlaced:
		c.tendPlaced(b)
	case batchOver:
		c.callBatch(b, func() { c.out.collect(CollectBatch{Batch: b.id}) })
	}
}

// loseBatch gives up a batch that can no longer be seen. A closed stream's is
// the next run's to look for.
func (c *Core) loseBatch(b *batch) {
	if b.stream.closed {
		c.forget(b, b.worst)
		return
	}
	c.releaseBatch(b, ReleaseBatch{Lost: true})
}

// callBatch makes one call for a batch that is due, as soon as its org's
// endpoints take one.
func (c *Core) callBatch(b *batch, emit func()) bool {
	if c.now < b.due {
		c.batchWake(b.due)
		return false
	}
	p, at := c.readGate(b)
	if at > c.now {
		c.batchWake(at)
		return false
	}
	if p != nil {
		p.flying, b.probing = true, p
	}
	b.lane.org.batches.calls.take(c.now)
	b.calling = true
	emit()
	return true
}

// readGate says when a call about a batch that exists may go: not before what
// the endpoints asked for, and as a parked org's probe where its key is of no
// use (money alone does not keep anyone from looking).
func (c *Core) readGate(b *batch) (*park, time.Duration) {
	q := b.lane.org.batches
	at := max(q.hold, q.calls.free(c.now))
	p := &b.lane.org.park
	if !p.on || p.class == Spend || p.class == Credit {
		return nil, at
	}
	if p.flying {
		return nil, Never
	}
	return p, max(at, p.probe)
}

// answered takes in that a call about a batch came back; well says that the
// org was open for it.
func (c *Core) answered(b *batch, well bool) {
	b.calling = false
	c.bat.dirty = true
	p := b.probing
	b.probing = nil
	if well {
		b.lane.org.succeeded = true
	}
	if p == nil || !p.flying {
		return
	}
	p.flying = false
	if well {
		c.reopen(b.lane, p)
	} else {
		p.probe = max(p.probe, c.now+max(p.gap, dailyGap))
	}
}

// doom wants the end of a batch; the first reason stands.
func (b *batch) doom(why CancelWhy) {
	if !b.doomed {
		b.doomed, b.why = true, why
	}
}
