package sched

// Gather asks the driver to take rows for one batch from the far end of the
// stream's source: of the lane's pool, at most so many, so many encoded bytes
// and so much money. The driver answers with Gathered.
type Gather struct {
	Batch  BatchID
	Stream StreamID
	Lane   LaneID
	Rows   int64
	Bytes  int64
	Worst  int64 // nano-dollars by the batch tier, reserved from now on
}

// PersistBatch asks for the intent, with its rows, to be durable before the
// SubmitBatch that follows it.
type PersistBatch struct {
	Batch BatchID
	Lane  LaneID
	Worst int64
}

// SubmitBatch asks for one create. It is answered by BatchCreated,
// BatchRefused or BatchFailed.
type SubmitBatch struct {
	Batch BatchID
	Lane  LaneID
	Try   int  // 1 for the first create of these rows
	Probe bool // a canary of a stalled lane (facts/control.md B.12)
}

// FindBatch asks to look for a batch whose create may have been carried out:
// BatchCreated where it was found, else BatchAbsent.
type FindBatch struct{ Batch BatchID }

// PollBatch asks how a batch stands: BatchPolled.
type PollBatch struct{ Batch BatchID }

// CancelBatch asks for a batch to be cancelled: BatchPolled. Its rows come back
// only with its results, after it has ended.
type CancelBatch struct {
	Batch BatchID
	Why   CancelWhy
}

// CancelWhy says why the core wants the end of a batch.
type CancelWhy uint8

// Reasons for a cancel.
const (
	CancelUntold  CancelWhy = iota // an earlier process asked for it
	CancelLate                     // it would end after the time of its route: a rescue takes its rows
	CancelSooner                   // sync will be through with its rows sooner
	CancelStalled                  // it is overdue, or shows how far what is overdue came
)

// CollectBatch asks for the results of an ended batch: BatchCollected or
// BatchUncollected.
type CollectBatch struct{ Batch BatchID }

// ReleaseBatch says that a batch will not be made: its rows go back to the
// source, its money is free. Why is the class of the refusal, where Refused.
// With Lost the batch may have been made and can no longer be seen: its rows go
// back all the same and its money stays in doubt.
type ReleaseBatch struct {
	Batch   BatchID
	Refused bool
	Why     Class
	Lost    bool
}

// ListBatches asks what an org's batch queue holds: QueueSeen.
type ListBatches struct{ Lane LaneID }

func (*Gather) action()       {}
func (*PersistBatch) action() {}
func (*SubmitBatch) action()  {}
func (*FindBatch) action()    {}
func (*PollBatch) action()    {}
func (*CancelBatch) action()  {}
func (*CollectBatch) action() {}
func (*ReleaseBatch) action() {}
func (*ListBatches) action()  {}
