package flotilla

import "time"

// Prefer says what a caller cares for when there is a choice of routes.
type Prefer uint8

// Preferences (interface.md, "Flags of run").
const (
	Balanced Prefer = iota
	Fast
	Cheap
)

// Priority says which stream goes first. Higher overtakes lower; none starves.
type Priority uint8

// Priorities. The zero value is a job's.
const (
	Bulk Priority = iota
	Normal
	Interactive
)

// priorityNames are the words of x-flotilla-priority (interface.md, "Gateway").
var priorityNames = [...]string{Bulk: "bulk", Normal: "normal", Interactive: "interactive"}

func (p Priority) String() string { return priorityNames[min(int(p), len(priorityNames)-1)] }

// Options shape one Dispatch or Carry. Every zero value is the recommendation.
type Options struct {
	N        int       // how many requests there will be, as a hint; 0: unknown
	Deadline time.Time // wall-clock; after it nothing new is sent; zero: none
	Prefer   Prefer
	MaxSpend Money // cap on this call of Dispatch; 0: none; negative: nothing may be spent
	Spent    Money // of MaxSpend, spent or in doubt in earlier runs
	Purse    Purse // a cap shared with other processes; nil: none

	// Route says which tiers may be taken; it needs a Deque for batches. nil:
	// Dispatch chooses by N, Prefer and Deadline, Carry is sync alone.
	Route *Route
	// Name is the job's short name, a part of the wire ids of its batches
	// ("f1-<name>-<intent>-<row>"): 1 to 16 characters of a-z and 0-9; empty: "x".
	Name    string
	Batches []OpenBatch // of earlier runs of the job, taken over
	// CancelBatches only ends the Batches: those proven ours are cancelled, what
	// had succeeded in them is taken in, their other rows settle with a
	// *CanceledError. Nothing is sent. The Deadline bounds the wait.
	CancelBatches bool

	Pots []*Pot       // further caps, shared with other streams and lines of the fleet
	Caps <-chan Money // new values of MaxSpend while it runs (0: no cap; negative: nothing more may be spent); nil: none
	// Client is whose stream it is, for Snapshot and Observe; empty: nobody's in
	// particular.
	Client string

	// Version and Betas go with every request of this stream in place of Config's;
	// empty and nil: Config's. Facts.Hash is the source's business then: WeighAs.
	Version string
	Betas   []string

	Priority Priority
	Weight   float64 // share among streams of one priority; 0: 1

	Job int64 // the job its records belong to in the Store; 0: none

	MaxWait      time.Duration // give up when every lane is closed for longer; 0: 1 h
	MaxWaitDaily time.Duration // the same for a daily cap; 0: 25 h
	Drain        time.Duration // how long calls in flight may go on after a cancel; 0: 20 s
	OnStart      func()        // called from the fleet's loop as the first request of this stream leaves; nil: none
}

// Cause is why a Carry ended.
type Cause uint8

// Causes.
const (
	Finished    Cause = iota // every row has a result
	Interrupted              // the context was cancelled
	CapReached               // a cap on money holds the next call
	DeadlinePassed
	LanesClosed // every lane that could take a pending row is closed for longer than MaxWait
	Stopped     // the source or the store gave an error
)

// drainAfterDeadline is how long calls in flight may go on after a deadline
// (interface.md, "Flags of run").
const drainAfterDeadline = 60 * time.Second
