package lab

import (
	"math"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// In every scenario orgs have buckets of their own; two keys of one org, where
// nothing tells that they are, do not.
func TestAdditivitySync(t *testing.T) {
	t.Logf("%-20s %-16s %-16s %8s  95 %%", "scenario", "truth", "decided", "felt")
	for _, name := range emulator.Scenarios() {
		if strings.HasPrefix(name, "starved") || name == "unlimited" { // the sync tier of default
			continue
		}
		t.Run(name, func(t *testing.T) {
			sc := scenario(t, name)
			virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
				want := "additive"
				if name == "no-headers" {
					want = "additive by id"
				}
				r, err := Run(t.Context(), env, AdditivitySync())
				if err != nil {
					t.Fatal(err)
				}
				m := Metric{}
				for _, c := range r.Metrics {
					if !strings.HasSuffix(c.At, c.Org) && math.Abs(c.Value) >= math.Abs(m.Value) {
						m = c
					}
				}
				t.Logf("%-20s %-16s %-16s %8.3f  [%.3f, %.3f] steady %d accel %d cost %s in %.0f s", name, want, r.Config["class"], m.Value, m.Low, m.High, r.Totals.Steady, r.Totals.Accelerated, r.Cost.Total, r.Totals.WallS)
				if r.Config["class"] != want {
					t.Errorf("decided %q: %s", r.Config["class"], r.Verdict)
				}
				if refused := r.Totals.Steady + r.Totals.Accelerated; refused > 0 && name != "greedy-colleague" {
					t.Errorf("%d calls were refused", refused)
				}
			})
		})
	}
}

func TestAdditivityOfTwoKeysOfOneOrg(t *testing.T) {
	virtual(t, scenario(t, "tier-start"), func(t *testing.T, env *Env, s *emulator.Server) {
		env.Orgs = append(env.Orgs[:1], Org{Name: "second", Key: flotilla.Key(emulator.Key("high") + "-2"), ID: "hidden"})
		r := run(t, env, s, AdditivitySync())
		t.Log(r.Verdict)
		if r.Config["class"] != "shared" {
			t.Errorf("decided %q", r.Config["class"])
		}
		for _, m := range r.Metrics {
			if math.Abs(m.Value-1) > 0.15 {
				t.Errorf("%s on %s: %.3f of a spending, want all of it", m.At, m.Org, m.Value)
			}
		}
	})
}
