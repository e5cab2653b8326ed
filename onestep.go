package flotilla

import (
	"math"
	"time"

	"github.com/flotilla-llm/flotilla/internal/route"
)

// OneStep is what one more step of a limit would have been worth: the time by
// which the polite bound falls when that limit alone is raised.
type OneStep struct {
	Value float64       // the raised limit: calls in flight, or a minute; 0 for the ramp
	Saves time.Duration // 0: nothing, another limit stands right behind it
}

// raise tells what raising a binding limit would save: our own cap and the ramp
// in every org at once, since they are one setting, a provider's limit in its
// org alone. A cap is raised by half, a provider's limit doubled, which is
// about the next usage tier.
func (b *Binding) raise(problem route.Problem, orgs []string, limit int) {
	raised := problem
	raised.Lanes = append([]route.Lane(nil), problem.Lanes...)
	step := OneStep{}
	switch b.Limit {
	case "cap":
		for i := range raised.Lanes {
			raised.Lanes[i].Cap += raised.Lanes[i].Cap / 2
		}
		step.Value = float64(limit + limit/2)
	case "ramp":
		if problem.Ramp != route.RampPolite {
			return // it is as fast as can be asked for
		}
		raised.Ramp = route.RampFast
	case "rpm", "itpm", "otpm":
		dim := map[string]route.Dim{"rpm": route.Requests, "itpm": route.Input, "otpm": route.Output}[b.Limit]
		for i := range raised.Lanes {
			if l := &raised.Lanes[i]; orgs[i] == b.Org {
				l.PerMinute[dim] *= 2
				l.Capacity[dim] *= 2
				step.Value = math.Round(l.PerMinute[dim])
			}
		}
	default:
		return
	}
	_, now := route.SyncBound(problem)
	_, then := route.SyncBound(raised)
	step.Saves = max(now.Time-then.Time, 0)
	b.OneStep = &step
}

// withFurtherOrg is the polite bound with one more org, like the best of those
// there are.
func withFurtherOrg(problem route.Problem) time.Duration {
	_, now := route.SyncBound(problem)
	best := now.Time
	for i := range problem.Lanes {
		more := problem
		more.Lanes = append(problem.Lanes[:len(problem.Lanes):len(problem.Lanes)], problem.Lanes[i])
		_, then := route.SyncBound(more)
		best = min(best, then.Time)
	}
	return best
}
