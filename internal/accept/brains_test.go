package main

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/plan"
)

// settingOf is n small judge's calls.
func settingOf(t *testing.T, n int) *setting {
	t.Helper()
	model, ok := emulator.ModelIndex(judgeModel)
	if !ok {
		t.Fatal("no such model")
	}
	w := &work{n: n}
	for i := range n {
		a := emulator.Arrival{Model: model, Est: 300, MaxTokens: 128, Out: 5}
		binary.LittleEndian.PutUint64(a.Hash[:8], uint64(i)+1)
		w.calls = append(w.calls, plan.Call{Arrival: a, Sched: sched.Call{In: 300, MaxOut: 128, Worst: 4_000_000}})
	}
	return &setting{work: w}
}

func worldOf(t *testing.T, name string) emulator.Scenario {
	t.Helper()
	sc, err := world(name)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// The script makes one batch at a time of 500 rows, looks once a minute, and
// gets every row once.
func TestScriptOnVirtualTime(t *testing.T) {
	s, sc := settingOf(t, 1_200), worldOf(t, scenarioName)
	o, st := s.carry(sc, plan.Setting{Brain: &script{}, Lanes: batchLanes(&sc, oneOrg, nil), Stream: sched.StreamConfig{Route: sched.Route{Batch: true}}, KeepBatches: true})
	if o.Succeeded != 1_200 || st.Succeeded != 1_200 || o.Made != 3 || o.PeakQueued[0] != scriptRows {
		t.Fatalf("%d rows by %d batches, at most %d at once", o.Succeeded, o.Made, o.PeakQueued[0])
	}
	for i, b := range o.Batches {
		if i > 0 && b.Created < o.Batches[i-1].Collected {
			t.Errorf("batch %d was created at %v, the one before collected at %v", i, b.Created, o.Batches[i-1].Collected)
		}
		if late := b.Collected - b.Ended; late < 0 || late > scriptPoll+5*time.Second {
			t.Errorf("batch %d ended at %v and was collected at %v", i, b.Ended, b.Collected)
		}
	}
}

// The semaphore stays at its slots, loses nothing where no limit binds, and
// loses what its retries give up where one does.
func TestSemaphoreOnVirtualTime(t *testing.T) {
	for name, storm := range map[string]bool{scenarioName: false, starterName: true} {
		s, sc := settingOf(t, 3_000), worldOf(t, name)
		o, st := s.carry(sc, plan.Setting{Brain: newSemaphore(), Lanes: syncLanes(&sc, oneOrg, nil)})
		if o.Settled != 3_000 || o.Stalled || o.PeakInFlight != semaphoreSlots {
			t.Fatalf("%s: %d settled, at most %d in flight", name, o.Settled, o.PeakInFlight)
		}
		if refused := o.RateLimited(); storm != (refused > 100) || !storm && refused > 0 {
			t.Errorf("%s: %d refused", name, refused)
		}
		lost := 3_000 - o.Succeeded
		if storm != (lost > 10) || !storm && lost > 0 {
			t.Errorf("%s: %d lost", name, lost)
		}
		a := &arm{}
		a.take(o, st)
		if a.Lost != lost || a.Refused != o.RateLimited() || a.Doubled != 0 {
			t.Errorf("%s: the arm says %d lost, %d refused, %d doubled", name, a.Lost, a.Refused, a.Doubled)
		}
	}
}

// anthropic-sdk-go, retry.go.
func TestSDKWaits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for try, most := range map[int]time.Duration{1: 500 * time.Millisecond, 2: time.Second, 6: 8 * time.Second} {
		if got := sdkWait(rng, 0, try); got > most || got < most*3/4 {
			t.Errorf("try %d waits %v", try, got)
		}
	}
	if got := sdkWait(rng, 7*time.Second, 1); got != 7*time.Second {
		t.Errorf("a retry-after of 7 s: %v", got)
	}
	if got := sdkWait(rng, time.Hour, 1); got > time.Second {
		t.Errorf("a retry-after of an hour: %v", got)
	}
}
