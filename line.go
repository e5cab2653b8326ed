package flotilla

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// LineOptions shape a Line. Every zero value is the recommendation.
type LineOptions struct {
	Name     string   // of the client, for Snapshot and Observe
	Priority Priority // of all its calls
	Weight   float64  // share among streams of one priority; 0: 1
	Pots     []*Pot   // caps that all its calls draw on
	Purse    Purse    // a cap shared with other processes; nil: none
	Job      int64    // of the Store's records; 0: nothing is kept
	Keep     bool     // answers are kept in the Store, too; else only what they cost
	FirstRow int      // rows of its records count from here
}

// A Line makes calls one by one that share a place in the fleet: a client's
// calls at one priority. Its methods may be called from several goroutines.
type Line struct {
	fleet *Fleet
	opt   LineOptions
}

// Call is one request of a Line.
type Call struct {
	Body   []byte      // sent byte for byte; must not change until Do returns, nor while attempts may go on
	Query  string      // raw query of the request ("beta=true"), passed on
	Header http.Header // sent as given; the org's key is set by us, anthropic-version and content-type only where missing. nil: the fleet's own
	// MaxWait is how long it may wait until its answer begins, retries included;
	// 0: 540 s.
	MaxWait  time.Duration
	Facts    *Facts // of WeighAs, where the caller has them; nil: weighed here
	Nth      int    // how-many-th equal body, from 0, for the record
	Affinity uint32 // equal for calls that mark the same beginning for a cache; 0: none
}

// CallResult is what became of a Call whose answer has ended.
type CallResult struct {
	Cost       Money // of all its attempts, worst cases in doubt included
	Usage      price.Usage
	StopReason string
	Err        error  // why the answer is none: *APIError or *TransportError; nil: it succeeded
	Estimated  bool   // Usage.Output is an estimate: the answer broke off, or was left
	Message    []byte // with LineOptions.Keep: the Message on one line, of a stream, too
}

// WaitError says that a call could not be sent within its MaxWait.
type WaitError struct {
	Class      string        // "limits", "overloaded", "closed:<class>"
	RetryAfter time.Duration // the earliest it could have gone, as far as is known; at least 1 s
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("no room for the call in time (%s); the next try is worth it in %s", e.Class, e.RetryAfter.Round(time.Second))
}

// Line opens a line. It connects the fleet where nothing has yet; the errors
// are Connect's, and ErrClosed.
func (f *Fleet) Line(ctx context.Context, opt LineOptions) (*Line, error) {
	if _, err := f.Connect(ctx); err != nil {
		return nil, err
	}
	return &Line{fleet: f, opt: opt}, nil
}

// Close takes no more calls, lets those under way go on for drain and then
// breaks them off.
func (l *Line) Close(time.Duration) error { return nil }

// Do waits for room, sends the call, repeats it where that helps, with other
// orgs too, and returns when the head of a final answer is there. An error of
// the API that is final for this call is an Answer with its own status, header
// and body. When ctx ends the call is taken back, or its exchange is cancelled.
//
// Errors are that of ctx, *WaitError, *BudgetExceededError, *UnknownModelError,
// *RequestError, *TransportError and ErrClosed.
func (l *Line) Do(ctx context.Context, call Call) (*Answer, error) {
	facts := call.Facts
	if facts == nil {
		weighed, err := l.fleet.Weigh(call.Body)
		if err != nil {
			return nil, err
		}
		facts = &weighed
	}
	a, err := l.fleet.Forward(ctx, http.MethodPost, "/v1/messages", call.Query, call.Header, call.Body)
	if err == nil {
		a.Model, a.Pool, a.Attempts = facts.Model, facts.Pool, 1
	}
	return a, err
}
