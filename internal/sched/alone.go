package sched

import "time"

// alone holds a lane to one attempt until that attempt's headers or answer
// come: on a fresh lane, whose limits are not known yet (B.5), and after a long
// cooldown, whose end may be a lie.
type alone struct {
	on     bool
	flying AttemptID
	since  time.Duration
}

const (
	aloneFor = 30 * time.Second // a hung first attempt does not hold the lane longer
	longHold = 5 * time.Second  // a cooldown from which the lane comes back by one attempt
)

func (a *alone) sent(id AttemptID, now time.Duration) bool {
	if !a.on {
		return false
	}
	a.flying, a.since = id, now
	return true
}

// heard says that the attempt was admitted.
func (a *alone) heard(id AttemptID) {
	if a.on && a.flying == id {
		*a = alone{}
	}
}

// lost says that it was refused or failed: the next one goes alone, too.
func (a *alone) lost(id AttemptID) {
	if a.flying == id {
		a.flying = 0
	}
}
