package flotilla

import (
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// adopt takes over the batches of earlier runs, each on the lane of the org
// that made it and with no other key: an org that is gone, or whose key is now
// another org's, leaves its batches where they are (facts/peer-faults.md 12).
func (f *Fleet) adopt(now time.Duration, s *stream) {
	for i := range s.opt.Batches {
		o := &s.opt.Batches[i]
		f.lastIntent = max(f.lastIntent, o.Number)
		if org := f.orgOf(o); org != nil {
			f.adoptBatch(now, s, org, o)
		} else {
			f.orphan(now, s, o)
		}
	}
}

// orgOf is the org in use that made a batch; nil: there is none.
func (f *Fleet) orgOf(o *OpenBatch) *orgState {
	for _, org := range f.orgs {
		if o.OrgID != "" && org.id != "" {
			if o.OrgID == org.id {
				return org
			}
		} else if o.Org == org.Name {
			return org
		}
	}
	return nil
}

func (f *Fleet) adoptBatch(now time.Duration, s *stream, org *orgState, o *OpenBatch) {
	rows := s.deque.Take(o.Rows)
	family := ""
	if len(rows) > 0 {
		family = rows[0].Facts.Family
	}
	lane := f.batchLane(now, org, f.pool(now, o.Pool, family))
	b := &batch{
		stream: s, lane: lane, org: org, number: o.Number, at: o.At, sentAt: f.clock.at(o.At),
		provider: o.ID, sure: o.Sure && o.ID != "", canceling: o.Canceling, intended: true, inherited: true, sent: o.Sent, bytes: o.Bytes,
	}
	b.carry(rows)
	if len(rows) == 0 {
		f.commits.put(entry{record: f.batchRecord(now, b, BatchClosed)})
		f.tookOver(now, s, o)
		return
	}
	f.lastBatch++
	b.id = f.lastBatch
	f.holdBatch(b)
	if b.sure && !b.canceling && s.opt.CancelBatches {
		f.cancelBatch(now, b.id, CancelAsked)
	}
	// Where its end was asked for before, the core looks, and asks again if that
	// was not heard.
	adopted := &sched.AdoptBatch{
		Stream: s.id, Lane: lane, Rows: int64(len(rows)), Bytes: o.Bytes, Worst: int64(o.Worst),
		CreatedAt: b.sentAt, Known: b.provider != "", Sure: b.sure, Canceling: b.canceling,
		Was: f.leftBehind[left{s.opt.Job, o.Number}],
	}
	if o.Earlier && s.purse.ledger >= 0 {
		adopted.Aside = []sched.LedgerID{s.purse.ledger}
	}
	f.step(now, adopted)
	delete(f.leftBehind, left{s.opt.Job, o.Number})
	if f.batches[b.id] == b {
		f.tookOver(now, s, o)
	}
}

// tookOver gives back what a stream's pots had reserved for a batch: it draws on
// them itself now. What came of it meanwhile elsewhere stays reserved.
func (f *Fleet) tookOver(now time.Duration, s *stream, o *OpenBatch) {
	for _, p := range s.opt.Pots {
		p.free(now, left{s.opt.Job, o.Number}, o.Worst)
	}
}

// orphan is a batch that nobody can ask for: its rows stay out, since their
// answers wait for whoever has the key. Once it must have expired they go
// again, and what it may have cost stays in doubt.
func (f *Fleet) orphan(now time.Duration, s *stream, o *OpenBatch) {
	age := f.clock.wall(now).Sub(o.At)
	if age > batchLife {
		f.commits.put(entry{record: Record{
			Kind: BatchRecord, Step: BatchLost, Job: s.opt.Job, Batch: o.Number, BatchID: o.ID,
			At: f.clock.wall(now), Org: o.Org, OrgID: o.OrgID, Pool: o.Pool, Tier: tierName(sched.Batch),
		}})
		rows := s.deque.Take(o.Rows)
		for i := range rows {
			rows[i].InDoubt = true
		}
		s.deque.Return(rows)
		return
	}
	s.tally.report.Orphans = append(s.tally.report.Orphans, *o)
	f.notify(Notice{
		At: f.clock.wall(now), Kind: BatchOrphaned, Org: o.Org, Pool: o.Pool,
		BatchID: o.ID, Value: float64(len(o.Rows)), Took: age,
	})
}

// orphaned is the money that batches without a key may cost: their ledger
// counts it as spent.
func (f *Fleet) orphaned(batches []OpenBatch) Money {
	sum := Money(0)
	for i := range batches {
		if f.orgOf(&batches[i]) == nil {
			sum += batches[i].Worst
		}
	}
	return sum
}
