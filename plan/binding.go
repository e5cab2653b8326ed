package plan

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/route"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// worthAStep is the least share of the waiting that a limit must have for its
// next step to be worked out.
const worthAStep = 0.01

// binding says what the time of a candidate goes into, over all its
// rehearsals, and what one more step of each limit would save.
func (j *Job) binding(r sched.Route, trials []*trial, p50 time.Duration) []flotilla.Binding {
	type key struct {
		org, pool string
		tier      sched.Tier
		limit     sched.Limit
	}
	var keys []key
	spent, total := map[key]float64{}, 0.0
	for _, t := range trials {
		for i := range t.lanes {
			v := &t.lanes[i]
			for l, d := range v.Clocks {
				idle := sched.Limit(l) == sched.LimitWork && (r.Batch || v.Sent == 0) // as the route has it
				if d <= 0 || sched.Limit(l) == sched.LimitNone || idle {
					continue
				}
				k := key{v.Org, t.world.poolNamed(v.Pool), v.Tier, sched.Limit(l)}
				if spent[k] == 0 {
					keys = append(keys, k)
				}
				spent[k] += d.Seconds()
				total += d.Seconds()
			}
		}
	}
	var out []flotilla.Binding
	step := stepper{w: trials[0].world, route: r, p50: p50}
	for _, k := range keys {
		b := flotilla.Binding{Limit: k.limit.Name(), Org: k.org, Pool: k.pool, Tier: [...]string{"sync", "batch"}[k.tier], Share: spent[k] / total}
		if b.Share >= worthAStep {
			b.OneStep = step.of(&b)
		}
		out = append(out, b)
	}
	slices.SortStableFunc(out, func(a, b flotilla.Binding) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

// poolNamed is the job's name of an emulator's pool.
func (w *supposed) poolNamed(name string) string {
	for _, pool := range w.pools {
		if emulator.PoolOf(w.models[pool]) == name {
			return pool
		}
	}
	return name
}

// stepper works out what raised limits would save, once for each.
type stepper struct {
	w     *supposed
	route sched.Route
	p50   time.Duration
	now   float64 // seconds at best as it is; 0: not worked out
	done  map[string]*flotilla.OneStep
}

// of is what raising a limit saves: our own caps and the ramp in every org at
// once, since they are one setting; a provider's limit in its org alone. A cap is
// raised by half, a provider's limit doubled, which is about the next usage tier.
func (s *stepper) of(b *flotilla.Binding) *flotilla.OneStep {
	name := b.Limit + "/" + b.Pool
	if b.Limit != "cap" && b.Limit != "ramp" {
		name += "/" + b.Org
	}
	if st, ok := s.done[name]; ok {
		return st
	}
	if s.done == nil {
		s.done = map[string]*flotilla.OneStep{}
	}
	t := s.w.task(s.route)
	value, ok := s.w.raise(&t, b)
	var st *flotilla.OneStep
	if ok {
		st = &flotilla.OneStep{Value: value, Saves: s.saves(t)}
	}
	s.done[name] = st
	return st
}

// saves is by how much a changed task is quicker, in proportion to what the
// rehearsals took.
func (s *stepper) saves(changed route.Task) time.Duration {
	if s.now == 0 {
		s.now = quickest(s.w.task(s.route))
	}
	then := quickest(changed)
	if s.now <= 0 || math.IsInf(s.now, 1) || then >= s.now || s.p50 == sched.Never {
		return 0
	}
	return seconds(s.p50.Seconds() * (s.now - then) / s.now)
}

// raise takes a task's limit one step up and says to what.
func (w *supposed) raise(t *route.Task, b *flotilla.Binding) (value float64, ok bool) {
	pool := slices.Index(w.pools, b.Pool)
	dim, isDim := map[string]route.Dim{"rpm": route.Requests, "itpm": route.Input, "otpm": route.Output}[b.Limit]
	for k := range t.Orgs {
		site, mine := &t.Orgs[k], w.job.Fleet.Orgs[k].Name == b.Org
		switch {
		case b.Limit == "cap" && pool >= 0:
			for q := range site.Lanes {
				if site.Group[q] == site.Group[pool] && site.Lanes[q].Cap > 0 {
					value = float64(site.Lanes[q].Cap + site.Lanes[q].Cap/2)
					site.Lanes[q].Cap = int(value)
				}
			}
		case isDim && mine && pool >= 0:
			site.Lanes[pool].PerMinute[dim] *= 2
			value = math.Round(site.Lanes[pool].PerMinute[dim])
		case b.Limit == "batch_queue" && mine:
			site.Batch.Queue *= 2
			value = site.Batch.Queue
		}
	}
	if b.Limit == "ramp" && t.Ramp == route.RampPolite {
		t.Ramp = route.RampFast
		return 0, true
	}
	return value, value > 0
}

// furtherOrg is what one more org, like the best of those there are, would save.
func (s *stepper) furtherOrg() (best time.Duration) {
	t := s.w.task(s.route)
	for k := range t.Orgs {
		more := t
		more.Orgs = append(t.Orgs[:len(t.Orgs):len(t.Orgs)], t.Orgs[k])
		best = max(best, s.saves(more))
	}
	return best
}
