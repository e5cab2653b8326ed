package main

import (
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/route"
	"github.com/flotilla-llm/flotilla/price"
)

// forecast is when a job may end, from its beginning. It is a range, since how
// long answers take and what limits hold is learned on the way.
type forecast struct {
	soonest, latest time.Duration // 0: unknown
	bound, polite   route.Bound
}

// What an answer takes where nothing was measured: seconds to the first token
// and tokens a second, by family. Public figures of the provider's models lie
// around them; the range below covers half and twice.
var assumed = map[string]struct{ first, rate float64 }{
	"haiku": {0.4, 180},
	"":      {1.0, 75},
}

// outputShare is the part of max_tokens that answers are taken to use.
const outputShare = 0.6

// forecast bounds the job by its limits and caps (facts/control.md C.1): as the
// limits alone allow with quick answers, and with manners and slow ones.
func (r *runner) forecast() forecast {
	fast, slow := r.problem(0.5), r.problem(2)
	var fc forecast
	fc.bound, _ = route.SyncBound(fast)
	_, fc.polite = route.SyncBound(slow)
	if fc.polite.Time < route.Never {
		fc.soonest, fc.latest = fc.bound.Time, fc.polite.Time
	}
	return fc
}

// problem is the job as the bound needs it, with answers so many times as slow
// as assumed.
func (r *runner) problem(slowness float64) route.Problem {
	p := &r.plan
	n := float64(p.Pending)
	out := r.outPerCall()
	family := ""
	if fs := r.families(); len(fs) == 1 {
		family = fs[0]
	}
	speed, ok := assumed[family]
	if !ok {
		speed = assumed[""]
	}
	each := time.Duration(slowness * (speed.first + out/speed.rate) * float64(time.Second))
	prob := route.Problem{
		Soft: r.settings.SoftFloor.Share,
		Work: route.Work{
			Requests: n, Input: float64(p.Tokens), Output: n * out,
			Latency: time.Duration(n * float64(each)), Shortest: each, Longest: 2 * each,
		},
	}
	if r.settings.Ramp == flotilla.RampFast {
		prob.Ramp = route.RampFast
	}
	for _, o := range r.usable() {
		prob.Lanes = append(prob.Lanes, r.lane(&o))
	}
	return prob
}

func (r *runner) lane(o *OrgSetting) (l route.Lane) {
	for _, family := range r.families() {
		l.Cap += r.settings.capOf(family)
	}
	for _, name := range r.plan.Models {
		m, _ := r.flags.prices().Lookup(name)
		known := o.PerMinute[m.Pool]
		l.PerMinute[route.Requests] += known.Requests
		l.PerMinute[route.Input] += known.Input
		l.PerMinute[route.Output] += known.Output
	}
	return l
}

// outPerCall is how many tokens an answer is taken to have: as --out-tokens
// says, else what the expected dollars come from.
func (r *runner) outPerCall() float64 {
	if r.flags.outTokens.mean > 0 {
		return float64(r.flags.outTokens.mean)
	}
	if r.flags.maxTokens != nil {
		return outputShare * float64(*r.flags.maxTokens)
	}
	// Out of the expected dollars, by the price of the first model.
	p := &r.plan
	if len(p.Models) == 0 || p.Pending == 0 {
		return 0
	}
	m, _ := r.flags.prices().Lookup(p.Models[0])
	input := m.Cost(price.Usage{Input: p.Tokens})
	one := m.Cost(price.Usage{Output: 1000}).Float() / 1000
	if one <= 0 {
		return 0
	}
	return max(0, (p.Expected-input).Float()/one/float64(p.Pending))
}
