package lab

import (
	"math"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
)

// TestRefill prints truth beside estimate.
func TestRefill(t *testing.T) {
	for _, c := range []struct {
		name    string
		within  float64
		refused int64
	}{
		{"default", 0.002, 0},
		{"long answers", 0.002, 0},
		{"tier-start", 0.002, 0},
		{"colleague", 0.01, 0},
		{"hidden-limit", 0.01, 15},
		{"lying-headers", 0.02, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc := scenario(t, strings.Replace(c.name, "long answers", "tier-start", 1))
			if c.name == "long answers" {
				sc.Answer.Median = 360
			}
			virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
				r := run(t, env, s, Refill())
				t.Log(r.Verdict)
				for _, n := range r.NotShown {
					t.Log("not shown: ", n)
				}
				t.Logf("%-10s %-26s %14s %14s %9s  95 %%", c.name, "", "truth", "estimate", "off")
				for _, o := range sc.Orgs {
					truth := map[string]int64{"rpm": o.Limits.Requests, "itpm": o.Limits.Input, "otpm": o.Limits.Output}
					for _, d := range []string{"rpm", "itpm", "otpm"} {
						for _, what := range []string{"refill_", "capacity_"} {
							m, ok := r.Metric(what+d, o.Name, "")
							if !ok {
								t.Logf("%-10s %-26s %14d %14s", o.Name, what+d, truth[d], "not shown")
								continue
							}
							off := m.Value/float64(truth[d]) - 1
							t.Logf("%-10s %-26s %14d %14.0f %+8.3f%%  [%.0f, %.0f] n=%d", o.Name, what+d, truth[d], m.Value, 100*off, m.Low, m.High, m.N)
							if what == "capacity_" && math.Abs(off) > 0.02 || what == "refill_" && (d != "otpm" || c.name == "long answers") && math.Abs(off) > c.within {
								t.Errorf("%s %s%s is off by %.3f %%", o.Name, what, d, 100*off)
							}
						}
					}
				}
				for _, m := range r.Metrics {
					if m.Note != "" && m.Unit == "calls" || m.Name == "header_scale" || m.Name[:3] == "oth" {
						t.Logf("%s %s: %g %s %s", m.Org, m.Name, m.Value, m.Unit, m.Note)
					}
				}
				var refused, others, otherCalls int64
				for _, o := range s.Stats().Orgs {
					others += o.OtherRefused
					otherCalls += o.OtherRequests
					for _, p := range o.Pools {
						for _, n := range p.Refused {
							refused += n
						}
					}
				}
				t.Logf("refused: ours %d of %d, colleagues' %d of %d; cost %s in %.0f s", refused, r.Totals.Calls, others, otherCalls, r.Cost.Total, r.Totals.WallS)
				if refused > c.refused || others > 0 {
					t.Errorf("%d of our calls were refused, %d of colleagues'", refused, others)
				}
			})
		})
	}
}

// Over several worlds with a colleague at 40 % of the input limit: the refill is
// within 1 %, and of thousands of the colleague's calls none is refused.
func TestRefillBesideColleagues(t *testing.T) {
	var refused, calls int64
	for seed := range uint64(4) {
		virtualSeed(t, scenario(t, "colleague"), seed+2, func(t *testing.T, env *Env, s *emulator.Server) {
			env.Orgs = env.Orgs[:1]
			r := run(t, env, s, Refill())
			for d, truth := range map[string]float64{"rpm": 1000, "itpm": 2_000_000} {
				m, ok := r.Metric("refill_"+d, "high", "")
				others, _ := r.Metric("others_"+d, "high", "")
				t.Logf("seed %d %-5s truth %9.0f estimate %9.0f [%.0f, %.0f], others use %.0f", seed+2, d, truth, m.Value, m.Low, m.High, others.Value)
				if !ok || math.Abs(m.Value/truth-1) > 0.01 || m.Low > truth || m.High < truth {
					t.Errorf("%s: %+v", d, m)
				}
			}
			o := s.Stats().Orgs[0]
			refused, calls = refused+o.OtherRefused, calls+o.OtherRequests
		})
	}
	t.Logf("colleagues: %d of %d calls refused", refused, calls)
	if calls < 3000 || refused*1000 >= calls {
		t.Errorf("colleagues: %d of %d calls refused", refused, calls)
	}
}
