package emulator

import (
	"slices"
	"time"
)

// The most a batch may have (facts/claude-api.md 4.3).
const (
	maxBatchRows  = 100_000
	maxBatchBytes = 256 << 20
)

// BatchRefusal says why a create made no batch. The zero value: it made one.
type BatchRefusal struct {
	Status int   // 413, 429 or 529
	Class  Class // Invalid (too many rows or bytes), QueueFull, SpendLimit or Overload
	// RetryAfter is what the refusal's header says, in whole seconds; 0: no
	// such header.
	RetryAfter time.Duration
}

// Submit is one create that has been read whole: n rows, at least one, in a
// body of a number of bytes. row gives what row i asks, its Org left out; it is
// asked for row 0 where the batch is refused, else for every row once, when the
// batch ends, and is let go then. The batch is nil where the create is refused.
// Rows of batches touch no limit of the sync tier (facts/claude-api.md 3.1).
// The call itself is the business of [Model.BatchCall].
func (m *Model) Submit(now time.Duration, org int, n int, bytes int64, row func(i int) Arrival) (*Batch, BatchRefusal) {
	m.Advance(now)
	q := m.queues[org]
	q.asked++
	if r := m.refuseBatch(now, q, n, bytes); r != (BatchRefusal{}) {
		m.countRefused(org, n, row, r.Class)
		return nil, r
	}
	b := q.newBatch(now, n, bytes)
	b.row = row
	q.change(now, func() { q.take(b) })
	return b, BatchRefusal{}
}

// refuseBatch is in the order of refuse: the provider, the month, the queue.
func (m *Model) refuseBatch(now time.Duration, q *batchQueue, n int, bytes int64) BatchRefusal {
	o := &m.orgs[q.org]
	k := key{mix(m.seed, 0x2545f4914f6cdd1d), uint64(q.org)<<48 | q.asked}
	switch {
	case k.chance(drawStorm, m.sc.Storm.share(now)):
		return BatchRefusal{Status: 529, Class: Overload}
	case n < 1 || n > maxBatchRows || bytes > maxBatchBytes:
		return BatchRefusal{Status: 413, Class: Invalid}
	case m.overSpent(now, o):
		return BatchRefusal{Status: 429, Class: SpendLimit}
	case o.BatchQueue > 0 && q.waiting(now)+int64(n) > o.BatchQueue:
		return BatchRefusal{Status: 429, Class: QueueFull, RetryAfter: q.room(now, q.waiting(now)+int64(n)-o.BatchQueue)}
	}
	return BatchRefusal{}
}

// The least and the most that a full queue's retry-after says: how long room
// will take is only known for the rates of now.
const (
	leastRoom = 10.0
	mostRoom  = 300.0
)

// room is how long it takes, at the rates of now, to process some rows.
func (q *batchQueue) room(now time.Duration, rows int64) time.Duration {
	rate := 0.0
	for _, b := range q.open {
		if b.processed(now-q.at) < int64(b.n) {
			rate += b.rate
		}
	}
	wait := mostRoom
	if rate > 0 {
		wait = min(mostRoom, float64(rows)/rate)
	}
	return wholeSeconds(max(leastRoom, wait))
}

// countRefused counts a refused create for the pool of its first row.
func (m *Model) countRefused(org, n int, row func(int) Arrival, class Class) {
	s := &m.orgs[org].nowhere
	if n > 0 {
		if a := row(0); !a.Invalid {
			s = &m.lanes[org][m.pool[a.Model]].stats
		}
	}
	s.Refused[class]++
}

// newBatch is the org's next one; its draws are keyed by how-many-th it is.
func (q *batchQueue) newBatch(now time.Duration, n int, bytes int64) *Batch {
	q.made++
	k := key{mix(q.m.seed, 0x9fb21c651e98df25), mix(uint64(q.org)+1, q.made)}
	b := &Batch{
		ID: token("msgbatch_01", k, 22), Org: q.org, m: q.m, key: k, n: n, bytes: bytes,
		Created: now, Expires: now + q.pace.Expiry, CancelAt: Never, EndedAt: Never, closes: Never,
	}
	b.ready = now + min(longest, seconds(k.lognormal(drawBatchOverhead, q.pace.Overhead.Seconds(), q.pace.OverheadSD)))
	return b
}

// take puts a new batch into the queue.
func (q *batchQueue) take(b *Batch) {
	q.open = append(q.open, b)
	q.kept = append(q.kept, b)
	q.byID[b.ID] = b
	if !b.Other {
		q.stats.Created++
		q.stats.Rows += int64(b.n)
	}
	q.stats.PeakQueued = max(q.stats.PeakQueued, q.waiting(q.at))
}

// BatchCall is one HTTP request to any batch endpoint, a create included: it
// takes one out of the org's batch requests per minute, or says in how many
// whole seconds that will do. The sync tier's limits do not know of it.
func (m *Model) BatchCall(now time.Duration, org int) (ok bool, retryAfter time.Duration) {
	m.Advance(now)
	q := m.queues[org]
	q.stats.HTTPRequests++
	q.calls.advance((now - q.callsAt).Seconds(), 0)
	q.callsAt = now
	if !q.calls.fits(1) {
		return false, wholeSeconds(q.calls.wait(1))
	}
	q.calls.take(1)
	return true, 0
}

// CancelBatch asks for the end of a batch: rows that are under way may still
// succeed, the others come back Canceled, and the batch ends about 25 s later.
// One that has ended, or was canceled before, is left as it is.
func (m *Model) CancelBatch(now time.Duration, b *Batch) {
	m.Advance(now)
	if b.phase == over || b.CancelAt != Never {
		return
	}
	q := m.queues[b.Org]
	q.change(now, func() {
		b.CancelAt = now
		b.closes = now + min(longest, seconds(b.key.lognormal(drawBatchCancel, q.pace.Cancel.Seconds(), cancelSD)))
	})
}

// DeleteBatch lets an ended batch and its results go. One in progress stays.
func (m *Model) DeleteBatch(now time.Duration, b *Batch) {
	if b.Status(now) != Ended {
		return
	}
	m.queues[b.Org].forget(b)
	b.results = nil
}

// Queued is how many rows an org has in processing as a list of its batches
// shows it: all rows of every batch that has not ended, colleagues' included.
func (m *Model) Queued(now time.Duration, org int) int64 {
	m.Advance(now)
	sum := int64(0)
	for _, b := range m.queues[org].open {
		sum += int64(b.n)
	}
	return sum
}

// Waiting is how many rows of an org are not processed yet: what the queue's
// cap counts (facts/claude-api.md 3.2), at most Queued.
func (m *Model) Waiting(now time.Duration, org int) int64 {
	m.Advance(now)
	return m.queues[org].waiting(now)
}

// Batches lists an org's batches, newest first, ended ones included,
// colleagues' too.
func (m *Model) Batches(now time.Duration, org int) []*Batch {
	m.Advance(now)
	out := slices.Clone(m.queues[org].kept)
	slices.Reverse(out)
	return out
}

// BatchByID finds an org's batch; nil where the org has none of that id.
func (m *Model) BatchByID(now time.Duration, org int, id string) *Batch {
	m.Advance(now)
	return m.queues[org].byID[id]
}
