package gateway

import (
	"slices"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// noteAsk notes how a create wants its batch to be carried. Batches wait for nobody,
// so that they go last unless their priority is named.
func noteAsk(rec *journal.ClientBatch, a *ask, caller Caller, named bool) {
	rec.Deadline, rec.Weight = a.Deadline, caller.Weight
	if a.PreferGiven {
		rec.Prefer = preferences[a.Prefer]
	}
	if named {
		rec.Priority = a.Priority.String()
	}
}

// priorityOf is the priority of a batch's rows.
func priorityOf(rec *journal.ClientBatch) flotilla.Priority {
	return flotilla.Priority(max(0, slices.Index(priorities[:], rec.Priority)))
}

// routeOf is which tiers may carry a batch: batches alone, at their price, unless
// speed was asked for, by the create or, where it says nothing, by --prefer. fast
// takes both tiers at once; anything else with a deadline leaves to sync what
// batches will not have answered by then.
func routeOf(rec *journal.ClientBatch, usual flotilla.Prefer, given bool) flotilla.Route {
	prefer := rec.Prefer
	if prefer == "" && given {
		prefer = preferences[usual]
	}
	switch {
	case prefer == preferences[flotilla.Fast]:
		return flotilla.Route{Batch: true}
	case prefer != "" && !rec.Deadline.IsZero():
		return flotilla.Route{Batch: true, Target: rec.Deadline}
	}
	return flotilla.Route{Batch: true, NoSync: true}
}
