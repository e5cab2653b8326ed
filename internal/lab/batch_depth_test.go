package lab

import (
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
)

// What the profile takes from the deepest levels, beside the truth: two rows a
// second a batch, eight batches at once, an overhead of a minute.
func TestBatchDepthTruth(t *testing.T) {
	for _, c := range []struct{ scenario, class string }{
		{"steady", "flat"},
		{"default", "flat"},
		{"starved-batch-depth", "starved"},
		{"starved-batch-size", "flat"},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			sc := scenario(t, c.scenario)
			for i := range sc.Orgs {
				sc.Orgs[i].BatchQueue = 25_000
			}
			virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
				env.Log = nil
				for i := range env.Orgs {
					env.Orgs[i].BatchQueue = 25_000
				}
				r, err := Run(t.Context(), env, BatchDepth())
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s (%.2f): %v; cost %s of %s, %.1f h", r.Verdict, r.Confidence, r.NotShown, r.Cost.Total, r.Cost.Estimated, r.Totals.WallS/3600)
				if r.Config["class"] != c.class {
					t.Errorf("%v, truth %s: %+v", r.Config["class"], c.class, r.Metrics)
				}
				if got, want := int64(r.Cost.Total), billed(s); got != want {
					t.Errorf("the bill is %d, the emulator's %d", got, want)
				}
				if peak := s.Stats().Orgs[0].Batches.PeakQueued; peak > 20_000 {
					t.Errorf("%d rows were queued at once, four fifths of the cap are 20,000", peak)
				}
				truths := map[string]float64{"batch_overhead": 60, "batch_row_rate": 2}
				if c.class == "flat" {
					truths["batch_parallel"] = 8
				}
				for name, truth := range truths {
					m, ok := r.Metric(name, "high", "")
					if !ok {
						t.Errorf("%s is missing", name)
						continue
					}
					t.Logf("%-16s truth %5.1f  estimate %6.2f (%.2f to %.2f)", name, truth, m.Value, m.Low, m.High)
					if m.Value < 0.6*truth || m.Value > 1.6*truth {
						t.Errorf("%s %.2f, truth %.1f", name, m.Value, truth)
					}
				}
			})
		})
	}
}
