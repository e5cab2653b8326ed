package flotilla

import (
	"context"
	"errors"
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
//
// It keeps no intent of each call. Money for them is reserved ahead, in blocks,
// so that no call waits for the Store while blocks last; a crash leaves what is
// left of the open blocks in doubt.
type Line struct {
	fleet  *Fleet
	opt    LineOptions
	stream *stream
	capped bool // money is: what has no worst case is not sent

	// The loop's.
	money blocks
	row   int // of the next call, from opt.FirstRow
	lazy  []Record
	flush time.Duration // when lazy is to be written
}

// Call is one request of a Line.
type Call struct {
	// Body is sent byte for byte. It must not change while the call is under way,
	// which may be a little longer than Do.
	Body  []byte
	Query string // raw query of the request ("beta=true"), passed on
	// Header is sent as given, without what is of a connection, of an encoding or a
	// credential; the org's key is set by us, anthropic-version and content-type
	// only where missing. nil: the fleet's own.
	Header http.Header
	// MaxWait is how long it may wait for its turn, retries included; one that is
	// at the provider by then is still waited for, since it is paid for. 0: 540 s.
	MaxWait time.Duration
	// Stop ends the call where it waits, once it is closed: Do gives ErrStopped. One
	// that is at the provider by then is still waited for. nil: it never does.
	Stop  <-chan struct{}
	Facts *Facts // of WeighAs or WeighCall, where the caller has them; nil: weighed here
	Nth   int    // how-many-th equal body, from 0, for the record
}

// CallResult is what became of a Call whose answer has ended.
type CallResult struct {
	Cost       Money // of all its attempts; known ones exact, in-doubt ones at worst case, one that broke off as estimated
	Usage      price.Usage
	StopReason string
	Err        error  // why the answer is none: *APIError or *TransportError; nil: it succeeded
	Estimated  bool   // Usage.Output and Cost are estimates: the answer broke off, or was left
	Message    []byte // with LineOptions.Keep: the Message on one line, of a stream, too
}

// WaitError says that a call could not be sent within its MaxWait, or that it
// is known beforehand that it could not.
type WaitError struct {
	// Class is "limits", "overloaded", "paused", "closed:<class>", or "budget": money
	// that others have reserved would pay the call, or one before it in its line.
	Class      string
	RetryAfter time.Duration // the earliest it could have gone, as far as is known; at least 1 s
	Attempts   int           // made before its time was over
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("no room for the call in time (%s); the next try is worth it in %s", e.Class, e.RetryAfter.Round(time.Second))
}

// ErrStopped says that a call was ended by its Stop while it waited.
var ErrStopped = errors.New("the call was stopped before it was sent")

// defaultCallWait is 0.9 of the ten minutes that the official SDKs wait for an
// answer (interface.md, "Gateway").
const defaultCallWait = 540 * time.Second

// Line opens a line. It connects the fleet where nothing has yet; the errors
// are Connect's, and ErrClosed. A line is closed by its Close, or with the
// fleet.
func (f *Fleet) Line(ctx context.Context, opt LineOptions) (*Line, error) {
	if _, err := f.Connect(ctx); err != nil {
		return nil, err
	}
	l := &Line{fleet: f, opt: opt, row: opt.FirstRow}
	l.capped = f.cfg.Spend != 0 || opt.Purse != nil
	l.stream = &stream{line: l, finished: make(chan struct{}), opt: Options{
		Client: opt.Name, Priority: opt.Priority, Weight: opt.Weight, Pots: opt.Pots, Purse: opt.Purse, Job: opt.Job,
	}}
	_, err := ask(ctx, f, func(now time.Duration) struct{} {
		f.register(now, l.stream)
		return struct{}{}
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Close takes no more calls: those that wait give ErrClosed, those at the
// provider may go on for drain and are then broken off. The error is the
// store's, if it failed.
func (l *Line) Close(drain time.Duration) error {
	f := l.fleet
	f.inbox.put(message{run: func(now time.Duration) {
		l.stream.opt.Drain = max(drain, 1)
		f.halt(now, l.stream, Interrupted, nil)
	}})
	select {
	case <-l.stream.finished:
		return l.stream.err
	case <-f.done:
		return f.fatal
	}
}

// weigh reads the facts of a call, with the hashes where its answer is kept by
// them.
func (l *Line) weigh(body []byte) (Facts, error) {
	f := l.fleet
	keyer := f.keyer
	if !l.opt.Keep {
		keyer = nil
	}
	facts, err := f.weigh(body, keyer, true)
	var unknown *UnknownModelError
	var bad *RequestError
	if err == nil || errors.As(err, &unknown) || errors.As(err, &bad) {
		return facts, err
	}
	return facts, &RequestError{Err: err}
}

// Do waits for room, sends the call, repeats it where that helps, with other
// orgs too, and returns when a final answer is there: a stream once its message has
// begun, any other whole. An error of the API that is final for this call is an
// Answer with its own status, header and body. When ctx ends the call is taken
// back, or its exchange is cancelled, the Body of its answer included.
//
// Errors are that of ctx, *WaitError, *BudgetExceededError, *UnknownModelError,
// *RequestError, *TransportError, ErrStopped, ErrClosed, and the store's.
func (l *Line) Do(ctx context.Context, call Call) (*Answer, error) {
	if call.Facts == nil {
		facts, err := l.weigh(call.Body)
		if err != nil {
			return nil, err
		}
		call.Facts = &facts
	}
	if m := call.Facts.Metered; m != "" && (l.capped || capping(l.opt.Pots)) {
		return nil, &RequestError{Err: fmt.Errorf("%s is billed per use, so a cap cannot be kept", m)}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-call.Stop:
		return nil, ErrStopped
	default:
	}
	lc := &lineCall{Call: call, line: l, ctx: ctx, arrived: l.fleet.clock.now(), turns: make(chan turn, 1)}
	if call.Facts.Marked {
		lc.affinity = l.fleet.affinity.of(call.Body, lc.arrived)
	}
	return lc.carry()
}
