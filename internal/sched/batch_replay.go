package sched

// batchKindOf names the events of the batch tier in a log.
func batchKindOf(ev Event) string {
	switch ev.(type) {
	case *SetRoute:
		return "set_route"
	case *Backlog:
		return "backlog"
	case *Gathered:
		return "gathered"
	case *BatchCreated:
		return "batch_created"
	case *BatchRefused:
		return "batch_refused"
	case *BatchFailed:
		return "batch_failed"
	case *BatchAbsent:
		return "batch_absent"
	case *BatchPolled:
		return "batch_polled"
	case *BatchCollected:
		return "batch_collected"
	case *BatchUncollected:
		return "batch_uncollected"
	case *AdoptBatch:
		return "adopt_batch"
	case *QueueSeen:
		return "queue_seen"
	}
	return ""
}

// batchActionKind names the actions of the batch tier in a log.
func batchActionKind(a Action) string {
	switch a.(type) {
	case *Gather:
		return "gather"
	case *PersistBatch:
		return "persist_batch"
	case *SubmitBatch:
		return "submit_batch"
	case *FindBatch:
		return "find_batch"
	case *PollBatch:
		return "poll_batch"
	case *CancelBatch:
		return "cancel_batch"
	case *CollectBatch:
		return "collect_batch"
	case *ReleaseBatch:
		return "release_batch"
	case *ListBatches:
		return "list_batches"
	}
	return ""
}
