package sched

import "time"

// suspicion is a failure that was charged to the lane while nothing told whose
// it was: an answer to a call that left earlier proves nothing, since an outage
// may have begun between the two. It is the call's own after all if a call that
// left after it was answered; the next failure asks (interface.md: "an attempt
// counts against a row only if other rows succeeded on that lane meanwhile").
type suspicion struct {
	lane *lane // nil: none
	sent time.Duration
}

func (s suspicion) proven() bool { return s.lane != nil && s.lane.okSent > s.sent }

// burst tells failures that come together from those that come alone.
type burst struct {
	last time.Duration
	n    int
}

const (
	burstGap  = time.Second // failures this close belong together
	burstSize = 3           // so many are a connection's, or the network's
)

// add counts a failure and says whether it belongs to a burst.
func (b *burst) add(now time.Duration) bool {
	if b.n > 0 && now-b.last > burstGap {
		b.n = 0
	}
	b.last = now
	b.n++
	return b.n >= burstSize
}
