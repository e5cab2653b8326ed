package flotilla_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// bindingOf finds what a report says of a limit.
func bindingOf(t *testing.T, r flotilla.Report, limit string) flotilla.Binding {
	t.Helper()
	for _, b := range r.Binding {
		if b.Limit == limit {
			return b
		}
	}
	t.Fatalf("nothing bound by %s: %+v", limit, r.Binding)
	return flotilla.Binding{}
}

// What one more step would save is what a run with that step takes less.
func TestOneStepSavesWhatItSays(t *testing.T) {
	run := func(conc int, requestsPerMin int64) (report flotilla.Report) {
		synctest.Test(t, func(t *testing.T) {
			sc := emulator.Scenario{
				Name: "one", Latency: emulator.Latency{TTFT: time.Second, PerSecond: 100},
				Orgs: emulator.Uniform(1, emulator.Limits{Requests: requestsPerMin, Input: 10_000_000, Output: 10_000_000}),
			}
			w := newWorld(t, emulator.Options{Scenario: sc, Seed: 1})
			cfg := w.config()
			cfg.Orgs = orgs(sc.Orgs[0].Name)
			cfg.Conc = map[string]int{"haiku": conc}
			fleet := newFleet(t, cfg)
			r, err := fleet.Carry(t.Context(), &rows{fleet: fleet, bodies: bodies(6000)}, flotilla.Options{N: 6000})
			if err != nil {
				t.Fatal(err)
			}
			report = r
		})
		return report
	}
	for _, c := range []struct {
		limit             string
		conc, conc2       int
		limited, limited2 int64
		value             float64
		off               float64 // what pacing may lose more in one run than in the other
	}{
		{"cap", 20, 30, 1_000_000, 1_000_000, 30, 0.05},
		{"rpm", 200, 200, 1_000, 2_000, 2_000, 0.15},
	} {
		before, after := run(c.conc, c.limited), run(c.conc2, c.limited2)
		b := bindingOf(t, before, c.limit)
		if b.OneStep == nil || b.OneStep.Value != c.value {
			t.Fatalf("%s: one step more is %+v, want %v", c.limit, b.OneStep, c.value)
		}
		saved := before.Ended.Sub(before.Started) - after.Ended.Sub(after.Started)
		if d := (b.OneStep.Saves - saved).Seconds() / saved.Seconds(); d < -c.off || d > c.off {
			t.Errorf("%s: says that it saves %v, and it saves %v", c.limit, b.OneStep.Saves, saved)
		}
	}
}

// What one more org would save is what a run over one more takes less.
func TestFurtherOrgSavesWhatItSays(t *testing.T) {
	run := func(n int) (report flotilla.Report) {
		synctest.Test(t, func(t *testing.T) {
			sc := emulator.Scenario{
				Name: "some", Latency: emulator.Latency{TTFT: time.Second, PerSecond: 100},
				Orgs: emulator.Uniform(n, emulator.Limits{Requests: 1_000_000, Input: 10_000_000, Output: 10_000_000}),
			}
			w := newWorld(t, emulator.Options{Scenario: sc, Seed: 1})
			cfg := w.config()
			var names []string
			for _, o := range sc.Orgs {
				names = append(names, o.Name)
			}
			cfg.Orgs = orgs(names...)
			cfg.Conc = map[string]int{"haiku": 20}
			fleet := newFleet(t, cfg)
			r, err := fleet.Carry(t.Context(), &rows{fleet: fleet, bodies: bodies(6000)}, flotilla.Options{N: 6000})
			if err != nil {
				t.Fatal(err)
			}
			report = r
		})
		return report
	}
	before, after := run(1), run(2)
	saved := before.Ended.Sub(before.Started) - after.Ended.Sub(after.Started)
	if d := (before.FurtherOrg - saved).Seconds() / saved.Seconds(); d < -0.05 || d > 0.05 {
		t.Errorf("says that a further org saves %v, and it saves %v", before.FurtherOrg, saved)
	}
	if after.FurtherOrg <= 0 || after.FurtherOrg >= before.FurtherOrg {
		t.Errorf("a second further org saves %v, the first %v", after.FurtherOrg, before.FurtherOrg)
	}
}

// A ramp that is fast already has no further step.
func TestFastRampHasNoFurtherStep(t *testing.T) {
	for ramp, more := range map[flotilla.Ramp]bool{flotilla.RampPolite: true, flotilla.RampFast: false} {
		synctest.Test(t, func(t *testing.T) {
			sc := emulator.Scenario{
				Name: "one", Latency: emulator.Latency{TTFT: time.Second, PerSecond: 100},
				Orgs: emulator.Uniform(1, emulator.Limits{Requests: 1_000_000, Input: 10_000_000, Output: 10_000_000}),
			}
			w := newWorld(t, emulator.Options{Scenario: sc, Seed: 1})
			cfg := w.config()
			cfg.Orgs, cfg.Ramp = orgs(sc.Orgs[0].Name), ramp
			fleet := newFleet(t, cfg)
			r, err := fleet.Carry(t.Context(), &rows{fleet: fleet, bodies: bodies(1000)}, flotilla.Options{N: 1000})
			if err != nil {
				t.Fatal(err)
			}
			if b := bindingOf(t, r, "ramp"); (b.OneStep != nil) != more {
				t.Errorf("ramp %v: one step more is %+v", ramp, b.OneStep)
			}
		})
	}
}
