package sched

import (
	"testing"
	"time"
)

// Pools of one family share the cap of an org: neither keeps the other from it,
// and a higher priority in one goes before a lower in the other.
func TestPoolsShareACap(t *testing.T) {
	for _, c := range []struct {
		second   Priority
		least    float64 // of the second pool's share
		atLeast1 float64
	}{{Bulk, 0.45, 0.45}, {Interactive, 0.9, 0.03}} {
		w := newWorld(t, Config{Ramp: RampOff})
		w.lane(LaneConfig{Org: "a", Pool: "p", Group: 1, Cap: 20}, 0, 0, 0)
		w.lane(LaneConfig{Org: "a", Pool: "q", Group: 1, Cap: 20}, 0, 0, 0)
		w.step(&AddStream{})
		w.step(&AddStream{Stream: StreamConfig{Priority: c.second}})
		w.offer(20_000, Call{Pool: w.c.Pool("p"), In: 500, MaxOut: 300, Out: 100})
		w.offer(20_000, Call{Pool: w.c.Pool("q"), Stream: 1, In: 500, MaxOut: 300, Out: 100})
		w.run(10 * time.Minute)
		var n [2]float64
		for id := range w.settled {
			n[w.calls[id].Stream]++
		}
		sum := n[0] + n[1]
		if sum < 11_000 || n[1] < c.least*sum || n[0] < c.atLeast1*sum {
			t.Errorf("priority %d beside bulk: answers %v", c.second, n)
		}
	}
}
