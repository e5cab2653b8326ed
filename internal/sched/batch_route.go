package sched

import "time"

// Route says which tiers a stream's rows may take, and by when they should
// have ended. The zero Route is sync alone.
type Route struct {
	Batch  bool // rows that a batch may carry are taken from the far end into batches
	NoSync bool // with Batch: only rows that no batch may carry go by sync, and nothing is rescued
	// Target, with Batch, is when all is to have ended: sync takes only what
	// batches will not have answered by then (thrift; facts/control.md B.12,
	// rescue). 0: as soon as possible, both tiers at full until they meet.
	// Never: batches until the stream's deadline needs a rescue.
	Target time.Duration
}

// BatchView is a batch as it stands.
type BatchView struct {
	Batch     BatchID
	Stream    StreamID
	Lane      LaneID
	Rows      int64
	Worst     int64 // nano-dollars reserved
	Created   time.Duration
	State     BatchState
	Placed    bool          // the provider has it
	Sure      bool          // and it is proven ours
	Stalled   bool          // the watchdog holds it for one that does not proceed
	Canceling bool          // we asked for its end
	Expected  time.Duration // when it is expected to end; 0: unknown
}
