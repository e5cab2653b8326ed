package flotilla

import (
	"errors"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// takeIn settles the rows that a parcel tells of. Rows are told by their ids
// alone, never by position (facts/peer-faults.md 29).
func (f *Fleet) takeIn(now time.Duration, b *batch, p *parcel, download int32) {
	defer f.release(b.stream, p)
	if b.strange != "" || p.of != b.provider {
		b.cancel() // it was proven to be another's
		return
	}
	for i := range p.rows {
		a := &p.rows[i]
		if !b.sure {
			if !b.owns(a.id) {
				b.strange = a.id
				b.cancel()
				return
			}
			b.sure = true
			f.commits.put(entry{record: f.batchRecord(now, b, BatchMade)})
		}
		r := b.rowOf(a.id)
		switch {
		case r == nil && !b.owns(a.id), r != nil && r.seen == download:
			f.tellBatch(now, b, StrangeResult, 0)
			continue
		case r == nil: // settled in an earlier run
			continue
		}
		r.seen = download
		if !r.done {
			f.takeRow(now, b, r, a, p.emulated)
		}
	}
}

// release lets a download go on, at once or when the source has taken what
// waits for it.
func (f *Fleet) release(s *stream, p *parcel) {
	if s.undelivered > holdBytes && !s.closed {
		s.parcels = append(s.parcels, p)
		return
	}
	close(p.taken)
}

// owns reports whether an id is one that this batch was made with.
func (b *batch) owns(id string) bool {
	row, ok := wire.ParseRowID(id)
	return ok && row.Job == b.stream.name() && row.Intent == b.number
}

// rowOf is the row that an id of this batch names; nil: none that it carries.
func (b *batch) rowOf(id string) *batchRow {
	row, ok := wire.ParseRowID(id)
	if !ok || row != b.rowID(row.Row) {
		return nil
	}
	return b.find(row.Row)
}

// collected takes in that a download has ended.
func (f *Fleet) collected(now time.Duration, b *batch, of string, err error) {
	b.cancel()
	if errors.Is(err, ErrOurselves) {
		f.halt(now, b.stream, Stopped, err)
	}
	switch {
	case of != b.provider:
		err = errStrange
	case b.strange != "":
		f.foreign(now, b)
		return
	}
	if err == nil {
		b.whole++
	}
	if err != nil || b.lacks() {
		f.exchanged(b)
		f.step(now, &sched.BatchUncollected{Batch: b.id})
		return
	}
	f.settleMissing(now, b)
	f.closeBatch(now, b)
}

var errStrange = errors.New("the results are another batch's")

// lacks reports whether the results are to be read again: rows are missing in
// them, and were not for so often that they count as not answered. Results
// without any line that proves whose they are say nothing of our rows.
func (b *batch) lacks() bool {
	tries := maxIncomplete
	if b.withholds() {
		tries = maxWithheld
	}
	return b.missing() > 0 && (b.whole < tries || !b.sure)
}

// withholds reports whether rows that the results lack may have been answered
// and billed: they were not where the batch counts as many successes as we have
// seen.
func (b *batch) withholds() bool {
	return b.counts.Succeeded > b.tally.succeeded || b.counts.ID != b.provider
}

// missing is how many rows no download told of.
func (b *batch) missing() (n int) {
	for i := range b.rows {
		if b.rows[i].seen == 0 {
			n++
		}
	}
	return n
}

// closeBatch ends a batch whose results are in: its rows are settled or given
// back, all of it durable before the core hears of it.
func (f *Fleet) closeBatch(now time.Duration, b *batch) {
	f.tellBatch(now, b, BatchEnded, now-b.sentAt)
	t := &b.tally
	done := &sched.BatchCollected{
		Batch: b.id, Succeeded: t.succeeded, Errored: t.errored, Back: t.back, Canceled: t.canceled, Expired: t.expired,
		Cost: int64(t.cost), Doubt: int64(t.doubt), Usage: t.usage,
	}
	closed := f.batchRecord(now, b, BatchClosed)
	if c := &b.counts; !c.CreatedAt.IsZero() && c.EndedAt.After(c.CreatedAt) {
		closed.Latency = c.EndedAt.Sub(c.CreatedAt)
	}
	f.keep(closed, func(now time.Duration) {
		f.exchanged(b)
		f.giveBack(b, false)
		f.letBatchGo(b)
		f.step(now, done)
	})
}

// foreign takes in that results are of another batch than the one that b was
// taken for: nothing in them is believed, and the batch is left alone. Where it
// is one that we look for too, it is that one's, and what that one was taken for
// may be ours.
func (f *Fleet) foreign(now time.Duration, b *batch) {
	id := b.provider
	f.tellBatch(now, b, BatchStrange, 0)
	b.foreign = append(b.foreign, id)
	b.provider, b.whole = "", 0
	if o := f.ownerOf(b, b.strange); o != nil && !o.sure {
		b.provider = o.provider
		o.provider, o.sure, o.unmade = id, true, false
		f.keep(f.batchRecord(now, o, BatchMade), func(now time.Duration) {
			f.step(now, &sched.BatchCreated{Batch: o.id, Sure: true})
		})
	}
	f.exchanged(b)
	f.step(now, &sched.BatchCollected{Batch: b.id, Foreign: true})
}

// ownerOf is the batch of this fleet that made an id.
func (f *Fleet) ownerOf(b *batch, id string) *batch {
	for _, o := range f.batches {
		if o != b && o.org == b.org && o.owns(id) {
			return o
		}
	}
	return nil
}
