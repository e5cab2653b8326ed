package sched

import (
	"testing"
	"time"
)

// Faults that users of similar tools reported (facts/peer-faults.md), by number.

// TestPeerFault1: a drizzle of refusals with a long retry-after does not keep
// the window from recovering: each hold ends when its own retry-after does.
func TestPeerFault1(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 40}, 0, 0, 0)
	n := 0
	w.refuse = func(now time.Duration, _ Send) *Refusal {
		if n++; n%60 == 0 && now < 5*time.Minute {
			return &Refusal{Class: RateLimited, Named: true, Dim: Output, RetryAfter: 20 * time.Second}
		}
		return nil
	}
	w.step(&AddStream{})
	w.offer(100_000, Call{In: 10, MaxOut: 10, Out: 10})
	stood, last, sends := time.Duration(0), time.Duration(0), 0
	w.check = func() {
		if w.sends > sends {
			stood = max(stood, w.now-last)
			last, sends = w.now, w.sends
		}
	}
	w.run(5 * time.Minute)
	if stood > 25*time.Second { // 20 s, a tenth of jitter, and the answers that were awaited
		t.Errorf("stood still for %v", stood)
	}
	w.run(10 * time.Minute)
	if n := w.c.InFlight(0); n < 36 {
		t.Errorf("five minutes after the drizzle %d of 40 are in flight", n)
	}
}

// TestPeerFault4: quota refusals use up no attempt of a call, however many
// there are, and the shared budget bounds them.
func TestPeerFault4(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff, MaxAttempts: 1})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 100}, 1000, 2e6, 4e5)
	w.refuse = func(now time.Duration, _ Send) *Refusal {
		if now < 30*time.Minute {
			return &Refusal{Class: RateLimited, Named: true, Dim: Output, RetryAfter: time.Second}
		}
		return nil
	}
	w.step(&AddStream{})
	w.offer(300, Call{In: 100, MaxOut: 100, Out: 100})
	w.run(30 * time.Minute)
	if w.refused > 20+20*30+30 {
		t.Errorf("%d refusals in 30 minutes, with a budget of 20 a minute", w.refused)
	}
	w.run(10 * time.Hour)
	w.want(Succeeded, 300)
}

// TestPeerFault5: no share of errors shuts anything down: calls wait.
func TestPeerFault5(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 100}, 0, 0, 0)
	w.refuse = func(now time.Duration, _ Send) *Refusal {
		if now < 2*time.Hour {
			return &Refusal{Class: Overloaded}
		}
		return nil
	}
	w.step(&AddStream{})
	w.offer(1000, Call{In: 100, MaxOut: 100, Out: 100})
	w.run(4 * time.Hour)
	w.want(Succeeded, 1000)
}

// TestPeerFault6: a clock that goes back is taken to stand still, and no wait is
// negative.
func TestPeerFault6(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 1}, 1000, 2e6, 4e5)
	w.step(&AddStream{})
	w.offer(3, Call{In: 100, MaxOut: 100, Out: 100})
	w.now = 10 * time.Second
	w.step(&Refused{Attempt: 1, Refusal: Refusal{Class: RateLimited, RetryAfter: -5 * time.Second}, Reading: Reading{
		Known: 2, Limit: [NumDims]float64{0, 2e6}, Remaining: [NumDims]float64{0, 5000}, ResetIn: [NumDims]time.Duration{0, -time.Hour},
	}})
	w.now = 3 * time.Second
	w.step(&Tick{})
	if n := w.c.Next(); n < 10*time.Second {
		t.Errorf("Next is %v, before the latest event", n)
	}
	for d, v := range w.c.Lane(0).Clocks {
		if v < 0 {
			t.Errorf("clock %d stands at %v", d, v)
		}
	}
}

// TestPeerFault7: account-level refusals park the org and fail no call.
func TestPeerFault7(t *testing.T) {
	for _, class := range []Class{Auth, Permission, Credit, Hold, Spend, Daily} {
		w := newWorld(t, Config{Ramp: RampOff, MaxAttempts: 1})
		w.lane(LaneConfig{Org: "a", Pool: "p", Group: 1, Cap: 50}, 0, 0, 0)
		w.lane(LaneConfig{Org: "b", Pool: "p", Group: 2, Cap: 50}, 0, 0, 0)
		w.refuse = func(now time.Duration, s Send) *Refusal {
			if s.Lane == 0 && now > 3*time.Second {
				return &Refusal{Class: class}
			}
			return nil
		}
		w.step(&AddStream{})
		w.offer(2000, Call{In: 100, MaxOut: 100, Out: 100})
		w.run(time.Hour)
		w.want(Succeeded, 2000)
		notes := 0
		for _, n := range w.notes {
			if n.Kind == NoteParked {
				notes++
			}
		}
		if notes != 1 {
			t.Errorf("class %d: %d notes of a park, want one", class, notes)
		}
		if v := w.c.Lane(0); !v.Closed || v.Class != class {
			t.Errorf("class %d: lane is %+v", class, v)
		}
	}
}

// TestPeerFault8: after an outage of 17 s a lane is back within seconds, for
// overload and for a steady limit.
func TestPeerFault8(t *testing.T) {
	for _, rf := range []Refusal{{Class: Overloaded}, {Class: RateLimited, Named: true, Dim: Requests, RetryAfter: time.Second}} {
		w := newWorld(t, Config{Ramp: RampOff})
		w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 50}, 0, 0, 0)
		w.refuse = func(now time.Duration, _ Send) *Refusal {
			if now > 10*time.Second && now < 27*time.Second {
				return &rf
			}
			return nil
		}
		w.step(&AddStream{})
		w.offer(20_000, Call{In: 100, MaxOut: 100, Out: 100})
		first := time.Duration(0)
		w.check = func() {
			if first == 0 && w.now > 27*time.Second && w.c.lanes[0].lastOK > 28*time.Second {
				first = w.now
			}
		}
		w.run(2 * time.Minute)
		if first > 35*time.Second {
			t.Errorf("%+v: first answer at %v", rf, first)
		}
		if rf.Class == Overloaded && w.c.InFlight(0) < 45 {
			t.Errorf("%d of 50 in flight at two minutes", w.c.InFlight(0))
		}
	}
}

// TestPeerFault23: long calls at once do not each pass a check of the budget
// that their sum should fail.
func TestPeerFault23(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff, Ledgers: []Ledger{{Limit: 1000}}})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 50}, 0, 0, 0)
	w.step(&AddStream{Stream: StreamConfig{Ledgers: []LedgerID{0}}})
	w.check = func() {
		if _, spent, reserved := w.c.Ledger(0); spent+reserved > 1000 {
			t.Fatalf("%d spent and %d reserved of 1000", spent, reserved)
		}
	}
	w.offer(50, Call{In: 100, MaxOut: 100, Out: 100, Worst: 300})
	if n := w.c.InFlight(0); n != 3 {
		t.Errorf("%d in flight, want 3", n)
	}
	w.run(time.Minute)
	if v := w.c.Stream(0); !v.BudgetBound || v.InFlight > 0 {
		t.Errorf("the stream is not stopped by its budget: %+v", v)
	}
}

// TestPeerFault28: stale connections, a twentieth of all, cost neither the lane
// nor the calls anything but the retry.
func TestPeerFault28(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff, MaxAttempts: 1})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 20}, 0, 0, 0)
	n := 0
	w.fail = func(time.Duration, Send) (Failure, bool) {
		n++
		return ReusedReset, n%19 == 7
	}
	w.step(&AddStream{})
	w.offer(2000, Call{In: 100, MaxOut: 100, Out: 100})
	w.run(Never)
	w.want(Succeeded, 2000)
	if v := w.c.Lane(0); v.Failed != 0 {
		t.Errorf("%d failures of the lane", v.Failed)
	}
	if w.end > 110*time.Second { // 2,000 calls, 20 at a time, a second each
		t.Errorf("took %v", w.end)
	}
}
