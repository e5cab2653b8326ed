package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// facts/peer-faults.md 9: a new batch answers 404 for a while, again mid-run,
// and its results once it has ended. It is asked again.
func TestPeerFault9RehearsedBatchNotFound(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	o := at(t, sc, 9, 1, judgeJob(&sc, 6_000, 1, batchAlone, func(s *Setting) {
		s.BatchFaults = []BatchFault{
			{Until: 2 * time.Minute, Call: PollCall, Kind: NotFound},
			{From: 4 * time.Minute, Until: 5 * time.Minute, Call: PollCall, Kind: NotFound},
			{Call: ResultsCall, Kind: NotFound, Every: 2},
		}
	}))
	if o.Lost > 0 || o.GivenBack > 0 || o.Cancels > 0 {
		t.Errorf("%d batches lost, %d rows given back, %d cancelled", o.Lost, o.GivenBack, o.Cancels)
	}
}

// A create whose answer is lost is looked for and found: nothing is bought
// twice. One whose request was lost is made again.
func TestLostCreates(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	for _, kind := range []BatchFaultKind{AnswerLost, RequestLost, ErrorAnswer} {
		o := at(t, sc, 9, 1, judgeJob(&sc, 8_000, 1, batchAlone, func(s *Setting) {
			s.BatchFaults = []BatchFault{{Call: CreateCall, Kind: kind, Every: 3}}
		}))
		if o.Lost > 0 {
			t.Errorf("fault %d: %d batches lost", kind, o.Lost)
		}
		if kind == AnswerLost && o.GivenBack > 0 {
			t.Errorf("%d rows of batches that were made came back", o.GivenBack)
		}
	}
}

// Every kind of call to the batch endpoints may go wrong in every way: it is
// made again.
func TestEveryBatchCallFails(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	for _, kind := range []BatchFaultKind{AnswerLost, RequestLost, ErrorAnswer, NotFound} {
		o := at(t, sc, 9, 2, judgeJob(&sc, 8_000, 2, batchAlone, func(s *Setting) {
			s.BatchFaults = []BatchFault{{Kind: kind, Every: 4}}
		}))
		if o.Lost > 0 {
			t.Errorf("fault %d: %d batches lost", kind, o.Lost)
		}
	}
}

// A batch that may have been made and cannot be looked for is given up after its
// day: its rows go again, its money stays in doubt.
func TestBatchLostForGood(t *testing.T) {
	t.Parallel()
	sc := oneOrg(named(t, "default"), func(*emulator.Org) {})
	o := at(t, sc, 9, 1, judgeJob(&sc, 600, 1, batchAlone, func(s *Setting) {
		s.BatchFaults = []BatchFault{
			{Call: CreateCall, Kind: AnswerLost, Count: 1},
			{Until: 30 * time.Hour, Call: FindCall, Kind: ErrorAnswer},
		}
	}))
	if o.Lost != 1 || o.Makespan() < 24*time.Hour || o.Makespan() > 27*time.Hour || o.Cost <= o.Billed {
		t.Errorf("%d batches lost, took %v, $%.4f of which $%.4f were billed", o.Lost, o.Makespan(), dollars(o.Cost), dollars(o.Billed))
	}
}

// Rows that come back errored by no fault of their own, or expired, are sent
// again; those that are answered are kept (facts/peer-faults.md 11).
func TestPeerFault11RehearsedExpiredRows(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	sc.Batches.Errored, sc.Batches.Expiry = 0.01, 150*time.Second
	const n = 20_000
	for _, route := range []sched.Route{batchAlone, {Batch: true}} {
		o := at(t, sc, 9, 1, judgeJob(&sc, n, 1, route))
		if o.GivenBack == 0 || o.GivenBack >= n {
			t.Errorf("%+v: %d rows given back", route, o.GivenBack)
		}
		if o.Cost != o.Billed {
			t.Errorf("%+v: cost $%.4f, billed $%.4f", route, dollars(o.Cost), dollars(o.Billed))
		}
	}
}

// An outage of the network in the middle loses no rows.
func TestBatchesThroughOutage(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	for _, route := range []sched.Route{batchAlone, {Batch: true}} {
		at(t, sc, 9, 1, judgeJob(&sc, 30_000, 1, route, func(s *Setting) {
			s.Outages = []Outage{
				{From: 30 * time.Second, Until: 90 * time.Second, Fails: time.Second},
				{From: 4 * time.Minute, Until: 6 * time.Minute},
			}
		}))
	}
}

// Killed at any time, over and over, a job still ends with each call settled
// once, no batch bought twice, and within its cap.
func TestKilledOverAndOver(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	for seed := uint64(1); seed <= 6; seed++ {
		limit := int64(80e9)
		o := at(t, sc, 9, seed, judgeJob(&sc, 20_000, seed, sched.Route{Batch: true}, func(s *Setting) {
			for k := range 4 {
				down := time.Duration(seed)*17*time.Second + time.Duration(k)*97*time.Second
				s.Crashes = append(s.Crashes, Crash{At: down, Back: down + 5*time.Second})
			}
			s.Core.Ledgers = []sched.Ledger{{Limit: limit, Final: true}}
			s.Stream.Ledgers = []sched.LedgerID{0}
		}))
		if o.Cost > limit || o.Billed > o.Cost {
			t.Errorf("seed %d: cost $%.4f, billed $%.4f of $%.4f", seed, dollars(o.Cost), dollars(o.Billed), dollars(limit))
		}
		if o.Adopted == 0 {
			t.Errorf("seed %d: no batch was taken over", seed)
		}
	}
}

// Storms, colleagues, stragglers, a flaky network, lying headers and a scheduler
// that starves large batches, all at once: every call ends, and in time.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	sc := named(t, "everything")
	for seed := uint64(1); seed <= 3; seed++ {
		for _, route := range []sched.Route{batchAlone, {Batch: true}, {Batch: true, Target: 3 * time.Hour}} {
			o := at(t, sc, 9, seed, judgeJob(&sc, 30_000, seed, route))
			if o.Lost > 0 || route.Target > 0 && o.Makespan() > route.Target {
				t.Errorf("seed %d, %+v: took %v, %d batches lost", seed, route, o.Makespan(), o.Lost)
			}
			t.Logf("seed %d, %+v: %v, %d by sync, %d by batch, $%.2f", seed, route, o.Makespan().Round(time.Second), o.SyncRows, o.BatchRows, dollars(o.Cost))
		}
	}
}

// Healthy batches of 8,000, which show nothing for over an hour, are not
// cancelled by the watchdog, be their pace unknown at first.
func TestWatchdogLeavesHealthyBatches(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	for seed := uint64(1); seed <= 3; seed++ {
		for _, route := range []sched.Route{batchAlone, {Batch: true, Target: sched.Never}, {Batch: true, Target: 20 * time.Hour}} {
			o := at(t, sc, 9, seed, judgeJob(&sc, headlineN, seed, route, func(s *Setting) {
				s.Core.BatchRows, s.KeepBatches = 8_000, true
			}))
			if o.Cancels > 0 || o.GivenBack > 0 || o.SyncRows > 0 {
				t.Errorf("seed %d, %+v: %d batches cancelled, %d rows given back, %d by sync", seed, route, o.Cancels, o.GivenBack, o.SyncRows)
			}
			slowest, large := time.Duration(0), 0
			for _, b := range o.Batches {
				slowest = max(slowest, b.Ended-b.Created)
				if b.Rows > 7_000 {
					large++
				}
			}
			if slowest < time.Hour || large < 12 {
				t.Errorf("seed %d, %+v: %d batches of about 8,000, the slowest took %v", seed, route, large, slowest)
			}
		}
	}
}

// Two equal rehearsals over both tiers are equal, crash included.
func TestBatchRehearsalIsDeterministic(t *testing.T) {
	t.Parallel()
	sc := named(t, "everything")
	run := func() *Outcome {
		s := judgeJob(&sc, 5_000, 3, sched.Route{Batch: true}, func(s *Setting) {
			s.Crashes = []Crash{{At: 3 * time.Minute, Back: 4 * time.Minute}}
			s.KeepSends, s.KeepBatches = true, true
		})
		return Rehearse(emulator.NewModel(sc, 3, epoch), day, s)[0]
	}
	if a, b := run(), run(); fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) {
		t.Error("two equal rehearsals differ")
	}
}
