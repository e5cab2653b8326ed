package sched

import (
	"testing"
	"time"
)

func TestCarriesCalls(t *testing.T) {
	w := newWorld(t, Config{})
	p := w.c.Pool("haiku-4.5")
	w.lane(LaneConfig{Org: "high", Pool: "haiku-4.5", Cap: 100}, 1000, 2e6, 4e5)
	w.step(&AddStream{})
	w.offer(3000, Call{Pool: p, In: 800, MaxOut: 100, Out: 20, Worst: 100})
	w.step(&Exhausted{})
	w.run(Never)
	w.want(Succeeded, 3000)
	t.Log(w.end, w.sends, w.refused, w.steps)
	if w.refused > 0 {
		t.Errorf("%d refusals", w.refused)
	}
	if bound := 2000 * time.Minute / 1000; w.end > bound*125/100 {
		t.Errorf("took %v; the refill alone takes %v", w.end, bound)
	}
}
