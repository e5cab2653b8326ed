package lab

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"pgregory.net/rapid"
)

// climbOf plays the experiment's ladder and jump against a rule.
func climbOf(rule growthRule, limit float64, offset time.Duration) []attempt {
	state := rule.begin()
	var list []attempt
	now := time.Duration(0)
	for _, g := range accelPlan() {
		now += g.rest
		apart := time.Duration(accelPrompt / (g.share * limit / 60) * float64(time.Second))
		refused := 0
		for began := now; now-began < g.span && refused < accelEnough; now += apart {
			a := attempt{at: now, minute: int64((now + offset) / time.Minute), tokens: accelPrompt}
			if rule.kind != ruleNone && state.load(&a) > 1 {
				a.refused = true
				refused++
				now += 5 * time.Second
			} else {
				state.pass(&a)
			}
			list = append(list, a)
		}
	}
	return list
}

// Whatever the rule and its parameters, it is told from the others as long as it
// refuses something.
func TestRuleIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 2_000_000
		first := rapid.Float64Range(0.06, 0.3).Draw(t, "first") * limit
		offset := time.Duration(rapid.IntRange(0, 59).Draw(t, "offset")) * time.Second
		rule := growthRule{ruleAdditive, first, rapid.Float64Range(0.003, 0.03).Draw(t, "step") * limit}
		if rapid.Bool().Draw(t, "ratio") {
			rule = growthRule{ruleRatio, first, rapid.Float64Range(1.1, 2.5).Draw(t, "factor")}
		}
		list := climbOf(rule, limit, offset)
		refused := 0
		for _, a := range list {
			if a.refused {
				refused++
			}
		}
		best, sure, _ := decideRule(list, limit)
		if refused < 3 {
			return
		}
		if best.kind != rule.kind || sure < 0.9 {
			t.Fatalf("%+v is taken for %+v (%.3f), %d refusals", rule, best.growthRule, sure, refused)
		}
		if refused > 8 && math.Abs(best.first/first-1) > 0.25 {
			t.Fatalf("%+v: first is %.0f", rule, best.first)
		}
	})
}

// A step between two of the grid's, whose best point stood on another ridge.
func TestRuleOfAnOddStep(t *testing.T) {
	const limit = 2_000_000
	rule := growthRule{ruleAdditive, 0.0625 * limit, 0.03 * limit}
	best, sure, _ := decideRule(climbOf(rule, limit, 12*time.Second), limit)
	if best.kind != rule.kind || sure < 0.9 || math.Abs(best.first/rule.first-1) > 0.02 || math.Abs(best.by/rule.by-1) > 0.05 {
		t.Errorf("%+v is taken for %+v (%.3f)", rule, best.growthRule, sure)
	}
}

func TestNoRuleIsTold(t *testing.T) {
	list := climbOf(growthRule{kind: ruleNone}, 2_000_000, 0)
	best, sure, _ := decideRule(list, 2_000_000)
	if best.kind != ruleNone || sure < 0.8 {
		t.Errorf("%+v, %.3f", best, sure)
	}
	list[7].refused, list[200].refused = true, true // for other reasons
	if best, _, _ = decideRule(list, 2_000_000); best.kind != ruleNone {
		t.Errorf("two stray refusals make %+v", best)
	}
}

func TestAcceleration(t *testing.T) {
	t.Logf("%-20s %-9s %-9s %-6s %12s %12s %10s %10s", "scenario", "truth", "decided", "org", "first", "estimate", "by", "estimate")
	for _, name := range emulator.Scenarios() {
		if strings.HasPrefix(name, "starved") {
			continue // the sync tier of default
		}
		t.Run(name, func(t *testing.T) {
			sc := scenario(t, name)
			virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
				r, err := Run(t.Context(), env, Acceleration())
				if err != nil {
					t.Fatal(err)
				}
				if got, want := int64(r.Cost.Total), billed(s); got != want && name != "flaky-network" && name != "everything" && name != "overload-storm" {
					t.Errorf("billed %d nano-dollars, the emulator %d", got, want)
				}
				want := map[string]string{"acceleration": ruleAdditive, "acceleration-silent": ruleRatio}[name]
				if want == "" {
					want = ruleNone
				}
				var first, by float64
				f, _ := r.Metric("acceleration_first", "", "")
				g, _ := r.Metric("acceleration_step", "", "")
				if want == ruleRatio {
					g, _ = r.Metric("acceleration_ratio", "", "")
				}
				switch want {
				case ruleAdditive:
					first, by = 200_000, 10_000
				case ruleRatio:
					first, by = 200_000, 1.5
				}
				t.Logf("%-20s %-9s %-9v %-6v %12.0f %12.0f %10.1f %10.1f", name, want, r.Config["rule"], r.Config["org"], first, f.Value, by, g.Value)
				t.Logf("  %s (%.3f); %d calls, %d + %d refused, %s of %s in %.0f s", r.Verdict, r.Confidence, r.Totals.Calls, r.Totals.Accelerated, r.Totals.Steady, r.Cost.Total, r.Cost.Estimated, r.Totals.WallS)
				if r.Config["rule"] != want || r.Confidence < 0.9 {
					t.Errorf("decided %v (%.3f), want %s", r.Config["rule"], r.Confidence, want)
				}
				if math.Abs(f.Value-first) > 0.1*first || math.Abs(g.Value-by) > 0.25*by {
					t.Errorf("first %.0f, by %.1f; want %.0f, %.1f", f.Value, g.Value, first, by)
				}
			})
		})
	}
}
