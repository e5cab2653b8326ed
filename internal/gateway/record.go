package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// Record is what is told of one request once it is over: its log line, its span
// and its numbers in the metrics are made of it. It never holds a body, a key or
// a header. It belongs to the request's goroutine.
type Record struct {
	Began    time.Time
	Client   string
	Priority flotilla.Priority
	Route    string // "messages", "count_tokens", "models", "batches", "page", "metrics"; empty: there is nothing
	Method   string
	Stream   bool // the body asked for one
	Cached   bool // answered from the journal

	Model     string // as asked for
	Answering string // the model that answered; empty: none did
	Org, Pool string // that answered; empty: none did
	Attempts  int
	Queued    time.Duration // until the attempt that answered was sent

	Status int           // sent to the caller; 0: the caller was gone before
	Took   time.Duration // from its arrival to the last byte of the answer
	Kind   string        // the error's type, as the API spells it; empty: it succeeded

	Usage     price.Usage
	Cost      flotilla.Money
	Estimated bool
	Stop      string // stop_reason
	Cause     error  // for the log alone: what went wrong on our side
}

// recordOf is the record of the request that a context belongs to. It is never
// nil: outside of a request that Shell let in, it is nobody's.
func recordOf(ctx context.Context) *Record {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return &v.record
	}
	return &Record{}
}

// Answered takes in who answered.
func (r *Record) Answered(a *flotilla.Answer) {
	r.Org, r.Pool, r.Attempts, r.Queued = a.Org, a.Pool, a.Attempts, a.Queued
	if a.Status < 400 {
		r.Answering = a.Model
	}
}

// Settled takes in what the call came to.
func (r *Record) Settled(c *flotilla.CallResult) {
	r.Usage, r.Cost, r.Estimated, r.Stop = c.Usage, c.Cost, c.Estimated, c.StopReason
	if c.Err != nil {
		r.Failed(c.Err)
	}
}

// Failed takes in why there is no answer.
func (r *Record) Failed(err error) {
	r.Cause = err
	var api *flotilla.APIError
	switch {
	case errors.Is(err, context.Canceled):
		r.Kind = kindCanceled
	case errors.As(err, &api):
		r.Kind = api.Type
	}
}

// kindCanceled is the type of error of a request whose caller went away.
const kindCanceled = "canceled"
