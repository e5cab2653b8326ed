package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Crash is the end of a process without a word, and the start of another that
// goes on from what the first had made durable: which calls had settled, what
// was spent or in doubt, and the intents of calls and batches. Only for
// settings without a Brain of their own, and not twice at one instant.
type Crash struct {
	At, Back time.Duration // on the model's time line
}

func (d *driver) nextCrash() time.Duration {
	if len(d.crashes) == 0 || !d.started {
		return emulator.Never
	}
	return d.crashes[0].At
}

// crash ends the process where that is due, and lets the next begin.
func (d *driver) crash(now time.Duration, m *emulator.Model) {
	if d.nextCrash() > now {
		return
	}
	back := max(now, d.crashes[0].Back)
	d.crashes = d.crashes[1:]
	d.die(now, m)
	d.recall()
	d.newCore(m)
	d.begin, d.started, d.told = back, false, false
}

// die drops what the process held in memory. What was in flight is billed as
// far as it was produced, and in doubt; batches go on without it.
func (d *driver) die(now time.Duration, m *emulator.Model) {
	doubt := d.inDoubt(now, m)
	for i := range d.config.Ledgers {
		_, spent, _ := d.core.Ledger(sched.LedgerID(i))
		if slices.Contains(d.cfg.Ledgers, sched.LedgerID(i)) {
			spent += doubt
		}
		d.config.Ledgers[i].Spent = spent
	}
	d.out.Cost += doubt
	d.out.SyncCost += doubt
	clear(d.idle)
	clear(d.inFlight)
	d.flying, d.heap, d.away, d.said, d.queued = nil, nil, nil, nil, 0
}

// inDoubt ends what is in flight, unseen, and sums what it may cost.
func (d *driver) inDoubt(now time.Duration, m *emulator.Model) (worst int64) {
	for _, f := range d.flying {
		worst += f.worst
		d.doubted.set(int(f.call) - 1)
		if f.x == nil {
			continue
		}
		m.Cancel(now, f.x)
		d.out.Billed += f.x.Cost()
		m.Release(f.x)
	}
	return worst
}

// recall gives back what neither had settled nor is in a batch whose intent is
// durable.
func (d *driver) recall() {
	held := newBitset(d.n)
	for id, b := range d.batches {
		if !b.meant {
			delete(d.batches, id)
			continue
		}
		for _, i := range b.rows {
			held.set(int(i))
		}
	}
	for i := range d.n {
		if d.rows.taken.has(i) && !d.settled.has(i) && !held.has(i) {
			d.rows.back(i, 0, d.doubted.has(i))
		}
	}
	for p := range d.rows.piles {
		d.rows.piles[p].changed = true // the next process has to be told
	}
}

// adopt takes over the batches of the process before, in the order of their
// intents.
func (d *driver) adopt(now time.Duration, m *emulator.Model) {
	old := make([]*batch, 0, len(d.batches))
	for _, b := range d.batches {
		old = append(old, b)
	}
	slices.SortFunc(old, func(a, b *batch) int { return cmp.Compare(a.id, b.id) })
	clear(d.batches)
	d.nextBatch = 1
	for _, b := range old {
		b.id = d.nextBatch
		d.nextBatch++
		d.batches[b.id] = b
		d.out.Adopted++
		d.step(now, m, &sched.AdoptBatch{
			Stream: d.stream, Lane: b.lane, Rows: int64(len(b.rows)), Bytes: b.bytes, Worst: b.worst,
			CreatedAt: b.at, Known: b.known, Sure: b.sure, Canceling: b.cancels,
		})
	}
}
