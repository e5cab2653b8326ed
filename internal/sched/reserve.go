package sched

// Old documentation said that max_tokens is charged to the output limit at
// admission and corrected later; some orgs may still be so. It is only
// believed on a refusal that names output while there is some left
// (facts/control.md B.2.6): taking it for granted by mistake costs much.

func (c *Core) reserveOn(l *lane, rem float64) {
	l.steady++
	l.reserve, l.reserveMisses = true, 0
	b := &l.b[Output]
	b.lvl = min(b.lvl, rem)
	b.credit = 0
	c.say(NoteReserveMode, l, RateLimited, Output, 1)
}

// checkReserve leaves the mode after three readings in which the reservations
// in flight were not charged.
func (c *Core) checkReserve(l *lane, before float64) {
	b := &l.b[Output]
	switch {
	case !l.reserve || l.maxOuts < 0.1*b.cap:
		return
	case b.lvl-before < 0.5*l.maxOuts:
		l.reserveMisses = 0
		return
	}
	if l.reserveMisses++; l.reserveMisses >= 3 {
		l.reserve, l.reserveMisses = false, 0
		c.say(NoteReserveMode, l, RateLimited, Output, 0)
	}
}
