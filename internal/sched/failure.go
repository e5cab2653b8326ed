package sched

// onFailed takes an attempt without an answer in.
func (c *Core) onFailed(e *Failed) {
	i, a := c.att(e.Attempt)
	if a == nil {
		return
	}
	l := a.lane
	l.advance(c.now)
	c.land(l, a)
	if e.Failure == NotSent {
		c.undebit(l, a)
	} else if !a.headed {
		c.read(l, a, &e.Reading, false)
	}
	if e.Failure != Aborted && e.Failure != ReusedReset {
		l.failed++
	}
	v := c.blame(l, a, e.Failure)
	if e.Failure == NotSent {
		c.end(i, 0, false, v)
	} else {
		c.end(i, a.worst, true, v)
	}
}

// maxResets of reused connections in a row are nobody's fault; more are the lane's.
const maxResets = 8

// blame decides whose fault a failure is: the call's only where others were
// answered on the lane meanwhile (interface.md).
func (c *Core) blame(l *lane, a *attempt, f Failure) verdict {
	k := &c.calls[a.call]
	switch {
	case f == Aborted:
		l.alone.lost(a.id)
		c.probeLost(l, a)
		return noFault
	case f == ReusedReset && k.resets < maxResets:
		k.resets++
		l.alone.lost(a.id)
		c.probeLost(l, a)
		return noFault
	}
	c.lost(l, a)
	c.probeLost(l, a)
	if a.epoch != l.epoch {
		return noFault
	}
	c.fault(l)
	c.overloaded(l, a, ServerError, 0.25)
	c.cool(l, ServerError, 0)
	// A connection takes all that it carries with it: failures that come
	// together say nothing of the calls.
	if !l.burst.add(c.now) && l.okSent > a.sent {
		return ownFault
	}
	return laneFault
}

func (c *Core) probeLost(l *lane, a *attempt) {
	if a.kind == parkProbe {
		c.probeEnded(l, a, false)
	}
	if a.kind == thinProbe {
		l.thin.flying = false
	}
}
