package flotilla

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// DefaultBaseURL is the provider's own address.
const DefaultBaseURL = "https://api.anthropic.com"

// DefaultVersion is the anthropic-version sent unless Config says otherwise.
const DefaultVersion = "2023-06-01"

// Config shapes a Fleet. Only Orgs is required; every other zero value is the
// recommendation.
type Config struct {
	Orgs    []Org
	BaseURL string   // empty: DefaultBaseURL
	Version string   // anthropic-version; empty: DefaultVersion
	Betas   []string // anthropic-beta names

	Share Share // how to stand beside colleagues on a key
	Ramp  Ramp  // how fast a fresh lane opens up
	Hedge bool  // allow second attempts for stragglers at the end (at most 1 % of calls and of dollars)

	// Conc caps the attempts in flight by family in one org, all its lanes
	// together; a family that is missing has DefaultConc.
	Conc map[string]int

	SoftFloor, HardFloor float64 // share of learned capacity; 0: 0.10 and 0.02; negative: none
	// Floors of the token buckets in tokens, in place of the shares; 0: the shares hold.
	SoftTokens, HardTokens float64
	Retry                  Retry
	Stream                 StreamMode

	// Spend caps everything this Fleet sends, over all its streams; 0: no cap;
	// negative: nothing may be spent.
	Spend Money

	// MaxConns bounds the connections to one org, and over plain http, where each
	// call in flight needs one, the caps too; 0: 1024.
	MaxConns int

	Store  Store // keeps intents and results; nil: nothing is kept
	Slots  Slots // shares Conc with other processes; nil: all of it is ours
	Prices *price.Table

	// Memory carries what earlier runs learned of the lanes; nil: nothing.
	Memory Memory

	Speed     float64                         // of the emulator's clock; 0 and 1: real time
	Transport func(org Org) http.RoundTripper // nil: our own pool of connections
	Trace     io.Writer                       // receives every event and action as JSON lines; nil: none
	Notify    func(Notice)                    // told of what people should know, from the fleet's loop: must not block; nil: none

	// Observe is told of every attempt that ended, from the fleet's loop: it must
	// not block; nil: nobody is.
	Observe func(Observation)

	clock readClock // a test's clock
}

// Share is how a fleet stands beside colleagues on a shared key (facts/control.md B.4).
type Share uint8

// Shares. Polite leaves everything below the soft floor to others.
const (
	ShareDefault Share = iota
	SharePolite
	ShareFair
)

// Ramp is how fast a fresh lane opens up (facts/control.md B.5).
type Ramp uint8

// Ramps. RampOff is for measuring against a server without limits.
const (
	RampPolite Ramp = iota
	RampFast
	RampOff
)

// StreamMode says when answers are taken as a stream of events.
type StreamMode uint8

// Stream modes. Auto streams where max_tokens is over 21,333, where the
// expected latency is over 3 s, or where the body asks.
const (
	StreamAuto StreamMode = iota
	StreamOn
	StreamOff
)

// Retry shapes what happens after failures. Zero values: 3 attempts, 2 s, 30 s,
// 20 a minute, 0.1 a success.
type Retry struct {
	MaxAttempts   int
	BaseDelay     time.Duration
	MaxDelay      time.Duration
	BudgetPerMin  float64
	BudgetPerSucc float64
}

// DefaultConc is the etiquette cap of a family in one org (interface.md).
func DefaultConc(family string) int {
	switch family {
	case "sonnet":
		return 100
	case "haiku":
		return 120
	}
	return 40
}

// Slots shares a cap on attempts in flight between processes. The journal is one.
type Slots interface {
	// Lease asks for want slots of a pot whose cap is limit, for ttl on real
	// time, and is repeated well within it. held is how many this process may
	// use from now on; target is its part by what all want: where that is less,
	// it shrinks to it and then calls Release.
	Lease(ctx context.Context, pot string, limit, want int, ttl time.Duration) (held, target int, err error)
	// Release gives back all slots but the first keep, of which no more are in
	// use, nor will be.
	Release(ctx context.Context, pot string, keep int) error
}

// Memory is what a fleet remembers of lanes between runs. The journal is one.
type Memory interface {
	// DayUse is our own tokens of the last 24 hours on a lane, in bins of ten minutes.
	DayUse(org, pool string, since time.Time) ([]DayUse, error)
	// Hints gives the remembered values of a lane, by name; nil: none.
	Hints(org, pool string) (map[string]float64, error)
	// Remember keeps values of a lane.
	Remember(org, pool string, hints map[string]float64) error
}

// DayUse is our own use in one bin of a daily ledger.
type DayUse struct {
	Start  time.Time
	Tokens int64
}

// Purse grants money of a cap that several processes share, such as a cap per day.
type Purse interface {
	// Grant asks for want more. granted is all that this process was granted
	// in the period under way, what it spent of it included; where it did not
	// grow, the cap is reached for now. The period ends at until, on the scaled
	// wall clock (zero: never): what is unspent lapses then. The context ends
	// when the fleet closes. Streams of one Purse, which are told by ==, share what
	// it grants: each run of a job has its own.
	Grant(ctx context.Context, want Money) (granted Money, until time.Time, err error)
}

// A PatientPurse is a Purse that knows whether more may come in the period. Calls
// of a Line wait for that as long as they may wait at all; under a Purse that is
// none they fail as soon as it gives nothing.
type PatientPurse interface {
	Purse
	// Free is what of the period nobody has spent for good: what is reserved or
	// granted, elsewhere too, may come back. It is asked when a Grant gave nothing.
	Free(ctx context.Context) (Money, error)
}

type attemptKey struct{}

// AttemptOf is the number of the attempt that a request of a Config.Transport
// belongs to: 1, 2, 3 … in the order of the scheduler's decisions. 0: none.
func AttemptOf(ctx context.Context) int64 {
	n, _ := ctx.Value(attemptKey{}).(int64)
	return n
}
