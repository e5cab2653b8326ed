package lab

import (
	"math"
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

func TestFanout(t *testing.T) {
	t.Logf("%-20s %-8s %-8s %10s %10s %8s  95 %%", "scenario", "truth", "decided", "parts", "whole", "share")
	for _, name := range []string{
		"default", "tier-start", "acceleration", "acceleration-silent", "hidden-limit", "lying-headers", "no-headers",
		"colleague", "overload-storm", "spend-cap", "everything",
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !inShort[name] {
				t.Skip("many calls")
			}
			sc := scenario(t, name)
			virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
				r, err := Run(t.Context(), env, Fanout())
				if err != nil {
					t.Fatal(err)
				}
				if got, want := int64(r.Cost.Total), billed(s); got != want && name != "flaky-network" && name != "everything" && name != "overload-storm" {
					t.Errorf("billed %d nano-dollars, the emulator %d", got, want)
				}
				share, _ := r.Metric("fanout_sum", "", "")
				whole, _ := r.Metric("fanout_calls_per_min", "", "")
				t.Logf("%-20s %-8s %-8v %10.0f %10.0f %8.3f  [%.3f, %.3f]", name, "sum", r.Config["class"], whole.Value/share.Value, whole.Value, share.Value, share.Low, share.High)
				for _, m := range r.Metrics {
					if m.Org != "" {
						t.Logf("  %-6s %-24s %8.0f [%.0f, %.0f]", m.Org, m.Name, m.Value, m.Low, m.High)
					}
				}
				for _, n := range r.NotShown {
					t.Log("  not shown: ", n)
				}
				t.Logf("  %d calls, %d + %d refused, %s of %s in %.0f s", r.Totals.Calls, r.Totals.Accelerated, r.Totals.Steady, r.Cost.Total, r.Cost.Estimated, r.Totals.WallS)
				if o := s.Stats().Orgs[0]; name == "colleague" && (o.OtherRequests < 3000 || o.OtherRefused*1000 > o.OtherRequests) {
					t.Errorf("%d of %d calls of colleagues were refused", o.OtherRefused, o.OtherRequests)
				}
				if r.Config["class"] != "sum" || math.Abs(share.Value-1) > 0.08 {
					t.Errorf("decided %v: %s", r.Config["class"], r.Verdict)
				}
			})
		})
	}
}

// Two keys of one org, where nothing tells that they are, do not add up.
func TestFanoutOfOneOrg(t *testing.T) {
	virtual(t, scenario(t, "tier-start"), func(t *testing.T, env *Env, s *emulator.Server) {
		env.Orgs = append(env.Orgs[:1], Org{Name: "second", Key: flotilla.Key(emulator.Key("high") + "-2"), ID: "hidden"})
		r := run(t, env, s, Fanout())
		share, _ := r.Metric("fanout_sum", "", "")
		t.Log(r.Verdict)
		if r.Config["class"] != "less" || math.Abs(share.Value-0.5) > 0.05 {
			t.Errorf("decided %v, %.3f of the sum", r.Config["class"], share.Value)
		}
		env.Orgs = env.Orgs[:1]
		if est := Fanout().Estimate(env); est.Refused == "" || est.Hint == "" {
			t.Errorf("one org: %+v", est)
		}
	})
}
