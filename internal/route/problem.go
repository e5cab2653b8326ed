package route

import "time"

// Dim is a dimension of a rate limit.
type Dim uint8

// Dimensions.
const (
	Requests Dim = iota
	Input
	Output
	NumDims
)

// Problem is a job of one pool and the lanes that may carry it. Jobs of several
// pools are several problems; the longest bound is theirs.
type Problem struct {
	Lanes []Lane
	Work  Work
	Soft  float64 // share of each bucket that manners leave to others; 0: 0.10; negative: none
	Ramp  Ramp
}

// Work is what is to be done, in sums over all calls. Before a run these are
// estimates, after it what was realised.
type Work struct {
	Requests float64
	Input    float64       // tokens that count against the input limit
	Output   float64       // tokens
	Latency  time.Duration // of all calls together
	Shortest time.Duration // latency of the quickest call
	Longest  time.Duration // latency of the slowest
}

// Lane is what one org gives.
type Lane struct {
	Cap       int              // calls in flight; 0 or less: none at all
	PerMinute [NumDims]float64 // limits; 0: none known, so none that binds
	Capacity  [NumDims]float64 // of the buckets; 0: one minute's worth
	Used      [NumDims]float64 // missing from full buckets at the start
	Others    [NumDims]float64 // what colleagues take, per second

	// An additive acceleration ceiling on input tokens: so many may pass in the
	// first minute, Step more in each that follows, up to the limit; 0: none.
	First, Step float64
}

// Ramp is how the window of a fresh lane opens (facts/control.md B.5).
type Ramp uint8

// Ramps.
const (
	RampPolite Ramp = iota // a quarter of the cap, doubled after 30 s and after 60 s
	RampFast               // half of it for 10 s
	RampOff
)

// Limit is what a bound is due to.
type Limit uint8

// Limits. Work means that there is nothing to do, Latency that no limit binds
// but the slowest call's own duration.
const (
	LimitWork Limit = iota
	LimitRPM
	LimitITPM
	LimitOTPM
	LimitCap
	LimitLatency
)

var limitNames = [...]string{"work", "rpm", "itpm", "otpm", "cap", "latency"}

// String is the limit's name in summaries (interface.md, Output).
func (l Limit) String() string { return limitNames[l] }

// Never is the bound of what cannot be done: a limit it needs gives nothing.
const Never = time.Duration(1<<63 - 1)

// Bound is a least duration and what it is due to.
type Bound struct {
	Time  time.Duration // rounded down; Never: it cannot be done
	Limit Limit
}
