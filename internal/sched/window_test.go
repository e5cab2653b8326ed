package sched

import (
	"math"
	"testing"
	"time"
)

// TestLittleHoldsInOverload: a server that becomes slow does not raise the
// ceiling that should hold (facts/control.md B.3): at most twice the best
// latency counts.
func TestLittleHoldsInOverload(t *testing.T) {
	l := &lane{}
	l.b[Requests] = newBucket(usual)
	l.b[Requests].learn(600, true) // ten a second
	for i := range 100 {
		l.lat.add(time.Duration(i)*time.Second, 2, 75)
	}
	if n := l.little(); n != 25 { // 10 a second × 2 s × 1.25
		t.Errorf("little is %v, want 25", n)
	}
	for i := range 200 {
		l.lat.add(time.Duration(100+i)*time.Second, 30, 75)
	}
	if n := l.little(); n < 45 || n > 60 {
		t.Errorf("little is %v in an overload, want about 50", n)
	}
}

// TestLittleFollowsLongerAnswers: answers that are longer take longer, and that
// is no overload.
func TestLittleFollowsLongerAnswers(t *testing.T) {
	l := &lane{}
	l.b[Requests] = newBucket(usual)
	l.b[Requests].learn(600, true)
	for i := range 100 {
		l.lat.add(time.Duration(i)*time.Second, 1.25, 20)
	}
	for i := range 200 {
		l.lat.add(time.Duration(100+i)*time.Second, 11, 750)
	}
	if n := l.little(); n < 130 || n > 145 { // 10 a second × 11 s × 1.25
		t.Errorf("little is %v, want about 138", n)
	}
}

// TestRampNeedsUse: the ramp does not step while its ceiling is not used, and
// not in a round with a refusal (B.5).
func TestRampNeedsUse(t *testing.T) {
	w := newWorld(t, Config{})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 40}, 0, 0, 0)
	w.step(&AddStream{})
	for range 50 { // two at a time, of ten
		w.offer(2, Call{In: 10, MaxOut: 10, Out: 10})
		w.run(w.now + 2*time.Second)
	}
	if g := w.c.Lane(0).Ramp; g != 10 {
		t.Errorf("the unused ramp stands at %v, want 10", g)
	}
	w.offer(5000, Call{In: 10, MaxOut: 10, Out: 10})
	w.run(w.now + 2*time.Second)
	if g := w.c.Lane(0).Ramp; g != 20 {
		t.Errorf("the ramp stands at %v once it is used, want 20", g)
	}
	w.c.lanes[0].ramp.spoil()
	w.run(w.now + 31*time.Second)
	if g := w.c.Lane(0).Ramp; g != 20 {
		t.Errorf("the ramp stepped to %v in a spoilt round", g)
	}
	w.run(w.now + 31*time.Second)
	if g := w.c.lanes[0].ramp.g; !math.IsInf(g, 1) {
		t.Errorf("the ramp stands at %v, want its end", g)
	}
}

// TestRampStartsAnewAfterIdle: a lane that sent nothing for a minute is fresh.
func TestRampStartsAnewAfterIdle(t *testing.T) {
	w := newWorld(t, Config{})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 40}, 0, 0, 0)
	w.step(&AddStream{})
	w.offer(4000, Call{In: 10, MaxOut: 10, Out: 10})
	w.run(5 * time.Minute)
	w.offer(4000, Call{In: 10, MaxOut: 10, Out: 10})
	if n := w.c.InFlight(0); n != 10 {
		t.Errorf("%d in flight after an idle spell, want a quarter of the cap", n)
	}
}

// TestHintsStartBolder: what an earlier run reached is a hint, of which half is
// taken, and never more than twice a fresh start (B.5).
func TestHintsStartBolder(t *testing.T) {
	for hint, want := range map[float64]float64{0: 25, 30: 25, 80: 40, 1000: 50} {
		w := newWorld(t, Config{})
		w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 100, HintRamp: hint}, 0, 0, 0)
		if g := w.c.Lane(0).Ramp; g != want {
			t.Errorf("a hint of %v starts at %v, want %v", hint, g, want)
		}
	}
}

// TestOutWindow counts open streams, for output is charged while it is produced:
// it lets as many be open as the refill carries, and more while there is store.
func TestOutWindow(t *testing.T) {
	l := &lane{}
	l.b[Output] = newBucket(usual)
	l.b[Output].learn(60_000, true) // 1,000 a second
	for i := range 50 {
		l.lat.add(time.Duration(i)*time.Second, 10, 500) // 50 tokens a second each
	}
	if n, _ := l.outWindow(); n != 40 { // twice the refill from a full bucket
		t.Errorf("%v streams from a full bucket, want 40", n)
	}
	l.b[Output].lvl = 0.1*60_000 + 10*1000
	if n, _ := l.outWindow(); n != 20 {
		t.Errorf("%v streams ten seconds of refill above the floor, want 20", n)
	}
	l.b[Output].lvl = 0
	if n, _ := l.outWindow(); n != 3 { // sigma of the refill
		t.Errorf("%v streams below the floor, want 3", n)
	}
}
