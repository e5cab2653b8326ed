package sched

import "time"

// Event is something that happened outside the core: calls offered, answers
// and refusals that came in, limits learned, time passed. The set is closed.
type Event interface{ event() }

// Tick says only that time has passed. The driver sends one when Next is due.
type Tick struct{}

// AddLane opens a lane; its LaneID is the number of lanes opened before.
type AddLane struct{ Lane LaneConfig }

// AddStream opens a stream; its StreamID is the number of streams opened before.
type AddStream struct{ Stream StreamConfig }

// AddLedger opens a ledger; its LedgerID is the number of ledgers before it,
// those of Config.Ledgers included.
type AddLedger struct{ Ledger Ledger }

// Offer hands calls to the core. Within one priority and stream they are sent
// in the order of offering. The core copies Calls.
type Offer struct{ Calls []Call }

// Exhausted says that a stream will offer nothing more: the endgame rules of
// facts/control.md B.4 and hedging (B.11) may begin once its queue is empty.
type Exhausted struct{ Stream StreamID }

// Withdraw takes a call back. Unsent, it settles Canceled at once; in flight,
// its attempts are aborted and it settles Canceled when the last one ends,
// unless one of them succeeds first.
type Withdraw struct{ Call CallID }

// CloseStream ends the sending of a stream: what was not sent is forgotten
// without a Settle (it stays pending in the journal), what is in flight drains.
type CloseStream struct{ Stream StreamID }

// PauseStream holds a stream (Paused true) or lets it go on.
type PauseStream struct {
	Stream StreamID
	Paused bool
}

// PauseLane holds a lane by a person's wish (Paused true) or lets it go on.
type PauseLane struct {
	Lane   LaneID
	Paused bool
}

// Headers is a reading of limit headers that arrived with the first byte of an
// answer that is still streaming.
type Headers struct {
	Attempt AttemptID
	Reading Reading
}

// Progress reports the output tokens an attempt has streamed so far.
type Progress struct {
	Attempt AttemptID
	Out     int64
}

// Done is a complete, well-formed answer.
type Done struct {
	Attempt AttemptID
	Reading Reading // of the answer's headers; the zero Reading means none
	Usage   Usage
	Cost    int64 // nano-dollars, exact
}

// Refused is an error answer of the provider (or of something in front of it).
type Refused struct {
	Attempt AttemptID
	Reading Reading
	Refusal Refusal
	Cost    int64 // nano-dollars it billed all the same; 0 almost always
}

// Failed is an attempt that ended without a complete answer.
type Failed struct {
	Attempt AttemptID
	Reading Reading // headers, where some came
	Failure Failure
}

// Learn tells a lane's limits from a source better than headers (Rate Limits
// API, configuration, profile). Zero fields leave what is known.
type Learn struct {
	Lane         LaneID
	PerMinute    [NumDims]float64
	TokensPerDay int64
	Source       string
}

// SetCap changes how many attempts a cap group may have in flight, for all its
// lanes together: the share this process holds of a cap that is per org and family.
type SetCap struct {
	Group int32
	Cap   int
}

// SetLedger moves a ledger's limit, in nano-dollars: money granted or taken back.
// Free is given back of what the ledger was opened with as reserved ahead, no
// more than is left of it.
type SetLedger struct {
	Ledger LedgerID
	Limit  int64
	Free   int64 `json:",omitempty"`
}

// Woke says that the machine slept: mirrored levels and the ramp start anew.
type Woke struct{}

func (*Tick) event()        {}
func (*AddLane) event()     {}
func (*AddStream) event()   {}
func (*AddLedger) event()   {}
func (*Offer) event()       {}
func (*Exhausted) event()   {}
func (*Withdraw) event()    {}
func (*CloseStream) event() {}
func (*PauseStream) event() {}
func (*PauseLane) event()   {}
func (*Headers) event()     {}
func (*Progress) event()    {}
func (*Done) event()        {}
func (*Refused) event()     {}
func (*Failed) event()      {}
func (*Learn) event()       {}
func (*SetCap) event()      {}
func (*SetLedger) event()   {}
func (*Woke) event()        {}

// Reading is what one answer's limit headers said. Known has bit 1<<d set for
// each dimension present and well-formed.
type Reading struct {
	Known     uint8
	Limit     [NumDims]float64       // per minute
	Remaining [NumDims]float64       // at admission; tokens rounded to thousands by the server
	ResetIn   [NumDims]time.Duration // reset minus Date of the same answer: until full; whole seconds, may be negative
}

// Usage is what the provider says a call consumed, in tokens.
type Usage struct {
	Input      int64 // uncached input
	CacheWrite int64
	CacheRead  int64 // costs no input-token budget
	Output     int64
}

// Refusal is an error answer, classified as far as its own text and headers go.
// What only the mirror can tell (a steady limit from a hidden one) the core adds.
type Refusal struct {
	Class      Class
	Dim        Dim           // the dimension the text names, when Named
	Named      bool          // the text names a dimension
	RetryAfter time.Duration // 0: none given
	// Acceleration refusals that carry numbers: the ceiling now and after the
	// next wall-clock minute, in units of Dim per minute; 0: none given.
	CeilingNow, CeilingNext float64
	// ReopensAt is the instant an account-level text names; 0: none.
	ReopensAt time.Duration
}

// Class is a kind of refusal (facts/control.md B.6 and the two rows at its head).
type Class uint8

// Refusal classes. The zero value is an error of the request itself.
const (
	Invalid      Class = iota // 400, 404 of a path, 413: the call's own fault, final
	RateLimited               // 429 without better words: the core tells steady, hidden and acceleration apart
	Acceleration              // "usage increase rate", ramp_limit_exceeded
	Concurrency               // "concurrent connections"
	Daily                     // "per day" text or a retry-after over 300 s
	Spend                     // monthly, contract or self-set spend limit
	Auth                      // 401
	Permission                // 403 of the API, 402 billing: the lane's org may not do this
	Credit                    // 400 with the low-credit text
	Hold                      // 400 organization_on_hold
	NoModel                   // 404 for the model: this org cannot call it
	QueueFull                 // batch queue
	Overloaded                // 529, overloaded_error, also inside a stream
	ServerError               // 500, 502, 503, 520-524, HTML pages
	Conflict                  // 409, 408: may be repeated, the call's own
	Unknown504                // 504: outcome unknown, the dollars stay reserved
	NumClasses
)

// Failure is how an attempt ended without an answer.
type Failure uint8

// Failures.
const (
	NotSent     Failure = iota // no connection was had, nothing left: the dollars are released
	ReusedReset                // a reused connection was reset before any byte of the answer: retried at once, no fault of the lane; in doubt
	Reset                      // the connection broke after the request may have left: in doubt
	Timeout                    // no answer in time: in doubt
	Cut                        // the answer broke off or was malformed: billed as far as known, the rest in doubt
	StreamError                // an error event inside a stream after a 200 that is not overload
	Aborted                    // the driver carried out an Abort or the caller went away: in doubt
)
