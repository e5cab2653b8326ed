package flotilla

import "time"

const (
	// batchFrom is how many requests make batches worth a thought: below it
	// their overhead alone takes longer than the sync tier (interface.md,
	// "Flags of run").
	batchFrom = 500
	// patience is how long Cheap waits without a deadline: batches end within a
	// day. notSlow is what Balanced takes for soon enough without one.
	patience = 24 * time.Hour
	notSlow  = time.Hour
)

// chooseRoute is the route of a Dispatch that names none, by what it is told
// beforehand: without a count, and for few requests, sync alone. Fast uses both
// tiers at once. Everything else uses batches for what they will have answered
// in time, by the deadline or else within what the preference calls soon, and
// sync for the rest.
func (f *Fleet) chooseRoute(opt *Options) Route {
	if opt.N < batchFrom {
		return Route{}
	}
	if opt.Prefer == Fast {
		return Route{Batch: true}
	}
	by := opt.Deadline
	if by.IsZero() {
		soon := notSlow
		if opt.Prefer == Cheap {
			soon = patience
		}
		by = f.Now().Add(soon)
	}
	return Route{Batch: true, Target: by}
}
