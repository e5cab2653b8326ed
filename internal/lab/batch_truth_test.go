package lab

import (
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
)

// What each experiment decides in scenarios whose truth is known, and that its
// bill is the emulator's.
func TestBatchVerdicts(t *testing.T) {
	for _, c := range []struct {
		scenario string
		x        Experiment
		class    string
		snapshot bool
	}{
		{"default", BatchCliff(), "no cliff", true},
		{"starved-batch-size", BatchCliff(), "cliff", true},
		{"starved-batch-depth", BatchCliff(), "depth or hour", true},
		{"default", BatchCliff(), "no cliff", false},
		{"starved-batch-size", BatchCliff(), "cliff", false}, // the 50,000 wait for hours for nothing
		{"default", BatchAdditivity(), "additive", false},
		{"starved-batch-depth", BatchAdditivity(), "more than additive", false},
		{"starved-batch-hour", BatchAdditivity(), "undecided", false},
		{"default", BatchSize(), "parallel", false},
		{"starved-batch-size", BatchSize(), "starved", false},
		{"starved-batch-depth", BatchSize(), "depth or hour", false},
		{"starved-batch-hour", BatchSize(), "parallel", false}, // told by the rounds after 19:00
		{"starved-batch-hour", BatchDepth(), "hour", false},    // over before 19:00
		{"flaky-network", BatchCliff(), "no cliff", true},
	} {
		t.Run(c.x.Name()+" "+c.scenario, func(t *testing.T) {
			virtual(t, scenario(t, c.scenario), func(t *testing.T, env *Env, s *emulator.Server) {
				env.Snapshot = c.snapshot
				env.Log = nil
				r, err := Run(t.Context(), env, c.x)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s (%.2f): %v; cost %s of %s, %.0f s", r.Verdict, r.Confidence, r.NotShown, r.Cost.Total, r.Cost.Estimated, r.Totals.WallS)
				if r.Config["class"] != c.class {
					t.Errorf("%v, truth %s: %+v", r.Config["class"], c.class, r.Metrics)
				}
				if got, want := int64(r.Cost.Total), billed(s); got != want && r.Cost.InDoubt == 0 || got > want || want > got+int64(r.Cost.InDoubt) {
					t.Errorf("the bill is %d and %d in doubt, the emulator's %d", got, int64(r.Cost.InDoubt), want)
				}
			})
		})
	}
}

// The whole of it over HTTP, with two days passing.
func TestBatchMechanismOnTheBench(t *testing.T) {
	for name, class := range map[string]string{
		"default": "none", "starved-batch-depth": "depth", "starved-batch-size": "size", "starved-batch-hour": "hour",
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, scenario(t, name), func(t *testing.T, env *Env, s *emulator.Server) {
				env.Log = nil
				r, err := Run(t.Context(), env, BatchMechanism())
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s (%.2f): %v; cost %s of %s, %.1f h", r.Verdict, r.Confidence, r.NotShown, r.Cost.Total, r.Cost.Estimated, r.Totals.WallS/3600)
				if r.Config["class"] != class || r.Confidence < 0.8 {
					t.Errorf("%v, truth %s: %+v", r.Config["class"], class, r.Metrics)
				}
				if got, want := int64(r.Cost.Total), billed(s); got != want {
					t.Errorf("the bill is %d, the emulator's %d", got, want)
				}
				if r.Cost.Total > r.Cost.Estimated {
					t.Errorf("cost %s, estimated %s", r.Cost.Total, r.Cost.Estimated)
				}
			})
		})
	}
}
