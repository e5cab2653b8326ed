package lab

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A rule of acceleration is one of facts/control.md D: a ceiling for each
// wall-clock minute, which rises by a step when enough of it was used, or a rate
// over 10 s that may not exceed a share plus a multiple of the rate over 60 s.
const (
	ruleNone     = "none"
	ruleAdditive = "additive"
	ruleRatio    = "ratio"
)

// attempt is one call that asked for input tokens.
type attempt struct {
	at      time.Duration // send
	minute  int64         // wall-clock minute then
	tokens  float64
	refused bool
}

// growthRule is a rule with its parameters: first in tokens a minute; by is the
// step in tokens a minute of the additive one, the factor of the other.
type growthRule struct {
	kind      string
	first, by float64
}

// growth is what a rule knows of what passed.
type growth struct {
	growthRule
	minute     int64
	ceil, used float64
	fast, slow float64 // tokens a second over 10 s and 60 s
	at         time.Duration
}

func (g growthRule) begin() growth {
	return growth{growthRule: g, ceil: g.first, minute: math.MinInt64}
}

// earned is the share of a ceiling that has to be used for the next to be higher.
const earned = 0.3

// load is how much of what the rule allows an attempt would use, 1 being all.
func (g *growth) load(a *attempt) float64 {
	switch g.kind {
	case ruleAdditive:
		g.roll(a.minute)
		return (g.used + a.tokens) / g.ceil
	case ruleRatio:
		dt := (a.at - g.at).Seconds()
		g.fast *= math.Exp(-dt / 10)
		g.slow *= math.Exp(-dt / 60)
		g.at = a.at
		return (g.fast + a.tokens/10) / (g.first/60 + g.by*g.slow)
	}
	return 0
}

// roll moves the ceiling on to a wall-clock minute.
func (g *growth) roll(minute int64) {
	if g.minute == math.MinInt64 {
		g.minute = minute
	}
	for ; g.minute < minute; g.minute++ {
		if g.used == 0 && g.ceil == g.first {
			g.minute = minute // idle: nothing changes any more
			return
		}
		if g.used >= earned*g.ceil {
			g.ceil += g.by
		} else {
			g.ceil = max(g.first, g.ceil-g.by)
		}
		g.used = 0
	}
}

// pass takes what was let pass.
func (g *growth) pass(a *attempt) {
	g.used += a.tokens
	g.fast += a.tokens / 10
	g.slow += a.tokens / 60
}

const (
	loadNoise = 0.03  // of a load: token counts are estimates, clocks are a little off
	otherwise = 0.002 // share of refusals, and of passes, that have other reasons
)

// likelihood is the logarithm of how likely the outcomes are under a rule.
func (g growthRule) likelihood(attempts []attempt) float64 {
	state, sum := g.begin(), 0.0
	for i := range attempts {
		a := &attempts[i]
		refuse := otherwise
		if g.kind != ruleNone {
			refuse = otherwise + (1-2*otherwise)/(1+math.Exp(-(state.load(a)-1)/loadNoise))
		}
		if a.refused {
			sum += math.Log(refuse)
			continue
		}
		sum += math.Log1p(-refuse)
		state.pass(a)
	}
	return sum
}

// ruleFit is the best of one kind.
type ruleFit struct {
	growthRule
	logL float64
	bic  float64
}

// fitRule finds the parameters of one kind: a grid over first (as shares of the
// limit) and by, made finer around its best points. More than one, since whole
// minutes make ridges: the best point of the grid may stand on the wrong one.
func fitRule(kind string, attempts []attempt, limit float64) ruleFit {
	best := ruleFit{growthRule: growthRule{kind: kind}, logL: math.Inf(-1)}
	if kind == ruleNone {
		best.logL = best.likelihood(attempts)
		best.bic = -2 * best.logL
		return best
	}
	try := func(first, by float64) ruleFit {
		g := growthRule{kind, first, by}
		return ruleFit{growthRule: g, logL: g.likelihood(attempts)}
	}
	unit := 1.0
	bys := []float64{1, 1.25, 1.5, 2, 2.5, 3.5}
	if kind == ruleAdditive {
		unit, bys = limit, []float64{0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04}
	}
	var grid []ruleFit
	for share := 0.02; share < 1; share *= 1.12 {
		for _, by := range bys {
			grid = append(grid, try(share*limit, by*unit))
		}
	}
	slices.SortStableFunc(grid, func(a, b ruleFit) int { return cmp.Compare(b.logL, a.logL) })
	for _, from := range grid[:3] {
		for _, width := range []float64{0.06, 0.02, 0.007} {
			at := from.growthRule
			for i := -4; i <= 4; i++ {
				for j := -4; j <= 4; j++ {
					f := try(at.first*(1+width*float64(i)/4), max(0, at.by*(1+3*width*float64(j)/4)))
					if f.logL > from.logL {
						from = f
					}
				}
			}
		}
		if from.logL > best.logL {
			best = from
		}
	}
	best.bic = -2*best.logL + 2*math.Log(float64(max(1, len(attempts))))
	return best
}

// decideRule weighs the three kinds by their information criterion: the weight
// of the best is how sure it is.
func decideRule(attempts []attempt, limit float64) (best ruleFit, sure float64, all []ruleFit) {
	for _, kind := range []string{ruleNone, ruleAdditive, ruleRatio} {
		all = append(all, fitRule(kind, attempts, limit))
	}
	best = all[0]
	for _, f := range all[1:] {
		if f.bic < best.bic {
			best = f
		}
	}
	sum := 0.0
	for _, f := range all {
		sum += math.Exp(-(f.bic - best.bic) / 2)
	}
	return best, 1 / sum, all
}
