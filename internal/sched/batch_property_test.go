package sched

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestBatchProperties holds batches to what must always be true, whatever
// becomes of their calls: no batch bought twice, no row lost, money as a twin
// counts it and within its cap, no call beyond an org's limit, none after the
// end of the stream, and an end to all of it.
func TestBatchProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		route := rapid.SampledFrom([]Route{
			{Batch: true}, {Batch: true, NoSync: true}, {Batch: true, Target: 30 * time.Minute}, {Batch: true, Target: Never},
		}).Draw(r, "route")
		n := rapid.Int64Range(1, 6_000).Draw(r, "rows")
		d := newDesk(t, seed, rapid.IntRange(1, 3).Draw(r, "orgs"), n, StreamConfig{Route: route})
		d.trouble = rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(r, "trouble")
		d.rate = rapid.SampledFrom([]float64{2, 2, 0.3, 0.02}).Draw(r, "rate")
		for range rapid.IntRange(0, 3).Draw(r, "adopted") {
			if d.free > 1 {
				d.adopt()
			}
		}
		if rapid.Bool().Draw(r, "cap") {
			// Between what batches reserve at most and what sync costs.
			d.cap(d.reserved + n*deskWorst/2 + 100*deskWorst + d.rng.Int64N(n*deskWorst))
		}
		if ends := rapid.SampledFrom([]time.Duration{0, 0, time.Minute, 5 * time.Minute, time.Hour}).Draw(r, "closed"); ends > 0 {
			d.run(ends)
			d.closed = true
			d.step(&CloseStream{})
			d.run(100 * time.Hour)
			return
		}
		d.run(100 * time.Hour)
		if v := d.c.Stream(0); d.settled != n && !v.BudgetBound && !v.AllClosed {
			d.fatal("%d of %d rows settled: %+v\n%+v\n%+v", d.settled, n, v, d.c.Lanes(), d.c.Batches())
		}
	})
}
