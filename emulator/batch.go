package emulator

import (
	"math"
	"time"
)

// BatchStatus is a batch's processing_status.
type BatchStatus uint8

// Statuses. A batch that was asked to cancel is Canceling until it has Ended.
const (
	InProgress BatchStatus = iota
	Canceling
	Ended
)

// RowKind is what became of a row of an ended batch.
type RowKind uint8

// Kinds. Only Succeeded rows are billed (facts/claude-api.md 4.4).
const (
	Succeeded RowKind = iota
	Errored           // RowResult.Class says by whose fault
	Canceled          // the batch was canceled before the row was begun
	Expired           // the batch was 24 h old before the row was begun
)

// RowResult is one line of a batch's results.
type RowResult struct {
	Kind   RowKind
	Class  Class // of Errored: Invalid (the row's own fault), Overload or Injected (an api_error); the latter two may be sent again
	Stop   Stop
	Answer uint32 // how-many-th complete answer to its body it is, from 0, sync answers counted too
	Usage  Usage
	Cost   int64 // nano-dollars
}

// BatchCounts are request_counts: all rows stay in Processing until the batch
// has ended (facts/claude-api.md 4.2).
type BatchCounts struct{ Processing, Succeeded, Errored, Canceled, Expired int64 }

// add counts one row.
func (c *BatchCounts) add(k RowKind) {
	switch k {
	case Succeeded:
		c.Succeeded++
	case Errored:
		c.Errored++
	case Canceled:
		c.Canceled++
	case Expired:
		c.Expired++
	}
}

// Batch is one Message Batch that [Model.Submit] took. Its times are on the
// model's time line.
type Batch struct {
	// ID is the batch's msgbatch_… id. It is fixed by the seed, the org and
	// how-many-th batch of the org this is.
	ID       string
	Org      int
	Created  time.Duration
	Expires  time.Duration // 24 h later, unless the scenario says otherwise
	CancelAt time.Duration // when cancel was asked first; Never: not yet
	EndedAt  time.Duration // Never: not yet. It is known to be over only when the model was advanced so far
	Other    bool          // a colleague's: shows in lists, is counted apart

	m     *Model
	key   key
	n     int
	bytes int64
	row   func(i int) Arrival // asked once a row at the end; nil afterwards

	phase  batchPhase
	ready  time.Duration // end of the overhead
	done   float64       // rows processed until the queue's instant
	rate   float64       // rows a second from then on
	noise  float64       // logarithm of the rate's noise
	steps  uint64        // of the noise
	closes time.Duration // canceling: when it ends at the latest

	results []RowResult
	counts  BatchCounts
	upload  *upload // what the server knows of its rows; nil in a rehearsal
}

type batchPhase uint8

const (
	warming batchPhase = iota // no row is processed before ready
	running                   // it holds one of the org's places
	over
)

// Rows is how many rows the batch has.
func (b *Batch) Rows() int { return b.n }

// Bytes is how long its create was.
func (b *Batch) Bytes() int64 { return b.bytes }

// Status is what a poll at now says. It advances the model to now.
func (b *Batch) Status(now time.Duration) BatchStatus {
	b.m.Advance(now)
	switch {
	case b.phase == over:
		return Ended
	case b.CancelAt != Never:
		return Canceling
	}
	return InProgress
}

// Counts are the batch's request_counts at now. It advances the model to now.
func (b *Batch) Counts(now time.Duration) BatchCounts {
	if b.Status(now) != Ended {
		return BatchCounts{Processing: int64(b.n)}
	}
	return b.counts
}

// Results gives every row once, in an order of its own that the seed fixes,
// until yield returns false. There is nothing before the batch has ended, and
// nothing of a colleague's. i is the row's index in the create.
func (b *Batch) Results(yield func(i int, r RowResult) bool) {
	o := newShuffle(len(b.results), b.key, drawBatchResults)
	for j := range b.results {
		i := o.at(j)
		if !yield(i, b.results[i]) {
			return
		}
	}
}

// processed is how many whole rows were processed at now, which is no earlier
// than the queue's instant.
func (b *Batch) processed(since time.Duration) int64 {
	done := b.done + b.rate*since.Seconds()
	return min(int64(b.n), int64(math.Floor(done+rowDust)))
}

// rowDust is a part of a row that rounding of times can cost: a row that is
// done but for this is done.
const rowDust = 1e-6
