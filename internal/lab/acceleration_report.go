package lab

import (
	"fmt"
	"math"
	"time"
)

// fromAccel reads the rule out of what was refused.
func (r *Result) fromAccel(b *Bench, c accelChoice, zeros map[string]time.Time) {
	list, told, others := b.attempts(c, zeros)
	m := b.env.Cheap()
	best, sure, all := decideRule(list, c.asked(1))
	first, step := ceilings(told)
	if first > 0 { // the provider says the rule itself
		if best.kind != ruleAdditive {
			r.NotShown = append(r.NotShown, "the refusals tell ceilings, but what was refused fits "+best.kind+" better")
			sure = 1 - sure
		}
		best.kind, best.first, best.by = ruleAdditive, first, step
	}
	r.Config["rule"] = best.kind
	r.Confidence = math.Min(0.99, sure)
	of := func(name, unit string, v float64, n int) Metric {
		return Metric{Name: name, Org: c.Org, Pool: m.Pool, Model: m.ID, Unit: unit, Value: v, Low: v, High: v, N: n, Provisional: true, Note: "one ladder and one jump: to be repeated in two hours"}
	}
	share := of("acceleration_refused", "share", float64(len(told))/float64(max(1, len(list))), len(list))
	if len(told) == 0 {
		share.High = noneOf(len(list))
	}
	r.Metrics = append(r.Metrics, share, of("accelerated_to", "tokens/min", c.asked(accelRungs[len(accelRungs)-1]), len(list)))
	for _, f := range all {
		r.Metrics = append(r.Metrics, of("log_likelihood_"+f.kind, "nats", f.logL, len(list)))
	}
	r.Series = append(r.Series, accelSeries(c, list, best.growthRule)...)
	if others > 0 {
		r.NotShown = append(r.NotShown, fmt.Sprintf("%d calls were refused for other reasons and are left out", others))
	}
	if most := c.asked(accelRungs[len(accelRungs)-1]); best.kind == ruleNone {
		r.Verdict = fmt.Sprintf("%s: no rise up to %.0f input tokens a minute (%.2g %% of the limit) was refused, neither in steps nor at once (%d calls)", c.Org, most, 100*most/c.Limit, len(list))
		r.Binding = append(r.Binding, Bound{Org: c.Org, Pool: m.Pool, Tier: Sync, Limit: "none", Whose: "nobody", Signs: []string{fmt.Sprintf("none of %d calls was refused", len(list))}})
		return
	}
	r.addRule(c, best, len(told), of)
	r.Binding = append(r.Binding, Bound{Org: c.Org, Pool: m.Pool, Tier: Sync, Limit: "acceleration", Whose: "Anthropic", Signs: accelSigns(told, all, first > 0)})
}

func (r *Result) addRule(c accelChoice, best ruleFit, n int, of func(name, unit string, v float64, n int) Metric) {
	r.Metrics = append(r.Metrics, of("acceleration_first", "tokens/min", best.first, n))
	if best.kind == ruleAdditive {
		r.Metrics = append(r.Metrics, of("acceleration_step", "tokens/min", best.by, n))
		r.Verdict = fmt.Sprintf("%s: %.0f input tokens a minute pass at first (%.0f %% of the limit), and %.0f more each minute that uses enough", c.Org, best.first, 100*best.first/c.Limit, best.by)
		return
	}
	r.Metrics = append(r.Metrics, of("acceleration_ratio", "ratio", best.by, n))
	r.Verdict = fmt.Sprintf("%s: the rate over 10 s may not pass %.0f input tokens a minute (%.0f %% of the limit) plus %.1f times the rate over a minute", c.Org, best.first, 100*best.first/c.Limit, best.by)
}

func accelSigns(told []Record, all []ruleFit, numbers bool) []string {
	var signs []string
	if len(told) > 0 {
		signs = append(signs, fmt.Sprintf("%d calls were refused while the levels shown had room: %s", len(told), told[0].Err))
	}
	if numbers {
		signs = append(signs, "the refusals tell a ceiling for the minute and one for the next")
	}
	return append(signs, fmt.Sprintf("logarithm of the likelihood of what was refused: additive %.1f, ratio %.1f, none %.1f", all[1].logL, all[2].logL, all[0].logL))
}

// accelSeries are tokens that were let pass and asked for, by 10 s, and what the
// rule allowed.
func accelSeries(c accelChoice, list []attempt, rule growthRule) []Series {
	if len(list) == 0 {
		return nil
	}
	const bin = 10 * time.Second
	asked, passed, most := map[int]float64{}, map[int]float64{}, map[int]float64{}
	state, last := rule.begin(), 0
	for i := range list {
		a := &list[i]
		k := int(a.at / bin)
		asked[k] += a.tokens
		if load := state.load(a); load > 0 {
			most[k] = state.allowed()
		}
		if !a.refused {
			passed[k] += a.tokens
			state.pass(a)
		}
		last = max(last, k)
	}
	var out []Series
	for _, s := range []struct {
		name string
		of   map[int]float64
		per  float64
	}{{"asked", asked, 6}, {"passed", passed, 6}, {"allowed", most, 1}} {
		line := Series{Name: s.name, Org: c.Org, X: "minutes", Y: "input tokens/min"}
		for k := range last + 1 {
			if v, ok := s.of[k]; ok {
				line.Points = append(line.Points, []float64{float64(k) / 6, s.per * v})
			}
		}
		if len(line.Points) > 0 {
			out = append(out, line)
		}
	}
	return out
}

// allowed is what the rule lets pass now, in tokens a minute.
func (g *growth) allowed() float64 {
	switch g.kind {
	case ruleAdditive:
		return g.ceil
	case ruleRatio:
		return g.first + 60*g.by*g.slow
	}
	return 0
}
