package sched

import (
	"testing"
	"time"
)

func TestBurst(t *testing.T) {
	var b burst
	for i, c := range []struct {
		at   time.Duration
		want bool
	}{
		{0, false},
		{100 * time.Millisecond, false},
		{900 * time.Millisecond, true},
		{1500 * time.Millisecond, true}, // the fourth within a second of the third
		{3 * time.Second, false},        // alone again
		{10 * time.Second, false},
	} {
		if got := b.add(c.at); got != c.want {
			t.Errorf("failure %d at %v: burst %v, want %v", i, c.at, got, c.want)
		}
	}
}

// An outage begins while calls are in flight: answers to calls that left before
// it do not make a row's failure its own; an answer to one that left later does.
func TestWhoseFaultAFailureIs(t *testing.T) {
	l := &lane{okSent: 4 * time.Second}
	for _, c := range []struct {
		sent time.Duration
		want bool
	}{{3 * time.Second, true}, {4 * time.Second, false}, {5 * time.Second, false}} {
		if got := (suspicion{l, c.sent}).proven(); got != c.want {
			t.Errorf("sent at %v, the newest that was answered at %v: its own %v, want %v", c.sent, l.okSent, got, c.want)
		}
	}
	if (suspicion{}).proven() {
		t.Error("nothing is suspected")
	}
}

// TestShutLanesShareOneBudget: three lanes that refuse everything without a word
// are not asked by each at its own expense (facts/control.md B.7).
func TestShutLanesShareOneBudget(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	for i, org := range []string{"a", "b", "c"} {
		w.lane(LaneConfig{Org: org, Pool: "p", Group: int32(i), Cap: 100}, 0, 0, 0)
	}
	refused := 0
	w.refuse = func(now time.Duration, _ Send) *Refusal {
		if now < 10*time.Second {
			return nil
		}
		refused++
		return &Refusal{Class: RateLimited}
	}
	w.step(&AddStream{})
	w.offer(100_000, Call{In: 10, MaxOut: 10, Out: 10})
	w.run(10 * time.Second)
	flying := w.c.InFlight(0) + w.c.InFlight(1) + w.c.InFlight(2)
	w.run(70 * time.Second)
	// What was in flight, the budget of a minute with what it had saved, and
	// single probes of three lanes, 1 to 15 s apart.
	if most := flying + 20 + 20 + 3*10; refused > most {
		t.Errorf("%d attempts at three shut lanes in a minute, want %d at most (%d were in flight)", refused, most, flying)
	}
}

// TestRefusalsAreCountedAsJudged: a refusal is counted once, as what the core
// took it for, so that the classes add up to the refusals.
func TestRefusalsAreCountedAsJudged(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 4}, 1000, 1_000_000, 1_000_000)
	refused := int64(0)
	w.refuse = func(now time.Duration, _ Send) *Refusal {
		if now < 30*time.Second {
			return nil
		}
		refused++
		return &Refusal{Class: RateLimited, RetryAfter: 30 * time.Second} // a daily cap that does not say so
	}
	w.step(&AddStream{})
	w.offer(10_000, Call{In: 10, MaxOut: 10, Out: 10})
	w.run(6 * time.Hour)
	v := w.c.Lane(0)
	sum := v.Steady + v.Hidden + v.Accel
	for class, n := range v.Refused {
		if Class(class) != RateLimited {
			sum += n
		}
	}
	if v.Refused[Daily] == 0 || sum != refused {
		t.Errorf("%d refusals are counted as %d daily, %d steady, %d hidden, %d acceleration; in all %d", refused, v.Refused[Daily], v.Steady, v.Hidden, v.Accel, sum)
	}
}
