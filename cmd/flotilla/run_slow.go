package main

import (
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla/internal/route"
)

// worthSaying is the least slowing down that is said beforehand.
const worthSaying = 10 * time.Second

// slowText says by how much our cap on calls in flight slows the job by sync;
// empty: it does not, or other routes are open.
func (r *runner) slowText() string {
	capped, free := r.problem(1), r.problem(1)
	if !knowsLimits(capped.Lanes) {
		return "" // without a limit to compare with, any cap seems to be the only one
	}
	for i := range free.Lanes {
		free.Lanes[i].Cap = 1 << 20
	}
	with, _ := route.SyncBound(capped)
	without, _ := route.SyncBound(free)
	if with.Limit != route.LimitCap || with.Time-without.Time < worthSaying {
		return ""
	}
	return fmt.Sprintf("the cap on calls in flight makes this about %s longer (%s instead of %s); --conc raises it",
		span(with.Time-without.Time), span(with.Time), span(without.Time))
}

func knowsLimits(lanes []route.Lane) bool {
	for i := range lanes {
		if lanes[i].PerMinute[route.Requests] == 0 {
			return false
		}
	}
	return len(lanes) > 0
}
