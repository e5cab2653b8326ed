package flotilla

import (
	"cmp"
	"slices"
	"time"
)

// RunningBatch is a batch that was left at the provider: its rows may still be
// answered and billed, and the next run takes it over.
type RunningBatch struct {
	Number    int64 // of its intent
	Org, Pool string
	ID        string // the provider's; empty: whether it was made is not known
	Rows      int    // that have no outcome
	Age       time.Duration
	Worst     Money // reserved for them
	Canceling bool
}

// shed drops, once a stream sends nothing more, its batches that were never
// made: the journal need not look for them.
func (f *Fleet) shed(now time.Duration, s *stream) {
	for _, b := range f.batchesOf(s) {
		if b.under || !b.unmade {
			continue
		}
		if b.intended {
			f.commits.put(entry{record: f.batchRecord(now, b, BatchClosed)})
		}
		f.letBatchGo(b)
	}
}

// leave names what a stream leaves at the provider, and forgets it.
func (f *Fleet) leave(now time.Duration, s *stream) (running []RunningBatch) {
	for _, b := range f.batchesOf(s) {
		r := RunningBatch{
			Number: b.number, Org: b.org.Name, Pool: f.lanes[b.lane].pool.name, ID: b.provider,
			Age: f.clock.wall(now).Sub(b.at), Worst: b.worst, Canceling: b.canceling,
		}
		for i := range b.rows {
			if !b.rows[i].done {
				r.Rows++
			}
		}
		running = append(running, r)
		f.leftBehind[left{s.opt.Job, b.number}] = b.id
		f.letBatchGo(b)
	}
	return running
}

// left names a batch that a stream of this fleet left at the provider: the core
// counts it until the next stream of its job takes it over.
type left struct {
	job, number int64
}

// batchesOf are the batches of a stream, oldest first.
func (f *Fleet) batchesOf(s *stream) (all []*batch) {
	if s.batches == 0 {
		return nil
	}
	for _, b := range f.batches {
		if b.stream == s {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b *batch) int { return cmp.Compare(a.number, b.number) })
	return all
}

// letParcels lets downloads go on that waited for the source.
func (s *stream) letParcels() {
	if len(s.parcels) == 0 || s.undelivered >= resumeBytes && !s.closed {
		return
	}
	for _, p := range s.parcels {
		close(p.taken)
	}
	s.parcels = s.parcels[:0]
}
