package sched

import "time"

// addBatchLane makes a lane one of the batch tier: it hangs on its org's queue
// instead of the pool's sync lanes, and has no cap on attempts.
func (c *Core) addBatchLane(l *lane, cfg *LaneConfig) {
	l.group = &group{id: -1, cap: 1 << 30}
	l.pool.batch = append(l.pool.batch, l)
	l.maxBytes = maxBatchBytes
	q := c.batchQueueOf(l.org)
	q.lanes = append(q.lanes, l)
	q.tell(cfg, c.now)
	c.bat.dirty = true
}

// Limits of one batch (facts/claude-api.md 4.3), a megabyte short of the
// bytes for what frames the rows.
const (
	maxBatchRows  = 100_000
	maxBatchBytes = 255_000_000
)

func (c *Core) batchLane(id LaneID) *lane {
	if l := c.lane(id); l != nil && l.cfg.Tier == Batch {
		return l
	}
	return nil
}

// createGate asks whether a lane may begin a batch at all now.
func (c *Core) createGate(l *lane) (Limit, time.Duration) {
	q := l.org.batches
	q.doubtLearned(c.now)
	if l.paused {
		return LimitWork, Never
	}
	if p := l.parked(); p != nil {
		if why, at := c.parkGate(l, p); why != LimitNone {
			return why, at
		}
	}
	if c.now < q.hold {
		return LimitRetryAfter, q.hold
	}
	if c.now < q.full {
		return LimitBatchQueue, q.full
	}
	if at := q.unheard(c.now); at > c.now {
		return LimitBatchQueue, at
	}
	if at := q.calls.free(c.now); at > c.now {
		return LimitBatchRPM, at
	}
	if q.stall.on {
		return c.canaryGate(q)
	}
	if float64(q.n+1) > q.win {
		return LimitAIMD, Never
	}
	if q.room() < 1 {
		return LimitBatchQueue, q.reopens()
	}
	return LimitNone, 0
}
