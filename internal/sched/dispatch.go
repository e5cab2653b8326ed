package sched

// dispatch sends all that may be sent now and finds out when more may.
func (c *Core) dispatch() {
	c.release()
	c.wake = c.waits.next(c)
	c.tendLeads()
	c.tendBatches()
	c.serveAll()
	c.hedge()
	if c.wake <= c.now {
		c.wake = c.now + minWait
	}
}

// serve sends one call of the pool, if one may go. Calls are looked at in the
// order of priority, then of fair share; within a queue a few behind the head
// may overtake it (facts/control.md B.9).
func (c *Core) serve(p *pool) bool {
	p.wake = Never
	if p.backlog == 0 {
		c.rest(p)
		return false
	}
	end := c.setEndgame(p)
	if !p.anyOpen() {
		c.closeBooks(p)
		c.holdQueues(p)
		p.wake = min(p.wake, end)
		return false
	}
	c.pass++
	aside := c.beg.aside
	for _, q := range c.order(p) {
		if sent := c.serveQueue(p, q); sent != nil {
			c.reopenLanes(p, sent)
			c.sentOn = sent
			return true
		}
	}
	if c.beg.aside != aside {
		return true // the head is another now: the end of the work may look nearer
	}
	c.closeBooks(p)
	p.wake = min(p.wake, end)
	return false
}

// openLanes finds the lanes of a pool that would take some call.
func (c *Core) openLanes(p *pool) {
	for _, l := range p.lanes {
		l.advance(c.now)
	}
	for _, l := range p.lanes {
		c.openLane(l)
	}
}

func (c *Core) openLane(l *lane) {
	l.why, l.opens = c.laneGate(l)
	l.open = l.why == LimitNone
	l.blame = LimitNone
}

// reopenLanes looks again at the lanes that a send may have closed.
func (c *Core) reopenLanes(p *pool, sent *lane) {
	for _, l := range p.lanes {
		if l.open && (l.group == sent.group || l.org == sent.org || l.failing()) {
			c.openLane(l)
		}
	}
}

func (p *pool) anyOpen() bool {
	for _, l := range p.lanes {
		if l.open {
			return true
		}
	}
	return false
}

// closeBooks notes, when no more can be sent, what holds each lane and when
// the first may open.
func (c *Core) closeBooks(p *pool) {
	for _, l := range p.lanes {
		why := l.why
		if l.open {
			if why = l.blame; why == LimitNone {
				why = LimitWork
			}
		} else {
			p.wake = min(p.wake, l.opens)
		}
		c.wait(l, why)
	}
}
