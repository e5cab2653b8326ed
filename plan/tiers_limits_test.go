package plan

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// alone leaves a scenario one org, changed.
func oneOrg(sc emulator.Scenario, change func(*emulator.Org)) emulator.Scenario {
	o := sc.Orgs[0]
	change(&o)
	sc.Orgs = []emulator.Org{o}
	return sc
}

var batchAlone = sched.Route{Batch: true, NoSync: true}

// A queue of 1,000 carries 5,000 rows without a refusal, and a fifth of it is
// left to colleagues.
func TestQueueCap(t *testing.T) {
	t.Parallel()
	sc := oneOrg(named(t, "default"), func(o *emulator.Org) { o.BatchQueue = 1_000 })
	o := at(t, sc, 9, 1, judgeJob(&sc, 5_000, 1, batchAlone))
	if o.PeakQueued[0] > 800 || o.BatchRefused > 0 {
		t.Errorf("at most %d rows in the queue of 1,000, %d calls refused", o.PeakQueued[0], o.BatchRefused)
	}
	if o.BatchRows != 5_000 {
		t.Errorf("%d rows by batch", o.BatchRows)
	}
}

// A queue smaller than was told is learned from its refusals.
func TestQueueCapIsLearned(t *testing.T) {
	t.Parallel()
	sc := oneOrg(named(t, "default"), func(o *emulator.Org) { o.BatchQueue = 1_000 })
	o := at(t, sc, 9, 1, judgeJob(&sc, 5_000, 1, batchAlone, func(s *Setting) { s.Lanes[1].Queue = 500_000 }))
	if o.BatchRefused == 0 || o.BatchRefused > 20 {
		t.Errorf("%d calls refused", o.BatchRefused)
	}
}

// All calls to the batch endpoints together stay below the org's limit, polls
// included, however low it is.
func TestBatchRPM(t *testing.T) {
	t.Parallel()
	for _, rpm := range []int64{10, 50, 1_000} {
		sc := oneOrg(named(t, "default"), func(o *emulator.Org) { o.BatchRPM = rpm })
		o := at(t, sc, 9, 1, judgeJob(&sc, 10_000, 1, batchAlone))
		perMinute := float64(o.BatchCalls) / o.Makespan().Minutes()
		if o.BatchRefused > 0 || perMinute > float64(rpm) {
			t.Errorf("%d calls in %v, %.1f a minute of %d, %d refused", o.BatchCalls, o.Makespan(), perMinute, rpm, o.BatchRefused)
		}
		t.Logf("%d a minute allowed: %d calls in %v", rpm, o.BatchCalls, o.Makespan().Round(time.Second))
	}
}

// Colleagues' rows in the queue are left room.
func TestQueueOfColleagues(t *testing.T) {
	t.Parallel()
	sc := oneOrg(named(t, "default"), func(o *emulator.Org) {
		o.BatchQueue = 4_000
		o.BatchColleagues = []emulator.BatchColleague{{Rows: 1_500, Every: time.Hour}}
	})
	o := at(t, sc, 9, 1, judgeJob(&sc, 20_000, 1, batchAlone))
	if o.PeakQueued[0] > 3_200 || o.BatchRefused > 0 {
		t.Errorf("at most %d of ours in a queue of 4,000, %d calls refused", o.PeakQueued[0], o.BatchRefused)
	}
}

// No batch has more rows than the API takes, nor more bytes.
func TestBatchEdges(t *testing.T) {
	t.Parallel()
	sc := oneOrg(named(t, "default"), func(*emulator.Org) {})
	sc.Batches.RowsPerSecond = 200
	for _, c := range []struct {
		name string
		size int64
		n    int
	}{
		{"rows", 300, 250_000},
		{"bytes", 100_000, 12_000},
		{"rows of 20 MiB", 20 << 20, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := at(t, sc, 9, 1, judgeJob(&sc, c.n, 1, sched.Route{Batch: true, NoSync: true, Target: sched.Never}, func(s *Setting) {
				calls := s.Calls
				s.Calls = func(i int) Call {
					k := calls(i)
					k.Size = c.size
					return k
				}
				s.KeepBatches = true
				s.Core.BatchRows = 1 << 20
			}))
			if o.BatchRefused > 0 {
				t.Errorf("%d calls refused", o.BatchRefused)
			}
			most := int64(0)
			for _, b := range o.Batches {
				most = max(most, int64(b.Rows))
			}
			edge := min(100_000, 256_000_000/c.size)
			if most > edge || most < edge*9/10 {
				t.Errorf("the largest batch has %d rows of %d bytes, the edge is at %d", most, c.size, edge)
			}
		})
	}
}

// Rows that no batch may carry go by sync, whatever the route.
func TestRowsAlone(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	for _, route := range []sched.Route{batchAlone, {Batch: true}, {Batch: true, Target: 20 * time.Hour}} {
		o := at(t, sc, 9, 1, judgeJob(&sc, 3_000, 1, route, func(s *Setting) {
			calls := s.Calls
			s.Calls = func(i int) Call {
				c := calls(i)
				c.Alone = i%3 == 0
				return c
			}
		}))
		if o.SyncRows < 1_000 || route.Target > 0 && o.SyncRows > 1_000 {
			t.Errorf("%+v: %d rows by sync", route, o.SyncRows)
		}
	}
}

// A cap between the price of all by batch and of all by sync is held to and
// used: what is left over buys sync rows.
func TestCapBetweenTheTiers(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	const n = 30_000
	free := at(t, sc, 9, 1, judgeJob(&sc, n, 1, sched.Route{Batch: true}))
	cheap := at(t, sc, 9, 1, judgeJob(&sc, n, 1, batchAlone))
	limit := (free.Cost + cheap.Cost) / 2
	o := at(t, sc, 9, 1, judgeJob(&sc, n, 1, sched.Route{Batch: true}, func(s *Setting) {
		s.Core.Ledgers = []sched.Ledger{{Limit: limit, Final: true}}
		s.Stream.Ledgers = []sched.LedgerID{0}
		s.Observe = withinCap(t, s, limit)
	}))
	if o.Cost > limit || o.Billed > limit {
		t.Errorf("cost $%.2f, billed $%.2f of $%.2f", dollars(o.Cost), dollars(o.Billed), dollars(limit))
	}
	if o.Makespan() >= cheap.Makespan() {
		t.Errorf("%v under a cap of $%.2f, %v by batch alone for $%.2f", o.Makespan(), dollars(limit), cheap.Makespan(), dollars(cheap.Cost))
	}
	t.Logf("$%.2f in %v by both; $%.2f in %v by batch; under $%.2f: $%.2f in %v", dollars(free.Cost), free.Makespan(),
		dollars(cheap.Cost), cheap.Makespan(), dollars(limit), dollars(o.Cost), o.Makespan())
}

// Nor does a cap that is hardly more than the price by batch strand rows, for
// all that batches reserve several times what they cost.
func TestCapJustAboveTheBatchPrice(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	for _, c := range []struct {
		n    int
		over float64
	}{{6_000, 1.09}, {30_000, 1.02}, {30_000, 1.05}, {30_000, 1.2}} {
		cheap := at(t, sc, 9, 1, judgeJob(&sc, c.n, 1, batchAlone))
		limit := int64(c.over * float64(cheap.Cost))
		o := at(t, sc, 9, 1, judgeJob(&sc, c.n, 1, sched.Route{Batch: true}, func(s *Setting) {
			s.Core.Ledgers = []sched.Ledger{{Limit: limit}}
			s.Stream.Ledgers = []sched.LedgerID{0}
		}))
		if o.Cost > limit || o.Makespan() > 3*cheap.Makespan() {
			t.Errorf("%d rows: cost $%.2f of $%.2f, took %v; by batch alone $%.2f, %v", c.n, dollars(o.Cost), dollars(limit),
				o.Makespan(), dollars(cheap.Cost), cheap.Makespan())
		}
		t.Logf("%d rows under %.2f × $%.2f: $%.2f in %v, %d by sync; by batch alone %v", c.n, c.over, dollars(cheap.Cost),
			dollars(o.Cost), o.Makespan().Round(time.Second), o.SyncRows, cheap.Makespan().Round(time.Second))
	}
}

// withinCap holds spent and reserved money to the cap at every event, by its
// own sum of what actions reserve and events settle.
func withinCap(t *testing.T, _ *Setting, limit int64) func(time.Duration, sched.Event, []sched.Action) {
	var spent int64
	sync := map[sched.AttemptID]int64{}
	batches := map[sched.BatchID]int64{}
	return func(now time.Duration, ev sched.Event, acts []sched.Action) {
		switch e := ev.(type) {
		case *sched.Done:
			spent += e.Cost
			delete(sync, e.Attempt)
		case *sched.Refused:
			spent += e.Cost
			delete(sync, e.Attempt)
		case *sched.Failed:
			if e.Failure != sched.NotSent {
				spent += sync[e.Attempt]
			}
			delete(sync, e.Attempt)
		case *sched.Gathered:
			batches[e.Batch] = e.Worst
		case *sched.BatchCollected:
			spent += e.Cost + e.Doubt
			delete(batches, e.Batch)
		}
		for _, act := range acts {
			switch a := act.(type) {
			case *sched.Persist:
				sync[a.Attempt] = a.Worst
			case *sched.Gather:
				batches[a.Batch] = a.Worst
			case *sched.ReleaseBatch:
				if a.Lost {
					spent += batches[a.Batch]
				}
				delete(batches, a.Batch)
			}
		}
		sum := spent
		for _, w := range sync {
			sum += w
		}
		for _, w := range batches {
			sum += w
		}
		if sum > limit {
			t.Fatalf("at %v: $%.4f spent and reserved of $%.4f", now, dollars(sum), dollars(limit))
		}
	}
}
