package sched

import "time"

// BatchID names a batch inside the core: it rises by one with each Gather, and
// adopted ones take theirs from the same count.
type BatchID int64

// SetRoute changes which tiers a stream's calls may take and by when.
type SetRoute struct {
	Stream StreamID
	Route  Route
}

// Backlog tells how many rows the stream's source still has that a batch of
// that pool may carry: neither offered as calls, nor in a batch, nor settled.
// The driver sends it whenever the figures changed by something else than the
// core's own Gather (rows pulled for sync, rows given back), and after each
// Gathered. The means size chunks and reserve money.
type Backlog struct {
	Stream StreamID
	Pool   int32
	Rows   int64
	Bytes  float64 // mean encoded bytes of a row
	Worst  float64 // mean worst case of a row by batch, nano-dollars
	In     float64 // mean estimated input tokens
	Out    float64 // mean expected output tokens; 0: to be learned
	MaxOut float64 // mean max_tokens
}

// Gathered answers a Gather: what the source gave. No rows: there was nothing
// to give, and the batch is forgotten.
type Gathered struct {
	Batch BatchID
	Rows  int64
	Bytes int64 // of the request that will carry them
	Worst int64 // nano-dollars, by the batch tier; at most the Gather's
}

// BatchCreated says that the provider has the batch and that its id is durable.
// Sure is false while it is only believed to be ours: one that was found by
// time and count after a create whose answer was lost. It is polled like any
// other and never cancelled until BatchProven.
type BatchCreated struct {
	Batch BatchID
	Sure  bool
}

// BatchRefused says that a create was answered by an error and made no batch.
type BatchRefused struct {
	Batch   BatchID
	Refusal Refusal
	TooBig  bool // 413: fewer bytes may pass
}

// BatchFailed says that a create ended without an answer. After NotSent it is
// repeated; after anything else it is looked for first.
type BatchFailed struct {
	Batch   BatchID
	Failure Failure
}

// BatchAbsent answers a FindBatch that found nothing in a whole listing; Asked
// is false where the listing itself failed and says nothing.
type BatchAbsent struct {
	Batch BatchID
	Asked bool
}

// BatchPolled answers a PollBatch or CancelBatch.
type BatchPolled struct {
	Batch      BatchID
	State      BatchState
	RetryAfter time.Duration // the server's wish for the next poll; 0: none
	Refusal    *Refusal      // State BatchUnknown: what was answered in place of the batch; nil: nothing came
}

// BatchState is what a poll saw.
type BatchState uint8

// Batch states.
const (
	BatchRunning   BatchState = iota // in_progress
	BatchCanceling                   // canceling
	BatchEnded                       // ended: results can be had
	BatchMissing                     // 404: of a batch we created it means "ask again" (facts/peer-faults.md 9)
	BatchUnknown                     // no answer, or another error
)

// BatchCollected says that the results of an ended batch were read whole, rows
// settled or given back to the source, and all of it is durable.
type BatchCollected struct {
	Batch     BatchID
	Succeeded int64
	Errored   int64 // settled errored
	Back      int64 // given back: expired, canceled, missing, errored in a way that may be repeated
	Canceled  int64 // of Back, rows that came back canceled
	Expired   int64 // of Back or settled, rows that came back expired
	Cost      int64 // nano-dollars of all rows
	Doubt     int64 // nano-dollars that stay reserved: rows whose billing is unknown
	Usage     Usage // of all succeeded rows together
	Foreign   bool  // the results are of somebody else's batch: ours was never made, nothing was settled
}

// BatchUncollected says that results could not be read whole this time.
type BatchUncollected struct{ Batch BatchID }

// AdoptBatch takes over a batch that an earlier process made, or that is in
// doubt since its crash; its BatchID is the next one. Worst is reserved.
type AdoptBatch struct {
	Stream    StreamID
	Lane      LaneID
	Rows      int64
	Bytes     int64
	Worst     int64
	CreatedAt time.Duration // on the core's time line; negative: before now = 0
	Known     bool          // its id is known; else it is looked for first
	Sure      bool          // with Known: it is proven ours
	Canceling bool
	// Was is the same batch where a stream of this core that was closed left it
	// behind: its place and its money are this one's now. 0: none did.
	Was BatchID `json:",omitempty"`
	// Aside are ledgers of the stream that do not count this batch: whoever sets
	// their limits counts it elsewhere.
	Aside []LedgerID `json:",omitempty"`
}

// QueueSeen tells how many rows others have in processing in the batch queue
// of a lane's org, and the queue's cap where it was learned (0: nothing new).
type QueueSeen struct {
	Lane   LaneID
	Others int64
	Cap    int64
}

func (*SetRoute) event()         {}
func (*Backlog) event()          {}
func (*Gathered) event()         {}
func (*BatchCreated) event()     {}
func (*BatchRefused) event()     {}
func (*BatchFailed) event()      {}
func (*BatchAbsent) event()      {}
func (*BatchPolled) event()      {}
func (*BatchCollected) event()   {}
func (*BatchUncollected) event() {}
func (*AdoptBatch) event()       {}
func (*QueueSeen) event()        {}
