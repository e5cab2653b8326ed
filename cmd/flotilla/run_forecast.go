package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/route"
)

// What an answer takes where nothing was measured: seconds to the first token
// and tokens a second, by family. Public figures of the provider's models lie
// around them.
var assumed = map[string]struct{ first, rate float64 }{
	"haiku": {0.4, 180},
	"":      {1.0, 75},
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

// outPerCall is how many tokens an answer is taken to have, over all models.
func (r *runner) outPerCall() float64 { return meanOut(r.plan.Classes) }

// outSources are where that comes from.
func (r *runner) outSources() string {
	var parts []string
	for i := range r.plan.Classes {
		c := &r.plan.Classes[i]
		text := outSourceTexts[c.OutSource]
		if c.OutRows > 0 {
			text = fmt.Sprintf("%s (%s)", text, whole(int(c.OutRows)))
		}
		if len(r.plan.Classes) > 1 {
			text = c.Model + ": " + text
		}
		if !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}

// outSourceTexts are sources of the length of answers, for people.
var outSourceTexts = map[job.OutSource]string{
	job.OutGiven: "--out-tokens", job.OutJournal: "answers to the same template in the journal", job.OutJob: "the job's first answers",
	job.OutBound: "max_tokens, an upper bound",
}
