package sched

import (
	"slices"
	"time"
)

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

// shuns says that a call is to go elsewhere: its last attempt failed on the lane,
// which has answered nothing sent later, and another lane does answer. A lane
// that nobody loads looks like the best one, and a dead one stays so: it would
// be asked by the same call for ever, and each attempt may be billed.
func (p *pool) shuns(k *call, l *lane) bool {
	return k.suspect.lane == l && !k.suspect.proven() && slices.ContainsFunc(p.lanes, func(o *lane) bool {
		return o != l && !o.paused && o.parked() == nil && !o.denies(k.model) && !o.failing()
	})
}

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
