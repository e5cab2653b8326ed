package plan

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// The driver carries batches to their end for any brain: rows settle once, by
// batch, at half price, and two of 500 take about five minutes each.
func TestScriptedBatches(t *testing.T) {
	sc := named(t, "default")
	const n = 1_000
	s := judgeJob(&sc, n, 1, sched.Route{Batch: true}, func(s *Setting) {
		s.Brain, s.Lanes, s.KeepBatches = &oneByOne{rows: 500, every: 30 * time.Second}, s.Lanes[3:4], true
	})
	o := at(t, sc, 9, 1, s)
	if o.BatchRows != n || o.Made != 2 || o.PeakQueued[0] != 500 {
		t.Errorf("%d rows by %d batches, at most %d queued", o.BatchRows, o.Made, o.PeakQueued[0])
	}
	for _, b := range o.Batches {
		if took := b.Ended - b.Created; took < 2*time.Minute || took > 12*time.Minute || b.Back != 0 || b.Collected < b.Ended {
			t.Errorf("%+v", b)
		}
	}
	sync := at(t, sc, 9, 1, judgeJob(&sc, n, 1, sched.Route{}))
	if ratio := float64(o.Cost) / float64(sync.Cost); ratio < .49 || ratio > .51 || o.Billed != o.Cost {
		t.Errorf("by batch at %.3f of the price by sync; billed $%.4f of $%.4f", ratio, dollars(o.Billed), dollars(o.Cost))
	}
}
