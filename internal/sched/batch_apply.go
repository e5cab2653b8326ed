package sched

// applyBatch takes in the events of the batch tier.
func (c *Core) applyBatch(ev Event) {
	switch e := ev.(type) {
	case *SetRoute:
		c.onSetRoute(e)
	case *Gathered:
		c.onGathered(e)
	case *BatchCreated:
		c.onBatchCreated(e)
	case *BatchRefused:
		c.onBatchRefused(e)
	case *BatchFailed:
		c.onBatchFailed(e)
	case *BatchAbsent:
		c.onBatchAbsent(e)
	case *BatchPolled:
		c.onBatchPolled(e)
	case *BatchCollected:
		c.onBatchCollected(e)
	case *BatchUncollected:
		c.onBatchUncollected(e)
	case *AdoptBatch:
		c.onAdopt(e)
	case *QueueSeen:
		c.onQueueSeen(e)
	}
}
