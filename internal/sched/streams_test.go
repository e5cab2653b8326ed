package sched

import (
	"runtime"
	"testing"
	"time"
)

// shares runs streams side by side on one lane bound by its cap and gives what
// each had answered by the end of ten minutes.
func shares(t *testing.T, streams ...StreamConfig) []int {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 10}, 0, 0, 0)
	for i, s := range streams {
		w.step(&AddStream{Stream: s})
		w.offer(8000, Call{Stream: StreamID(i), In: 500, MaxOut: 300, Out: 100})
	}
	w.run(10 * time.Minute)
	n := make([]int, len(streams))
	for id := range w.settled {
		n[w.calls[id].Stream]++
	}
	return n
}

// TestWeights: streams of one priority share by weight.
func TestWeights(t *testing.T) {
	n := shares(t, StreamConfig{Weight: 1}, StreamConfig{Weight: 3}, StreamConfig{})
	if n[1] < 29*n[0]/10 || n[1] > 31*n[0]/10 || n[2] < 97*n[0]/100 || n[2] > 103*n[0]/100 {
		t.Errorf("answers %v, want 1 : 3 : 1", n)
	}
}

// TestPriorities: a higher priority overtakes, but none starves: the lower get a
// twentieth each.
func TestPriorities(t *testing.T) {
	n := shares(t, StreamConfig{}, StreamConfig{Priority: Normal}, StreamConfig{Priority: Interactive})
	sum := n[0] + n[1] + n[2]
	for i, least := range []int{4, 4, 88} {
		if n[i] < sum*least/100 {
			t.Errorf("stream %d had %d of %d answers, want %d %% at least", i, n[i], sum, least)
		}
	}
}

// TestNewStreamIsNoHoard: a stream that was idle does not make up for it.
func TestNewStreamIsNoHoard(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 10}, 0, 0, 0)
	w.step(&AddStream{})
	w.step(&AddStream{})
	w.offer(8000, Call{In: 500, MaxOut: 300, Out: 100})
	w.run(5 * time.Minute)
	before := len(w.settled)
	w.offer(8000, Call{Stream: 1, In: 500, MaxOut: 300, Out: 100})
	w.run(6 * time.Minute)
	n := 0
	for id := range w.settled {
		if w.calls[id].Stream == 1 {
			n++
		}
	}
	if all := len(w.settled) - before; n < all*45/100 || n > all*55/100 {
		t.Errorf("the new stream had %d of %d answers in its first minute", n, all)
	}
}

// TestLookAhead: a long call that waits for tokens is overtaken by eight behind
// it at most, and by none once it has waited ten seconds (facts/control.md B.9).
func TestLookAhead(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 100, PerMinute: [NumDims]float64{60_000, 600_000, 600_000}}, 60_000, 600_000, 600_000)
	w.step(&AddStream{})
	var order []CallID
	w.record = func(_ Event, acts []Action) {
		for _, a := range acts {
			if s, ok := a.(*Send); ok {
				order = append(order, s.Call)
			}
		}
	}
	w.offer(1, Call{In: 100, MaxOut: 10, Out: 10})
	w.offer(1, Call{In: 500_000, MaxOut: 10, Out: 10}) // call 2
	w.offer(20_000, Call{In: 100, MaxOut: 10, Out: 10})
	w.run(10 * time.Second)
	for _, id := range order {
		if id == 2 {
			t.Fatal("half a bucket went in less than ten seconds")
		}
	}
	if len(order) < 50 {
		t.Errorf("%d short calls overtook the long one in ten seconds", len(order))
	}
	n := len(order)
	w.run(80 * time.Second)
	for i, id := range order[n:] {
		if id == 2 {
			if i > 1 {
				t.Errorf("%d calls overtook after ten seconds", i)
			}
			return
		}
	}
	t.Errorf("the long call was starved: %d others went", len(order))
}

// TestNoIdleLane: where nothing but the caps limits, every slot of every lane is
// busy as long as calls wait.
func TestNoIdleLane(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	for i, n := range []int{3, 8, 20} {
		w.lane(LaneConfig{Org: string(rune('a' + i)), Pool: "p", Group: int32(i), Cap: n}, 0, 0, 0)
	}
	w.step(&AddStream{})
	w.latency = func(s Send) time.Duration { return time.Duration(1+s.Call%7) * 300 * time.Millisecond }
	w.check = func() {
		if w.c.Stream(0).Queued > 0 && len(w.inFlight) != 31 && len(w.calls) > 1 {
			t.Fatalf("at %v %d calls wait and %d of 31 slots are busy: %+v", w.now, w.c.Stream(0).Queued, len(w.inFlight), w.c.Lanes())
		}
	}
	w.offer(2000, Call{In: 100, MaxOut: 10, Out: 10})
	w.run(Never)
	w.want(Succeeded, 2000)
}

// TestMillionQueued: a million queued calls are 32 bytes each and little more.
func TestMillionQueued(t *testing.T) {
	if testing.Short() {
		t.Skip("allocates 40 MB")
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	c := New(Config{})
	p := c.Pool("p")
	c.Step(0, &AddLane{Lane: LaneConfig{Org: "a", Pool: "p", Cap: 100}})
	c.Step(0, &AddStream{})
	before := heap()
	calls := make([]Call, 1000)
	for i := range 1000 {
		for k := range calls {
			calls[k] = Call{ID: CallID(1000*i + k + 1), Pool: p, In: 100, MaxOut: 100, Worst: 100}
		}
		c.Step(0, &Offer{Calls: calls})
	}
	used := heap() - before
	t.Logf("%.1f MB for a million queued calls", float64(used)/1e6)
	if used > 40e6 {
		t.Errorf("%d bytes for a million queued calls", used)
	}
	if n := c.Stream(0).Queued; n != 999_999 {
		t.Errorf("%d queued", n)
	}
}
