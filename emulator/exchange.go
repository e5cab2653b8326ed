package emulator

import "time"

// Dim is a dimension of a rate limit.
type Dim uint8

// Dimensions. Tokens is the combined limit of a workspace, or the sum of input
// and output where there is none.
const (
	Requests Dim = iota
	Input
	Output
	Tokens
	NumDims
)

// Class says why a request was refused, as the stats count it.
type Class uint8

// Classes. The zero value is no refusal.
const (
	Admitted     Class = iota
	Steady             // a token bucket has too little (429)
	Accelerated        // usage rose too fast (429)
	Hidden             // a bucket that no header shows (429)
	Concurrent         // too many in flight (429)
	Overload           // the provider is overloaded (529)
	DailyLimit         // the rolling day's tokens are used up (429)
	SpendLimit         // the month's dollars are used up (429)
	Unauthorized       // 401; the server's, never the model's
	QueueFull          // the batch queue has no room (429); never the sync tier's
	Invalid            // 400, 404, 413; the server's, never the model's
	Injected           // by a fault that the server was told to make
	NumClasses
)

// Fault is what goes wrong with an exchange on its way.
type Fault uint8

// Faults.
const (
	NoFault     Fault = iota
	ReusedReset       // a reused connection is reset before anything of the request was read: nothing is billed
	DropBefore        // the connection is reset at End, before the first byte of the answer; billed as far as produced
	DropAfter         // the connection is reset at End, after the first byte
	Truncate          // the stream ends at End without a message_stop, the connection closes in order
	StreamError       // the stream ends at End with an overloaded_error event
	ErrorFirst        // that event is the first of the stream, and nothing is billed
)

// Stop is why an answer ends.
type Stop uint8

// Stop reasons.
const (
	EndTurn Stop = iota
	MaxTokens
	Refusal
	WindowExceeded // prompt and answer filled the context window
	StopSequence   // one of stop_sequences would have followed
	ToolUse        // a tool is called
)

// Arrival is one POST /v1/messages that has been read whole.
type Arrival struct {
	Org       int      // index into Scenario.Orgs
	Model     int      // of [ModelIndex]; not a retired one
	Hash      [16]byte // of the canonical body: keys latency, faults and answer
	Est       int64    // the server's estimate of charged input tokens at admission
	In        int64    // true uncached input tokens; 0: drawn around Est by Scenario.InputNoise
	MaxTokens int64
	Out       int64 // output tokens of the answer; 0: drawn by Scenario.Answer
	Stop      Stop  // with Out: why the answer ends; MaxTokens follows by itself where Out exceeds MaxTokens
	Stream    bool
	Reused    bool // the connection carried an earlier request
	US, Fast  bool // inference_geo "us", speed "fast": prices only

	// Prefixes are the prompt's beginnings, shortest first, where a block bears
	// a cache_control mark; Est is then of the whole prompt, and the cache
	// tokens below follow. Nil: nothing is cached.
	Prefixes []Prefix
	// Cache tokens are not part of Est and In; writes count against the input
	// limit, reads do not.
	CacheWrite5m, CacheWrite1h, CacheRead int64

	Invalid bool // of a row of a batch: what it asks does not hold, and nothing else here counts

	Other bool  // a colleague's: counted apart, never billed, without count of arrivals
	Fault Fault // forced upon it when admitted; NoFault: drawn by Scenario.Flaky and Scenario.Storm
}

// Exchange is everything the client will see of one request, fixed at its
// arrival. It is the model's again after [Model.Release].
type Exchange struct {
	Arrival

	Status int   // 200; 4xx or 5xx of a refusal; 0: the connection dies without an answer (Fault says how)
	Class  Class // why it was refused
	Dim    Dim   // of Steady, Hidden and Accelerated
	Named  bool  // the refusal's text names Dim
	// RetryAfter is what the refusal's header says, in whole seconds; 0: no
	// such header.
	RetryAfter time.Duration
	// CeilingNow and CeilingNext are tokens a minute that an acceleration
	// refusal tells; 0: it tells none.
	CeilingNow, CeilingNext int64

	Reading Reading // limit headers, stamped at admission or refusal

	At         time.Duration // arrival
	FirstToken time.Duration // when output begins to flow; End for an exchange that ends before
	FirstByte  time.Duration // when the client sees the first byte: FirstToken of a stream, else End
	End        time.Duration // when the last byte is there, or the fault strikes

	Usage   Usage  // at End: what is billed
	Full    int64  // output tokens the whole answer has; Usage.Output is less where a fault cuts it
	Answer  uint32 // how-many-th complete answer to this body it is, or would be, from 0
	Arrived uint32 // how-many-th arrival of this body it is, from 0

	body     int32 // index of its counts
	lane     *lane
	rho      float64 // output tokens a second from FirstToken to End
	cost     int64
	due      time.Duration // of its entry in the model's heap
	seq      uint64
	pos      int // in the heap; -1: not there
	phase    phase
	hit      int    // the prefix that is read from the cache; -1: none
	writer   uint64 // of the prefixes it writes
	loose    bool   // nobody will release it: the model does at End
	returned bool   // its answer number was given back
}

type phase uint8

const (
	waiting  phase = iota // admitted, no output yet
	flowing               // output flows
	finished              // settled, refused or canceled
)

// Cost is what the exchange billed, in nano-dollars; 0 until it is settled and
// for a refused one.
func (x *Exchange) Cost() int64 { return x.cost }

// Complete says whether the client gets a whole answer.
func (x *Exchange) Complete() bool { return x.Status == 200 && x.Fault == NoFault }

// Produced is how many output tokens there are at now.
func (x *Exchange) Produced(now time.Duration) int64 {
	switch {
	case x.Class != Admitted || now < x.FirstToken:
		return 0
	case now >= x.End:
		return x.Usage.Output
	}
	return min(x.Usage.Output, int64(x.rho*(now-x.FirstToken).Seconds()))
}

// deltas is how many content events a stream has at most (interface.md).
const deltas = 12

// Deltas is how many text events the stream of the whole answer has: one for
// every ten tokens, at least one and at most twelve; none for an empty answer.
func (x *Exchange) Deltas() int {
	if x.Full == 0 {
		return 0
	}
	return int(min(deltas, (x.Full+9)/10))
}

// DeltaAt is when text event i, from 0, of [Exchange.Deltas] is sent: they are
// spread evenly from FirstByte to the end of the whole answer.
func (x *Exchange) DeltaAt(i int) time.Duration {
	n := time.Duration(x.Deltas())
	return x.FirstByte + x.flow()*time.Duration(i)/n
}

// flow is how long the output of the whole answer takes.
func (x *Exchange) flow() time.Duration {
	if x.rho <= 0 {
		return x.End - x.FirstToken
	}
	return seconds(float64(x.Full) / x.rho)
}
