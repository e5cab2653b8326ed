package sched

import "time"

// Identifiers. Lane, stream and ledger ids are indices in the order of opening;
// call ids are the driver's, unique in a core's life; attempt ids are the core's.
type (
	LaneID    int32
	StreamID  int32
	LedgerID  int32
	CallID    int64
	AttemptID int64
)

// Dim is a dimension of a rate limit.
type Dim uint8

// Dimensions. Tokens is the combined limit that a workspace may have; it binds
// only where its headers say something the other two do not.
const (
	Requests Dim = iota
	Input
	Output
	Tokens
	NumDims
)

// Tier is a way of being served.
type Tier uint8

// Tiers.
const (
	Sync  Tier = iota // Messages
	Batch             // Message Batches
)

// Config shapes a core. The zero value is the recommendation.
type Config struct {
	Seed  uint64
	Epoch time.Time // wall-clock time at now = 0, for wall minutes and daily ledgers

	Share ShareMode // how we stand beside colleagues on a key
	Ramp  RampMode
	Hedge bool // allow hedges in the tail (at most 1 % of calls and of dollars)

	SoftFloor float64 // share of learned capacity; 0: 0.10; negative: none
	HardFloor float64 // 0: 0.02; negative: none
	// Floors of the token buckets in tokens, in place of the shares; 0: the shares hold.
	SoftTokens, HardTokens float64

	MaxAttempts     int           // failures of a call's own before it settles errored; 0: 3
	BaseDelay       time.Duration // first wait after a call's own failure; 0: 2 s
	MaxDelay        time.Duration // 0: 30 s
	RetryPerMinute  float64       // shared retry budget; 0: 20
	RetryPerSuccess float64       // 0: 0.1
	Ledgers         []Ledger      // every reservation draws on all ledgers its stream names
	LookAhead       int           // calls past a blocked head that may overtake it; 0: 8
	HeadPatience    time.Duration // after which nothing overtakes the head; 0: 10 s
	BlindWait       time.Duration // B.2.8 liveness; 0: 5 s
	BatchRows       int64         // rows of a batch, at most 100,000; 0: chosen by how batches proceed
}

// ShareMode is facts/control.md B.4's shares.
type ShareMode uint8

// Share modes.
const (
	ShareDefault ShareMode = iota // sigma 0.15
	SharePolite                   // sigma 0: nothing below the soft floor
	ShareFair                     // sigma 0.5, no hard floor
)

// RampMode is how fast a fresh lane opens up (B.5).
type RampMode uint8

// Ramp modes.
const (
	RampPolite RampMode = iota // 25 % of cap, doubled every 30 s
	RampFast                   // 50 %, 10 s
	RampOff                    // for benchmarks against a server without limits
)

// LaneConfig opens a lane.
type LaneConfig struct {
	Org  string // lanes of equal Org share account-level refusals
	Pool string // calls name the pool they need
	Tier Tier

	Group int32 // lanes of equal Group share Cap (org × family)
	Cap   int   // attempts the group may have in flight; the last one set holds; 0: none until SetCap

	PerMinute    [NumDims]float64 // known limits; 0: unknown until a header tells
	LimitSource  string           // where PerMinute came from, for people
	Share        *ShareMode       // how we stand beside colleagues on this lane; nil: Config.Share
	TokensPerDay int64            // rolling 24 h; 0: unknown or none
	DayUse       []DayUse         // own use before now = 0, oldest first

	// Of a batch lane. Queue, rate and RPM are the org's, over all its pools: of
	// lanes of equal Org the last one set holds.
	Queue    int64         // rows the org may have in processing; 0: unknown
	BatchRPM float64       // requests per minute to all batch endpoints together; 0: unknown
	Others   int64         // rows that others have in processing
	Overhead time.Duration // measured time before a batch begins to proceed; 0: unknown
	RowRate  float64       // measured rows per second of one batch; 0: unknown
	Parallel int           // measured batches that proceed at once; 0: unknown

	// Last known good values of an earlier run, as hints (B.5); 0: none.
	HintRamp, HintWindow float64
	HintRate             [NumDims]float64
	HintPerDay           int64 // a rolling daily cap that was learned; not held to where TokensPerDay is known
}

// DayUse is our own use of a lane in one bin of 10 minutes.
type DayUse struct {
	Start  time.Duration // on the core's time line; negative: before now = 0
	Tokens int64
}

// StreamConfig opens a stream: a job, or a class of gateway callers.
type StreamConfig struct {
	Priority Priority
	Weight   float64       // share among streams of one priority; 0: 1
	Deadline time.Duration // nothing new is sent after it; 0: none
	Ledgers  []LedgerID    // the money its calls draw on
	N        int64         // calls it will offer in all; 0: unknown
	Route    Route         // which tiers its rows may take
	MaxQueue int           // how many queued calls the driver lets gather; the core holds what it is offered; 0: no bound
}

// Priority says who goes first. Higher overtakes lower; none starves.
type Priority uint8

// Priorities. The zero value is a job's.
const (
	Bulk Priority = iota
	Normal
	Interactive
	NumPriorities
)

// Ledger is money: a cap and what was spent before.
type Ledger struct {
	Limit int64 // nano-dollars; negative: no cap
	Spent int64 // nano-dollars already spent or in doubt when the core starts
	Final bool  // Limit is never raised: a call whose worst case exceeds it settles OverBudget; else it waits
	// Ahead is reserved from the start, in nano-dollars, for batches that may be
	// taken over: see SetLedger.Free.
	Ahead int64 `json:",omitempty"`
}

// Call is one request inside the fleet until it settles. The core keeps what
// it needs of it and no body.
type Call struct {
	ID      CallID
	Stream  StreamID
	Pool    int32 // PoolID given by Core.Pool
	Model   int32 // any number from 0 to 65535; calls of equal Model share NoModel refusals
	In      int32 // estimated uncached input tokens
	MaxOut  int32 // max_tokens
	Out     int32 // expected output tokens; 0: learned from the stream, else MaxOut
	Failed  int32 // failures of its own in earlier processes
	InDoubt bool  // an earlier process may have had it answered: sent last
	Worst   int64 // nano-dollars, an upper bound, by the sync tier

	// Affinity is equal for calls of a stream that mark the same beginning for a
	// cache, which each org keeps for itself (affinity.go); 0: none is marked.
	Affinity uint32 `json:",omitempty"`
}
