package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// desk is a dumb driver and a dumb batch endpoint in one: it knows what became
// of every create, whatever it lets the core know, and so sees a batch bought
// twice, a row lost and money freed too early. Sync calls take a second.
type desk struct {
	t    testing.TB
	c    *Core
	now  time.Duration
	rng  *rand.Rand
	flow []moment // by time
	due  []Event  // to be told at once

	trouble float64                          // share of calls that come to no good
	rate    float64                          // rows a second of a batch; 0: none is ever answered
	others  int64                            // rows of others in every queue
	refuse  func(*SubmitBatch) *BatchRefused // nil, or answers nil: as chance has it
	deaf    map[BatchID]time.Duration        // not nil: a batch's first cancel gets an error and is lost; when that was
	mistake bool                             // the answers to creates are lost, and what is found first is another's

	limit, spent, reserved int64 // of ledger 0, and its twin
	n, free, open, settled int64 // rows: all, at the far end, offered, done
	told                   int64 // as the core was told of the far end
	sync                   map[AttemptID]int64
	batches                map[BatchID]*deskBatch
	last                   BatchID
	calls                  map[string][]time.Duration // of the last minute, by org
	closed, over           bool
	gathers                int
	lanes                  []LaneConfig
}

// moment is something that will come back.
type moment struct {
	at time.Duration
	ev func() Event
}

// deskBatch is a batch as the provider and a driver have it.
type deskBatch struct {
	lane               LaneID
	rows, worst        int64
	gathered, intended bool
	made               bool // the provider has it
	foreign, tried     bool // it is, or was, taken for another
	sure, calling      bool
	created, ends      time.Duration
	canceled, gone     bool
}

// What a row costs and reserves, by batch, in nano-dollars.
const (
	deskWorst = 1_000
	deskCost  = 300
	deskRPM   = 12
	deskQueue = 5_000
)

// newDesk opens a stream over orgs with both tiers.
func newDesk(t testing.TB, seed uint64, orgs int, n int64, s StreamConfig) *desk {
	d := &desk{
		t: t, rng: rand.New(rand.NewPCG(seed, 2)), rate: 2, limit: 1 << 50, n: n, free: n, told: -1,
		sync: map[AttemptID]int64{}, batches: map[BatchID]*deskBatch{}, calls: map[string][]time.Duration{},
	}
	d.c = New(Config{Seed: seed, Epoch: time.Unix(1_800_000_017, 0), Ledgers: []Ledger{{Limit: d.limit}}})
	for i := range orgs {
		org := fmt.Sprint("org", i)
		d.lane(LaneConfig{Org: org, Pool: "p", Group: int32(i), Cap: 5})
		d.lane(LaneConfig{Org: org, Pool: "p", Tier: Batch, Group: -1, BatchRPM: deskRPM, Queue: deskQueue})
	}
	s.Ledgers, s.N = []LedgerID{0}, n
	d.step(&AddStream{Stream: s})
	return d
}

func (d *desk) lane(l LaneConfig) {
	d.lanes = append(d.lanes, l)
	d.step(&AddLane{Lane: l})
}

// cap limits the ledger.
func (d *desk) cap(limit int64) {
	d.limit = limit
	d.step(&SetLedger{Ledger: 0, Limit: limit})
}

// step tells the core, does what it answers, and what a driver owes after it.
func (d *desk) step(ev Event) {
	d.due = append(d.due, ev)
	for len(d.due) > 0 {
		next := d.due[0]
		d.due = d.due[1:]
		d.account(next)
		for _, act := range d.c.Step(d.now, next) {
			d.do(act)
		}
		if len(d.due) == 0 {
			d.feed()
		}
	}
	d.verify()
}

// feed tells of the far end, and pulls what is wanted for sync.
func (d *desk) feed() {
	if d.closed || len(d.c.streams) == 0 {
		return
	}
	if d.told != d.free {
		d.told = d.free
		d.due = append(d.due, &Backlog{Rows: d.free, Bytes: 300, Worst: deskWorst, In: 100, Out: 20, MaxOut: 100})
		return
	}
	v := d.c.Stream(0)
	if n := min(int64(v.Wants), d.free); n > 0 && !v.OnlyIneligible {
		calls := make([]Call, n)
		for i := range calls {
			calls[i] = Call{ID: CallID(d.settled + d.open + 1), In: 100, MaxOut: 100, Out: 20, Worst: 2 * deskWorst}
			d.open++
			d.free--
		}
		d.due = append(d.due, &Offer{Calls: calls})
	}
	if d.settled == d.n && !d.over {
		d.over = true
		d.due = append(d.due, &Exhausted{})
	}
}

// later answers after a while.
func (d *desk) later(wait time.Duration, ev func() Event) {
	m := moment{d.now + wait, ev}
	i, _ := slices.BinarySearchFunc(d.flow, m, func(a, b moment) int {
		if a.at <= b.at {
			return -1
		}
		return 1
	})
	d.flow = slices.Insert(d.flow, i, m)
}

// run lets things happen until a time.
func (d *desk) run(until time.Duration) {
	for ticks := 0; ; ticks++ {
		if ticks > 1_000_000 {
			d.fatal("still ticking, for %v next", d.c.Next())
		}
		next := d.c.Next()
		if next <= d.now {
			d.fatal("Next %v is not after now", next)
		}
		if len(d.flow) > 0 && d.flow[0].at <= next {
			m := d.flow[0]
			if m.at > until {
				break
			}
			d.flow = d.flow[1:]
			d.now = max(d.now, m.at)
			if ev := m.ev(); ev != nil {
				d.step(ev)
			}
			continue
		}
		if next > until {
			break
		}
		d.now = next
		d.step(&Tick{})
	}
	d.now = max(d.now, until)
}

func (d *desk) fatal(format string, args ...any) {
	d.t.Helper()
	d.t.Fatalf("at %v: %s", d.now, fmt.Sprintf(format, args...))
}

func (d *desk) chance(p float64) bool { return d.rng.Float64() < p*d.trouble }

func (d *desk) do(act Action) {
	switch a := act.(type) {
	case *Persist:
		d.sync[a.Attempt] = a.Worst
		d.reserved += a.Worst
	case *Send:
		id := a.Attempt
		d.later(time.Second, func() Event { return &Done{Attempt: id, Cost: 2 * deskCost, Usage: Usage{Input: 100, Output: 20}} })
	case *Settle:
		d.open--
		d.settled++
	case *Gather:
		d.gather(a)
	case *PersistBatch:
		d.of(a.Batch).intended = true
	case *SubmitBatch:
		d.create(a)
	case *FindBatch:
		d.find(a.Batch)
	case *PollBatch:
		d.poll(a.Batch)
	case *CancelBatch:
		d.cancel(a.Batch)
	case *CollectBatch:
		d.collect(a.Batch)
	case *ReleaseBatch:
		d.release(a)
	case *ListBatches:
		d.call(a.Lane)
		lane := a.Lane
		d.later(time.Second, func() Event { return &QueueSeen{Lane: lane, Others: d.others} })
	}
}

func (d *desk) of(id BatchID) *deskBatch {
	b := d.batches[id]
	if b == nil || b.gone {
		d.fatal("batch %d is none", id)
	}
	return b
}

// call counts one to an org's batch endpoints.
func (d *desk) call(l LaneID) {
	org := d.lanes[l].Org
	recent := slices.DeleteFunc(d.calls[org], func(at time.Duration) bool { return at <= d.now-time.Minute })
	if recent = append(recent, d.now); len(recent) > deskRPM {
		d.fatal("%d calls in a minute to %s", len(recent), org)
	}
	d.calls[org] = recent
}

// begin is begun for every call about one batch.
func (d *desk) begin(id BatchID) *deskBatch {
	b := d.of(id)
	if b.calling {
		d.fatal("two calls at once about batch %d", id)
	}
	if d.closed {
		d.fatal("a call about batch %d of a closed stream", id)
	}
	b.calling = true
	d.call(b.lane)
	return b
}

// answer is what a call about a batch comes to.
func (d *desk) answer(b *deskBatch, ev func() Event) {
	d.later(time.Duration(0.2e9+d.rng.Float64()*2e9), func() Event {
		b.calling = false
		return ev()
	})
}

func (d *desk) gather(a *Gather) {
	d.gathers++
	d.last = max(d.last, a.Batch)
	if d.closed {
		d.fatal("a batch is gathered of a closed stream")
	}
	n := min(a.Rows, d.free, a.Worst/deskWorst)
	if n > 1 && d.chance(.2) {
		n -= d.rng.Int64N(n)
	}
	d.reserved += a.Worst
	d.free -= n
	d.batches[a.Batch] = &deskBatch{lane: a.Lane, rows: n, worst: a.Worst}
	d.due = append(d.due, &Gathered{Batch: a.Batch, Rows: n, Bytes: 300 * n, Worst: n * deskWorst})
}

// verify holds the core to what must always be true.
func (d *desk) verify() {
	d.t.Helper()
	rows, owed := d.free+d.open+d.settled, int64(0)
	for _, b := range d.batches {
		if b.gone {
			continue
		}
		rows += b.rows
		if b.made {
			owed += b.worst
		}
	}
	if rows != d.n {
		d.fatal("%d rows of %d", rows, d.n)
	}
	limit, spent, reserved := d.c.Ledger(0)
	switch {
	case spent+reserved > limit:
		d.fatal("%d spent and %d reserved of %d", spent, reserved, limit)
	case d.closed && spent+reserved < d.spent+owed:
		d.fatal("%d spent and %d reserved, but %d were spent and batches may cost %d", spent, reserved, d.spent, owed)
	case !d.closed && (spent != d.spent || reserved != d.reserved):
		d.fatal("%d spent and %d reserved, the twin has %d and %d", spent, reserved, d.spent, d.reserved)
	}
}

// account keeps the twin of the ledger.
func (d *desk) account(ev Event) {
	switch e := ev.(type) {
	case *Done:
		d.reserved -= d.sync[e.Attempt]
		d.spent += e.Cost
	case *Gathered:
		b := d.batches[e.Batch]
		d.reserved -= b.worst - e.Worst
		b.worst, b.gathered = e.Worst, true
		b.gone = e.Rows == 0
		d.told = -1 // it is told anew after each
	case *BatchCollected:
		if b := d.batches[e.Batch]; !e.Foreign {
			d.reserved -= b.worst
			d.spent += e.Cost + e.Doubt
		}
	}
}
