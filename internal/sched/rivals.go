package sched

import "slices"

// Pools of one family are rivals: their lanes share the cap of the org, so what
// one takes the other lacks. Calls of all of them go by priority first, then by
// work served, weighted by the streams that wait there; and what a lower priority
// is due, it is due from the calls of rivals, too.

// serveAll sends what may be sent now, of all pools.
func (c *Core) serveAll() {
	c.busy = c.busy[:0]
	for _, p := range c.pools {
		if p.backlog == 0 {
			c.rest(p)
			continue
		}
		c.busy = append(c.busy, p)
	}
	if len(c.busy) == 1 {
		p := c.busy[0]
		c.openLanes(p)
		for c.serve(p) {
		}
		c.wake = min(c.wake, p.wake)
		return
	}
	for _, p := range c.busy {
		c.openLanes(p)
	}
	for len(c.busy) > 0 {
		i := c.foremost()
		p := c.busy[i]
		c.sentOn = nil
		if !c.serve(p) {
			c.busy = slices.Delete(c.busy, i, i+1)
			c.wake = min(c.wake, p.wake)
			continue
		}
		for _, q := range c.busy {
			if q != p && c.sentOn != nil {
				c.reopenLanes(q, c.sentOn)
			}
		}
	}
}

// foremost is the place in busy of the pool to be served next.
func (c *Core) foremost() int {
	best, top := 0, c.topRank(c.busy[0])
	for i, p := range c.busy[1:] {
		if r := c.topRank(p); r > top || r == top && p.turn < c.busy[best].turn {
			best, top = i+1, r
		}
	}
	return best
}

// topRank is the rank of a pool's first queue.
func (c *Core) topRank(p *pool) int {
	top := -1
	for _, q := range p.queues {
		if q.n > 0 && q.stream.sendable(c.now) {
			top = max(top, p.rank(q))
		}
	}
	return top
}

// shared is the cap that a pool's rivals share; nil: it has no lane.
func (p *pool) shared() *group {
	if len(p.lanes) == 0 {
		return nil
	}
	return p.lanes[0].group
}

// joins says that a pool has calls again: it does not make up for what it did
// not use.
func (p *pool) joins() {
	if g := p.shared(); g != nil {
		p.turn = max(p.turn, g.turn)
	}
}

// shareRivals books work n of a priority for the fairness between rivals.
func (c *Core) shareRivals(p *pool, pr Priority, n float64) {
	g := p.shared()
	g.turn = max(g.turn, p.turn)
	p.turn += n / p.weight(pr)
	if pr == 0 || len(c.pools) == 1 {
		return
	}
	for _, q := range c.pools {
		if q == p || q.backlog == 0 || q.shared() != g {
			continue
		}
		for low := range pr {
			q.owed[low] = min(q.owed[low]+owedShare*n, 2*owedTurn)
		}
	}
}

// weight is that of all streams of a priority that wait in the pool, 1 where none
// does.
func (p *pool) weight(pr Priority) float64 {
	sum := 0.0
	for _, q := range p.queues {
		if q.n > 0 && q.stream.Priority == pr {
			sum += q.stream.Weight
		}
	}
	if sum == 0 {
		return 1
	}
	return sum
}
