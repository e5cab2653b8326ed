package sched

// slowGrowth: usage rose too fast, without numbers. No memory of a plateau:
// the ceiling rises with use.
func (c *Core) slowGrowth(l *lane, a *attempt) {
	l.ramp.spoil()
	if !c.fresh(l, a) || !l.since.told(c.now, &l.rate) {
		return
	}
	l.since.restart(c.now)
	for _, d := range [...]Dim{Requests, Input} {
		if b := &l.b[d]; b.r > 0 {
			b.cutRate(c.now, 0.8*c.own(l, d)/b.r, 0)
			c.say(NoteRate, l, Acceleration, d, b.g)
		}
	}
}

func (c *Core) accelerated(l *lane, a *attempt, rf *Refusal) {
	if rf.CeilingNow > 0 && rf.CeilingNext >= rf.CeilingNow {
		c.tellAccel(l, rf)
		return
	}
	c.slowGrowth(l, a)
}
