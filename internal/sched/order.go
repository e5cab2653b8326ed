package sched

import "slices"

// order is the pool's queues with something to send, the first to be served
// first. The slice is the core's.
func (c *Core) order(p *pool) []*queue {
	c.queues = c.queues[:0]
	for _, q := range p.queues {
		if q.n > 0 && q.stream.sendable(c.now) {
			c.queues = append(c.queues, q)
		}
	}
	if len(c.queues) > 1 {
		slices.SortStableFunc(c.queues, func(a, b *queue) int {
			if x, y := p.rank(a), p.rank(b); x != y {
				return y - x
			}
			switch {
			case a.stream.vtime < b.stream.vtime:
				return -1
			case a.stream.vtime > b.stream.vtime:
				return 1
			}
			return 0
		})
	}
	return c.queues
}

// Lower priorities get a twentieth of the work while they wait; they are paid
// in turns of so much.
const (
	owedShare = 0.05
	owedTurn  = 4000
)

// rank puts higher priorities first, except that what a lower one is due goes
// before all.
func (p *pool) rank(q *queue) int {
	r := int(q.stream.Priority)
	if p.owed[r] >= owedTurn {
		r += int(NumPriorities)
	}
	return r
}
