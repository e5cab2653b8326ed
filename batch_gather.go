package flotilla

import (
	"errors"
	"io"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// maxBatchBytes bounds a create below what the API takes, by a margin for what
// we may have miscounted.
const maxBatchBytes = wire.MaxBatchBytes - 1<<20

// gather takes rows for a batch from the far end of a stream. The answer goes
// to the core once it has been told everything of this step.
func (f *Fleet) gather(now time.Duration, g *sched.Gather) {
	f.lastBatch = max(f.lastBatch, g.Batch)
	got := &sched.Gathered{Batch: g.Batch}
	f.due = append(f.due, got)
	s := f.streamOf(g.Stream)
	if s == nil || s.deque == nil || s.closed || f.fatal != nil {
		return
	}
	l := &f.lanes[g.Lane]
	s.tellAnew(l.pool.name)
	want := Chunk{Pool: l.pool.name, Rows: int(min(g.Rows, wire.MaxBatchRows)), Bytes: min(g.Bytes, maxBatchBytes), Worst: Money(g.Worst)}
	rows, err := s.deque.PullFar(want)
	if err != nil && !errors.Is(err, io.EOF) {
		f.inbox.put(message{run: func(now time.Duration) { f.halt(now, s, Stopped, err) }})
	}
	if len(rows) == 0 {
		return
	}
	b := &batch{
		id: g.Batch, stream: s, lane: g.Lane, org: l.org, number: f.batchNumber(), at: f.clock.wall(now),
		unmade: true,
	}
	rows = b.fit(rows, want)
	rows = f.tellApart(b, rows)
	b.carry(rows)
	b.sent = len(rows)
	f.holdBatch(b)
	got.Rows, got.Bytes, got.Worst = int64(len(rows)), b.bytes, int64(b.worst)
}

// fit counts the bytes of the create and gives back what is over the bounds:
// the source counts rows without their wire ids. One row alone always goes.
func (b *batch) fit(rows []Row, want Chunk) []Row {
	b.bytes = int64(len(wire.BatchHead) + len(wire.BatchTail) - 1)
	worst := Money(0)
	for i := range rows {
		size := int64(wire.BatchItemSize(b.rowID(rows[i].Index), rows[i].Facts.Size))
		worst += rows[i].Facts.Worst.ByBatch()
		if i > 0 && (b.bytes+size > want.Bytes || worst > want.Worst) {
			b.stream.deque.Return(rows[i:])
			return rows[:i]
		}
		b.bytes += size
	}
	return rows
}

// tellApart gives back the few rows that make a batch of a size that none of
// its org's has whose id is not proven: should the answers to several creates
// be lost, their sizes tell which is which.
func (f *Fleet) tellApart(b *batch, rows []Row) []Row {
	taken := map[int]bool{}
	for _, o := range f.batches {
		if o.org == b.org && !o.sure {
			taken[o.sent] = true
		}
	}
	n := len(rows)
	for least := max(1, n-max(n/25, 8)); n > least && taken[n]; n-- {
	}
	if taken[n] {
		return rows // they are many: their results will tell
	}
	for i := n; i < len(rows); i++ {
		b.bytes -= int64(wire.BatchItemSize(b.rowID(rows[i].Index), rows[i].Facts.Size))
	}
	if n < len(rows) {
		b.stream.deque.Return(rows[n:])
	}
	return rows[:n]
}

// intendBatch journals the intent of a batch with its rows, before any create
// of it; a repeated create needs no second one.
func (f *Fleet) intendBatch(now time.Duration, p *sched.PersistBatch) {
	b := f.batches[p.Batch]
	if b == nil || b.intended {
		return
	}
	b.intended = true
	r := f.batchRecord(now, b, BatchIntent)
	r.Worst, r.Bytes, r.Rows = b.worst, b.bytes, make([]int, len(b.rows))
	for i := range b.rows {
		r.Rows[i] = b.rows[i].index
	}
	f.commits.put(entry{record: r})
}

// releaseBatch gives the rows of a batch back that will not be made, or can no
// longer be seen.
func (f *Fleet) releaseBatch(now time.Duration, r *sched.ReleaseBatch) {
	b := f.batches[r.Batch]
	if b == nil {
		return
	}
	step := BatchClosed
	if r.Lost {
		step = BatchLost
		f.tellBatch(now, b, BatchGone, f.clock.wall(now).Sub(b.at))
	}
	f.cancelRows(now, b, r.Lost)
	if b.intended {
		f.commits.put(entry{record: f.batchRecord(now, b, step)})
	}
	f.giveBack(b, r.Lost)
	f.letBatchGo(b)
}

// cancelRows settles what a batch did not answer where the stream only ends
// batches. Of a lost one each row may have been billed.
func (f *Fleet) cancelRows(now time.Duration, b *batch, lost bool) {
	for i := range b.rows {
		r := &b.rows[i]
		if !b.stream.opt.CancelBatches || r.done {
			continue
		}
		rec := Record{}
		if lost {
			r.inDoubt, rec = true, Record{Charged: r.worst, InDoubt: true}
		}
		f.settleRow(now, b, r, Result{Err: &CanceledError{}}, rec)
	}
}

// giveBack returns what a batch did not answer to its source.
func (f *Fleet) giveBack(b *batch, doubt bool) {
	var rows []Row
	for i := range b.rows {
		r := &b.rows[i]
		if r.done && !r.back {
			continue
		}
		rows = append(rows, Row{Index: r.index, Failed: int(r.failed), InDoubt: r.inDoubt || doubt})
	}
	if len(rows) > 0 {
		b.stream.deque.Return(rows)
	}
}

// streamOf finds a stream that has not ended by its number.
func (f *Fleet) streamOf(id sched.StreamID) *stream {
	for _, s := range f.streams {
		if s.id == id && !s.ended() {
			return s
		}
	}
	return nil
}
