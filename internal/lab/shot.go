package lab

import (
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// Shot is one call to be sent.
type Shot struct {
	Org   string
	Model string
	Shape Shape
	// Salt makes the body its own; 0: the same body each time, so that what the
	// server's estimate of it is off by is the same each time too.
	Salt uint64
	// Stream asks for events: headers come at the first byte.
	Stream bool
	// Cold closes the door to reuse: the call opens a connection of its own.
	Cold bool
}

// Shape is a fixed token shape, held in the result's config.
type Shape struct {
	In        int   `json:"prompt_tokens"` // about; the answer's usage tells
	Out       int   `json:"output_tokens"` // expected, for estimates
	MaxTokens int64 `json:"max_tokens"`
}

// Record is how one call went. Times are since the beginning of the experiment
// (its first invocation) on the scaled clock.
type Record struct {
	Step   string `json:"step,omitempty"` // of the experiment it belongs to
	Org    string `json:"org"`
	Model  string `json:"model"`
	Tier   string `json:"tier,omitempty"`   // empty: sync
	Retry  bool   `json:"retry,omitempty"`  // after a failure of the same call
	Canary bool   `json:"canary,omitempty"` // of the drift control

	Due       time.Duration `json:"due"`        // when it was meant to go
	Sent      time.Duration `json:"sent"`       // when it went
	FirstByte time.Duration `json:"first_byte"` // of the answer's header
	End       time.Duration `json:"end"`

	Status int    `json:"status"`         // 0: no answer
	Class  Class  `json:"class,omitzero"` // of a refusal: Status is not 200, or an error came in a stream
	Dim    string `json:"dim,omitempty"`  // the limit its text names: rpm, itpm, otpm, tpm
	// CeilingNow and CeilingNext are what an acceleration refusal tells, in
	// tokens a minute; 0: nothing.
	CeilingNow  float64       `json:"ceiling_now,omitempty"`
	CeilingNext float64       `json:"ceiling_next,omitempty"`
	RetryAfter  time.Duration `json:"retry_after,omitempty"`
	Err         string        `json:"error,omitempty"` // what went wrong, for people

	Levels wire.Limits `json:"-"` // what the headers said at its admission
	Read   *Reading    `json:"read,omitempty"`

	OrgID string `json:"-"` // anthropic-organization-id

	// Batch and Rows are of a batch: its id, and how many of its rows are billed;
	// Usage and Cost are then sums.
	Batch string `json:"batch,omitempty"`
	Rows  int    `json:"rows,omitempty"`

	Usage price.Usage `json:"usage"` // of an answer
	Cost  price.Nanos `json:"cost_usd"`
	// InDoubt is the worst case of a call that may have been billed unseen.
	InDoubt price.Nanos `json:"in_doubt_usd,omitempty"`
}

// OK says that the call was answered.
func (r *Record) OK() bool { return r.Status == 200 && r.Err == "" }

// Latency is from the send to the end.
func (r *Record) Latency() time.Duration { return r.End - r.Sent }

// Refused says that a rate limit refused the call (429).
func (r *Record) Refused() bool { return r.Status == 429 }

// Is says that the call was refused for a reason.
func (r *Record) Is(c wire.Class) bool { return r.Err != "" && r.Status != 0 && r.Class.Class == c }

// Class is a class of refusal that is stored by its name.
type Class struct{ wire.Class }

// MarshalText writes the name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a name.
func (c *Class) UnmarshalText(b []byte) error {
	for k := range wire.NumClasses {
		if k.String() == string(b) {
			c.Class = k
			return nil
		}
	}
	return fmt.Errorf("no class of refusal %q", b)
}

// Reading is Levels as it is stored: remaining and reset (seconds from Sent to
// the reset instant by the server's clock, as Date tells) by dimension.
type Reading struct {
	Requests *Level `json:"req,omitempty"`
	Input    *Level `json:"in,omitempty"`
	Output   *Level `json:"out,omitempty"`
	Tokens   *Level `json:"tok,omitempty"`
}

// Level is one limit's headers.
type Level struct {
	Limit     int64     `json:"l"`
	Remaining int64     `json:"r"`
	Reset     time.Time `json:"t"` // of full replenishment, whole seconds, the server's clock
}

func readingOf(l *wire.Limits) *Reading {
	r := &Reading{Requests: levelOf(l.Requests), Input: levelOf(l.Input), Output: levelOf(l.Output), Tokens: levelOf(l.Tokens)}
	if *r == (Reading{}) {
		return nil
	}
	return r
}

func levelOf(l wire.Limit) *Level {
	if !l.HasRemaining {
		return nil
	}
	return &Level{Limit: l.Limit, Remaining: l.Remaining, Reset: l.Reset}
}

// Of is the level of one dimension; nil: the headers had none.
func (r *Reading) Of(d wire.Dim) *Level {
	if r == nil {
		return nil
	}
	switch d {
	case wire.Requests:
		return r.Requests
	case wire.Input:
		return r.Input
	case wire.Output:
		return r.Output
	case wire.Tokens:
		return r.Tokens
	}
	return nil
}
