package sched

import (
	"math"
	"testing"
	"time"
)

// Bugs that simulation found in first versions of the law (facts/control.md,
// end of F.2). The first, a deadlock on a stale colleague estimate, is
// TestColleagueFades; the soft floor measured against the limit is TestCapacity.

// TestEndgameKeepsLearnedRate: the last calls do not burst into a hidden bucket
// whose rate was learned.
func TestEndgameKeepsLearnedRate(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 100, PerMinute: [NumDims]float64{1000, 2e6, 4e5}, HintRate: [NumDims]float64{0.8}}, 1000, 2e6, 4e5)
	w.step(&AddStream{Stream: StreamConfig{N: 100}})
	w.offer(100, Call{In: 10, MaxOut: 100, Out: 10})
	w.step(&Exhausted{})
	worst := 0
	var sent []time.Duration
	w.check = func() {
		for len(sent) < w.sends {
			sent = append(sent, w.now)
		}
		n := 0
		for i := len(sent) - 1; i >= 0 && sent[i] > w.now-time.Second; i-- {
			n++
		}
		worst = max(worst, n)
	}
	w.run(Never)
	w.want(Succeeded, 100)
	if worst > 17 { // 0.8 of 16.7 a second, and the burst of a tenth of a second
		t.Errorf("%d sends in a second, with a learned rate of 13", worst)
	}
}

// TestBudgetDoesNotFreeze: after a storm the budget is not in debt for minutes:
// the lane is back within seconds of the first answer.
func TestBudgetDoesNotFreeze(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 60}, 0, 0, 0)
	w.refuse = func(now time.Duration, _ Send) *Refusal {
		if now > 5*time.Second && now < 65*time.Second {
			return &Refusal{Class: Overloaded}
		}
		return nil
	}
	w.step(&AddStream{})
	w.offer(20_000, Call{In: 10, MaxOut: 10, Out: 10})
	w.run(65 * time.Second)
	if w.refused > 100 {
		t.Errorf("%d refusals in the storm", w.refused)
	}
	w.run(95 * time.Second)
	if n := w.c.InFlight(0); n < 54 {
		t.Errorf("30 s after the storm %d of 60 are in flight", n)
	}
}

// TestBlindLaneGrows: a lane without limit headers is not stuck at one call.
func TestBlindLaneGrows(t *testing.T) {
	w := newWorld(t, Config{})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 20}, 0, 0, 0)
	w.step(&AddStream{})
	w.offer(5000, Call{In: 10, MaxOut: 10, Out: 10})
	w.run(61 * time.Second)
	if n := w.c.InFlight(0); n != 20 {
		t.Errorf("after a minute %d of 20 are in flight", n)
	}
}

// TestWindowGrowsUnderServerCap: where the server counts five connections, the
// window does not jump by a twentieth of our own cap of a hundred.
func TestWindowGrowsUnderServerCap(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 100}, 0, 0, 0)
	w.refuse = func(time.Duration, Send) *Refusal {
		if len(w.inFlight) > 5 {
			return &Refusal{Class: Concurrency}
		}
		return nil
	}
	w.step(&AddStream{})
	w.offer(3000, Call{In: 10, MaxOut: 10, Out: 10})
	w.run(30 * time.Second)
	before, sent := w.refused, w.sends
	w.run(330 * time.Second)
	if n := w.refused - before; n > 40 {
		t.Errorf("%d refusals in five minutes under a server's cap of 5", n)
	}
	if n := w.sends - sent; n < 900 { // five at a time, a second each, would be 1500
		t.Errorf("%d sends in five minutes under a server's cap of 5", n)
	}
}

// TestCreditIsFinite: a bucket without known capacity has no level to subtract
// a floor from, and is paced by what was learned.
func TestCreditIsFinite(t *testing.T) {
	b := newBucket(usual)
	b.r, b.blind, b.g = 10, true, 0.85
	b.advance(1, 1, 0, true, false)
	if u := b.pace(false); u != 8.5 || math.IsNaN(b.credit) || b.credit < 0.8 {
		t.Errorf("pace %v, credit %v", u, b.credit)
	}
}
