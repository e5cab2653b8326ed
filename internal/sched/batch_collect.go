package sched

// onBatchCollected takes a batch's results in: its money, and what it teaches.
func (c *Core) onBatchCollected(e *BatchCollected) {
	b := c.batchAt(e.Batch)
	if b == nil || b.step != batchOver {
		return
	}
	c.answered(b, true)
	if e.Foreign {
		if b.stream.closed {
			c.forget(b, b.worst) // ours may run: the next run looks for it
		} else {
			c.notOurs(b)
		}
		return
	}
	cost := max(e.Cost, 0)
	if n := max(e.Succeeded, 0); n > 0 {
		t := b.stream.batchState()
		t.cost.add(float64(cost)/float64(n), 20)
		b.stream.out.add(float64(e.Usage.Output)/float64(n), 50)
		b.lane.succeeded += n
	}
	c.forget(b, cost+max(e.Doubt, 0))
	c.learnBatch(b, e)
}
