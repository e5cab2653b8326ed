package sched

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkDecision is the cost of one step in the steady state: 16 lanes with
// their windows full, one answer comes in, one call goes out (facts/control.md
// row 33: under 5 µs, no allocation).
func BenchmarkDecision(b *testing.B) {
	for _, k := range []int{1, 3, 16} {
		b.Run(fmt.Sprintf("lanes=%d", k), func(b *testing.B) { benchmarkDecision(b, k) })
	}
}

func benchmarkDecision(b *testing.B, k int) {
	c := New(Config{Ramp: RampOff})
	p := c.Pool("sonnet-4.x")
	for i := range k {
		c.Step(0, &AddLane{Lane: LaneConfig{
			Org: fmt.Sprint("org", i), Pool: "sonnet-4.x", Group: int32(i), Cap: 100,
			PerMinute: [NumDims]float64{6000, 1e7, 2e6},
		}})
	}
	c.Step(0, &AddStream{Stream: StreamConfig{Ledgers: nil}})
	calls := make([]Call, 1000)
	id := CallID(0)
	fill := func() []Action {
		for i := range calls {
			id++
			calls[i] = Call{ID: id, Pool: p, In: 500 + int32(i%7), MaxOut: 300, Out: 100, Worst: 1000}
		}
		return c.Step(c.now, &Offer{Calls: calls})
	}
	var out []AttemptID // ring of attempts in flight, the oldest first
	take := func(acts []Action) {
		for _, a := range acts {
			if s, ok := a.(*Send); ok {
				out = append(out, s.Attempt)
			}
		}
	}
	now := time.Duration(0)
	done := Done{Usage: Usage{Input: 500, Output: 100}, Cost: 500}
	done.Reading = Reading{Known: 7, Limit: [NumDims]float64{6000, 1e7, 2e6}, Remaining: [NumDims]float64{5500, 9e6, 1.9e6}}
	tick := Tick{}
	next := 0
	step := func() {
		if c.Stream(0).Queued < 500 {
			take(fill())
		}
		now += 625 * time.Microsecond * 16 / time.Duration(k)
		if next < len(out) {
			done.Attempt = out[next]
			next++
			take(c.Step(now, &done))
		} else {
			take(c.Step(max(now, c.Next()), &tick))
		}
		if next > 10_000 {
			out = append(out[:0], out[next:]...)
			next = 0
		}
	}
	for range 50_000 {
		step()
	}
	b.ReportAllocs()
	sent := c.lastAtt
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(c.lastAtt-sent)/float64(b.N), "sends/op")
	b.ReportMetric(5000, "bound-ns/op")
}
