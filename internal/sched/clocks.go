package sched

// Each lane keeps a clock per limit; at every moment exactly one of them runs,
// so they sum to the time that has passed (facts/control.md B.8).

// wait says what holds a lane from now on.
func (c *Core) wait(l *lane, why Limit) {
	if l.waiting == why {
		return
	}
	l.clocks[l.waiting] += c.now - l.waitSince
	l.waiting, l.waitSince = why, c.now
}

// rest says that a pool has nothing to send: its lanes wait for answers, or
// for work.
func (c *Core) rest(p *pool) {
	for _, l := range p.lanes {
		l.endgame = false
		if l.n > 0 {
			c.wait(l, LimitLatency)
		} else {
			c.wait(l, LimitWork)
		}
	}
}

// holdQueues tells the queues of a pool without an open lane why they wait.
func (c *Core) holdQueues(p *pool) {
	for _, q := range p.queues {
		if q.n > 0 && len(p.lanes) > 0 {
			q.wait = p.lanes[0].waiting
		}
	}
}

// blame gives all open lanes the same reason.
func (p *pool) blame(why Limit) {
	for _, l := range p.lanes {
		if l.open && l.blame == LimitNone {
			l.blame = why
		}
	}
}
