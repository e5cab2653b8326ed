package plan

import (
	"cmp"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// batch is one batch as its client knows it.
type batch struct {
	id      sched.BatchID
	lane    sched.LaneID
	rows    []int32
	bytes   int64
	worst   int64
	at      time.Duration   // of the last create
	made    *emulator.Batch // nil: the provider has none, as far as we could know by looking
	meant   bool            // its intent is durable
	known   bool            // its id was told to us
	sure    bool            // by its create
	cancels bool
	kept    int // its number in Outcome.Batches, from 1; 0: none
}

// bill is what a batch's results came to.
type bill = sched.BatchCollected

// gather takes rows for a batch; the answer goes in with this turn.
func (d *driver) gather(a *sched.Gather) {
	pool := d.pool[d.lanes[a.Lane].Pool]
	got, bytes, worst := d.rows.pullFar(pool, a)
	d.said = append(d.said, &sched.Gathered{Batch: a.Batch, Rows: int64(len(got)), Bytes: bytes, Worst: worst})
	d.nextBatch = a.Batch + 1
	if len(got) > 0 {
		d.batches[a.Batch] = &batch{id: a.Batch, lane: a.Lane, rows: got, bytes: bytes, worst: worst}
	}
}

// release gives the rows of a batch back that will not be made.
func (d *driver) release(a *sched.ReleaseBatch) {
	b := d.batches[a.Batch]
	if b == nil {
		return
	}
	delete(d.batches, a.Batch)
	d.out.GivenBack += len(b.rows)
	if a.Lost {
		d.out.Lost++
		d.out.Cost += b.worst // in doubt for good
	}
	for _, i := range b.rows {
		d.rows.back(int(i), 0, a.Lost)
	}
}

// carryOut does what a batch action asks for; actions of other kinds are not
// its business.
func (d *driver) carryOut(now time.Duration, m *emulator.Model, act sched.Action) {
	switch a := act.(type) {
	case *sched.Gather:
		d.gather(a)
	case *sched.PersistBatch:
		if b := d.batches[a.Batch]; b != nil {
			b.meant = true
		}
	case *sched.SubmitBatch:
		d.errand(now, m, CreateCall, a.Batch)
	case *sched.FindBatch:
		d.errand(now, m, FindCall, a.Batch)
	case *sched.PollBatch:
		d.errand(now, m, PollCall, a.Batch)
	case *sched.CancelBatch:
		d.errand(now, m, CancelCall, a.Batch)
	case *sched.CollectBatch:
		d.errand(now, m, ResultsCall, a.Batch)
	case *sched.ReleaseBatch:
		d.release(a)
	case *sched.ListBatches:
		d.list(now, m, a.Lane)
	}
}

// collect reads the results of an ended batch: rows settle by what became of
// them, the others go back to the source.
func (d *driver) collect(now time.Duration, b *batch) bill {
	out := bill{Batch: b.id}
	b.made.Results(func(k int, r emulator.RowResult) bool {
		i := int(b.rows[k])
		d.out.Billed += r.Cost
		out.Cost += r.Cost
		switch r.Kind {
		case emulator.Succeeded:
			out.Succeeded++
			out.Usage.Input += r.Usage.Input
			out.Usage.CacheWrite += r.Usage.CacheWrite5m + r.Usage.CacheWrite1h
			out.Usage.CacheRead += r.Usage.CacheRead
			out.Usage.Output += r.Usage.Output
			d.settleRow(now, i, sched.Succeeded, r.Cost)
		case emulator.Errored:
			d.errored(now, i, r.Class, &out)
		case emulator.Canceled:
			out.Canceled++
			d.giveBack(i, 0, &out)
		case emulator.Expired:
			out.Expired++
			d.giveBack(i, 0, &out)
		}
		return true
	})
	delete(d.batches, b.id)
	return out
}

func (d *driver) giveBack(i int, failed int32, out *bill) {
	out.Back++
	d.out.GivenBack++
	d.rows.back(i, failed, false)
}

// errored gives a row back that may be sent again, and settles it where the
// fault is its own or its attempts are used up.
func (d *driver) errored(now time.Duration, i int, why emulator.Class, out *bill) {
	failed := d.rows.again[i].failed + 1
	if why == emulator.Invalid || int(failed) >= cmp.Or(d.config.MaxAttempts, maxAttempts) {
		out.Errored++
		d.settleRow(now, i, sched.Errored, 0)
		return
	}
	d.giveBack(i, failed, out)
}

// maxAttempts is sched.Config's default.
const maxAttempts = 3

// settleRow is the end of a row that a batch carried.
func (d *driver) settleRow(now time.Duration, i int, how sched.Outcome, cost int64) {
	d.mark(i)
	d.out.BatchCost += cost
	if how == sched.Succeeded {
		d.out.BatchRows++
	}
	d.out.ends(now, how, cost)
}

// inProcess is how many of our rows an org has in its queue.
func (d *driver) inProcess(now time.Duration, org int) int64 {
	n := int64(0)
	for _, b := range d.batches {
		if b.made != nil && d.orgs[b.lane] == org && b.made.Status(now) != emulator.Ended {
			n += int64(len(b.rows))
		}
	}
	return n
}

// others is how many rows of an org's queue are not ours.
func (d *driver) others(now time.Duration, m *emulator.Model, org int) int64 {
	return max(0, m.Queued(now, org)-d.inProcess(now, org))
}
