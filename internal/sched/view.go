package sched

import "time"

// Never is Next's answer when only an event can open a gate.
const Never = time.Duration(1<<63 - 1)

// Limit names what held a lane's calls back; the words of interface.md.
type Limit uint8

// Limits, in the order of the gates they name.
const (
	LimitNone    Limit = iota
	LimitWork          // no call to send
	LimitLatency       // all is sent, answers are awaited
	LimitRPM
	LimitITPM
	LimitOTPM
	LimitTPM
	LimitTPD
	LimitCap
	LimitLittle
	LimitRamp
	LimitAIMD
	LimitOverload
	LimitRetryAfter
	LimitRetryBudget
	LimitAcceleration
	LimitConcurrency
	LimitHidden
	LimitHardFloor
	LimitSoftFloor
	LimitBudget
	LimitBatchQueue
	LimitBatchRPM
	NumLimits
)

// limitNames are the names of interface.md, "--summary".
var limitNames = [NumLimits]string{
	LimitWork: "work", LimitLatency: "latency", LimitRPM: "rpm", LimitITPM: "itpm", LimitOTPM: "otpm",
	LimitTPM: "tpm", LimitTPD: "tpd", LimitCap: "cap", LimitLittle: "little", LimitRamp: "ramp",
	LimitAIMD: "aimd", LimitOverload: "overload", LimitRetryAfter: "retry_after", LimitRetryBudget: "retry_budget",
	LimitAcceleration: "acceleration", LimitConcurrency: "concurrency", LimitHidden: "hidden",
	LimitHardFloor: "hard_floor", LimitSoftFloor: "soft_floor", LimitBudget: "budget",
	LimitBatchQueue: "batch_queue", LimitBatchRPM: "batch_rpm",
}

// Name is the limit's name in summaries and forecasts; empty for LimitNone.
func (l Limit) Name() string { return limitNames[l] }

// LaneView is a lane as it stands, for progress, metrics and summary.
type LaneView struct {
	Org, Pool string
	Tier      Tier
	InFlight  int
	Peak      int     // most in flight so far
	Window    float64 // attempts it may have in flight now
	Cap       int
	Waiting   Limit            // what holds it now
	Capacity  [NumDims]float64 // learned bucket capacity; 0: unknown
	Level     [NumDims]float64
	Refill    [NumDims]float64 // per second
	Others    [NumDims]float64 // colleagues' use, per second
	SoftFloor [NumDims]float64 // of Level: below it sends slow to a trickle
	HardFloor [NumDims]float64 // … below it none go
	Paused    bool             // held by a person
	Closed    bool             // parked: takes no calls
	Class     Class            // why, when Closed
	Reopens   time.Duration    // when it may take calls again; 0: unknown
	Refused   [NumClasses]int64
	Steady    int64 // RateLimited refusals the core held for steady limits
	Hidden    int64 // … for hidden ones
	Accel     int64 // … for acceleration without words, beside Refused[Acceleration]
	Sent      int64
	Succeeded int64
	Failed    int64 // transport failures
	DayTokens int64 // own use in the last 24 h
	DayLimit  int64 // the rolling daily cap, told or learned; 0: none known
	Clocks    [NumLimits]time.Duration

	// Of a batch lane, whose InFlight and Peak are batches outstanding, Sent
	// batches made and Succeeded rows. All but these and Refused are the org's,
	// over all its pools.
	Queued      int64         // rows of ours in processing
	QueueOthers int64         // rows of others, as last seen
	Queue       int64         // rows it takes, told or learned; 0: unknown
	BatchRPM    float64       // requests a minute to all batch endpoints; 0: unknown
	RowRate     float64       // rows a second of one batch, as measured; 0: unknown
	Overhead    time.Duration // before a batch begins to proceed; 0: unknown
	Parallel    int           // batches that proceed at once, at least; 0: unknown
	Stalled     bool          // the watchdog holds what is in it for stalled

	// What a next run takes as hints (LaneConfig.Hint…); 0: not limited.
	Ramp, AIMD float64
	Rate       [NumDims]float64 // ceiling as a multiple of the refill; 2: never cut
}

// StreamView is a stream as it stands.
type StreamView struct {
	// Wants is how many more calls the stream would take for sync now: while a
	// route holds its rows for batches, only rows that no batch may carry are
	// wanted (OnlyIneligible).
	Wants          int
	OnlyIneligible bool
	Batched        int64 // rows in batches that were gathered and have not been collected
	Batches        int   // such batches
	Rescuing       bool  // sync takes what batches will not have answered in time
	// Rows a second that sync could carry, and that batches get answered, as far
	// as can be told; 0 for a stream that never batched.
	SyncRate, BatchRate float64

	Queued      int   // offered and not in flight, waiting retries included
	InFlight    int   // attempts
	Settled     int64 // calls
	Offered     int64 // calls
	Hedges      int64 // second attempts beside one in flight
	Spent       int64 // nano-dollars of its ended attempts and batches, in doubt at worst case
	Paused      bool
	Waiting     Limit         // what holds its next call; LimitNone: nothing is known to
	HeadWait    time.Duration // how long its next call has stood first
	BudgetBound bool          // a ledger holds the next call, and nothing in flight can free enough
	Ledger      LedgerID      // that ledger; -1: none
	Needs       int64         // nano-dollars the held call needs
	AllClosed   bool          // every lane that could take a pending call is parked
	ClosedFor   Class         // why the one that reopens first is
	ClosedSince time.Duration // since when all are
	Reopens     time.Duration // when the first may take calls again; 0: unknown; Never: not before a person acts
}
