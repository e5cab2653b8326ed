package emulator

import (
	"slices"
	"time"
)

// batchQueue is one org's batches and what works them off. Between two events
// every rate is constant, so that progress is a sum of products and a batch of
// any size costs the same; only the end of a batch looks at its rows.
type batchQueue struct {
	m    *Model
	org  int
	pace *Batching

	at  time.Duration // progress is that of this instant
	due time.Duration // next event; Never: none

	open []*Batch // not ended, by creation
	kept []*Batch // not deleted, by creation
	byID map[string]*Batch
	busy int // places taken

	others []batchOther
	made   uint64 // batches
	asked  uint64 // creates

	calls   bucket // HTTP requests
	callsAt time.Duration
	stats   BatchStats
}

func newBatchQueue(m *Model, org int) *batchQueue {
	o := &m.orgs[org]
	q := &batchQueue{
		m: m, org: org, pace: &m.pacing, byID: map[string]*Batch{},
		calls: newBucket(o.BatchRPM, 1),
	}
	for _, c := range o.BatchColleagues {
		q.others = append(q.others, newBatchOther(c))
	}
	q.plan()
	return q
}

// advanceBatches lets what is due in any org's queue happen.
func (m *Model) advanceBatches(now time.Duration) {
	if now < m.batchDue {
		return
	}
	for _, q := range m.queues {
		q.advance(now)
	}
}

// advance handles events in time order, those at now included.
func (q *batchQueue) advance(now time.Duration) {
	for q.due <= now {
		q.move(q.due)
		q.happen()
	}
}

// change is an event from outside, at now: a batch comes, or a cancel.
func (q *batchQueue) change(now time.Duration, what func()) {
	q.advance(now)
	q.move(now)
	what()
	q.happen()
}

// move lets the rows go on until an instant before which nothing happens.
func (q *batchQueue) move(to time.Duration) {
	dt := (to - q.at).Seconds()
	q.at = to
	for _, b := range q.open {
		if b.rate > 0 {
			b.done = min(float64(b.n), b.done+b.rate*dt)
		}
	}
}

// happen does what is due at the queue's instant.
func (q *batchQueue) happen() {
	q.endSome()
	q.comeOthers()
	q.fill()
	q.setRates()
	q.plan()
}

// endSome ends the batches whose time has come. Settling rows opens no batch.
func (q *batchQueue) endSome() {
	kept := q.open[:0]
	for _, b := range q.open {
		if b.processed(0) < int64(b.n) && q.at < b.closes && q.at < b.Expires {
			kept = append(kept, b)
			continue
		}
		q.end(b)
	}
	clear(q.open[len(kept):])
	q.open = kept
}

func (q *batchQueue) end(b *Batch) {
	if b.phase == running {
		q.busy--
	}
	b.phase, b.rate, b.EndedAt = over, 0, q.at
	rest := Expired
	if b.CancelAt != Never {
		rest = Canceled
	}
	q.m.settleRows(b, b.processed(0), rest)
}

// fill gives free places away, in the order of creation.
func (q *batchQueue) fill() {
	for _, b := range q.open {
		if q.busy >= q.pace.AtOnce {
			return
		}
		if b.phase == warming && q.at >= b.ready && b.CancelAt == Never && q.pace.Size.of(int64(b.n)) > 0 {
			b.phase = running
			q.busy++
			q.startNoise(b)
		}
	}
}

// plan finds the next event.
func (q *batchQueue) plan() {
	due, moving := Never, false
	for i := range q.others {
		due = min(due, q.others[i].next)
	}
	for _, b := range q.open {
		due = min(due, b.Expires, b.closes)
		if b.phase == warming && b.ready > q.at {
			due = min(due, b.ready)
		}
		if b.rate > 0 {
			moving = true
			due = min(due, later(q.at, (float64(b.n)-b.done)/b.rate), b.lastRow())
		}
	}
	if moving {
		due = min(due, q.at-q.at%noiseStep+noiseStep)
	}
	if h := q.pace.Hours; h.From != h.To && len(q.open) > 0 {
		due = min(due, q.m.nextHour(q.at))
	}
	q.due = due
	q.m.planBatches()
}

// planBatches finds the first event of all queues.
func (m *Model) planBatches() {
	m.batchDue = Never
	for _, q := range m.queues {
		m.batchDue = min(m.batchDue, q.due)
	}
}

// later is an instant some seconds after another, and never that same one: work
// of less than a nanosecond would keep the queue at it for ever.
func later(at time.Duration, s float64) time.Duration {
	if d := max(seconds(s), 1); d < Never-at {
		return at + d
	}
	return Never
}

// nextHour is when the wall clock next shows a full hour.
func (m *Model) nextHour(at time.Duration) time.Duration {
	t := m.start.Add(at)
	return at + t.Truncate(time.Hour).Add(time.Hour).Sub(t)
}

// waiting is how many rows of the org are not processed yet at now, which the
// queue has been advanced to: what the cap and the depth count.
func (q *batchQueue) waiting(now time.Duration) int64 {
	sum := int64(0)
	for _, b := range q.open {
		sum += int64(b.n) - b.processed(now-q.at)
	}
	return sum
}

// forget takes a batch out of the list.
func (q *batchQueue) forget(b *Batch) {
	delete(q.byID, b.ID)
	if i := slices.Index(q.kept, b); i >= 0 {
		q.kept = slices.Delete(q.kept, i, i+1)
	}
}
