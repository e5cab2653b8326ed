package flotilla

import (
	"encoding/json"
	"math"
	"net/http"
	"sync"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// canonicals holds scratch for canonical bodies: Weigh runs on every row of a
// job, from several goroutines.
var canonicals = sync.Pool{New: func() any { return new([]byte) }}

// facts turns what a body says into what the scheduler and the ledger need.
func (f *Fleet) facts(w *wire.Facts, m price.Model, body []byte, keyer *wire.Keyer) Facts {
	out := Facts{
		Model: w.Model, Pool: m.Pool, Family: m.Family(), MaxTokens: int(w.MaxTokens),
		In: int(w.In(m.TokenFactor())), Stream: w.Stream, Metered: w.Metered, Marked: w.Cache5m || w.Cache1h, Shape: w.Shape, Size: len(body), Alone: w.Alone,
		// A workspace may have "us" as its default: only a body that says "global"
		// is certain not to pay for it.
		Worst: m.Worst(w.InUpper(), w.MaxTokens, w.Cache5m, w.Cache1h, w.Geo != "global", w.Speed == "fast", false),
	}
	if keyer == nil {
		return out
	}
	scratch := canonicals.Get().(*[]byte)
	canonical := wire.Canonical((*scratch)[:0], body)
	out.Hash, out.Body = keyer.Key(canonical), wire.BodyHash(canonical)
	*scratch = canonical
	canonicals.Put(scratch)
	return out
}

// usageOf is what an answer is billed for.
func usageOf(m wire.MessageFacts) price.Usage {
	u := m.Usage
	return price.Usage{
		Input: u.Input, Output: u.Output, CacheWrite5m: u.CacheWrite5m, CacheWrite1h: u.CacheWrite1h, CacheRead: u.CacheRead,
		US: m.Geo == "us", Fast: m.Speed == "fast", Batch: m.ServiceTier == "batch",
	}
}

// readingOf turns limit headers into the core's words: the time until a bucket
// is full is a difference of two times of the server, so that a clock that is
// off does no harm.
func readingOf(l *wire.Limits) sched.Reading {
	var r sched.Reading
	if l.Date.IsZero() {
		return r
	}
	for d, v := range [sched.NumDims]*wire.Limit{sched.Requests: &l.Requests, sched.Input: &l.Input, sched.Output: &l.Output, sched.Tokens: &l.Tokens} {
		if !v.Known() {
			continue
		}
		r.Known |= 1 << d
		r.Limit[d] = float64(v.Limit)
		r.Remaining[d] = float64(v.Remaining)
		r.ResetIn[d] = v.Reset.Sub(l.Date)
	}
	return r
}

func reading(h http.Header) sched.Reading {
	l := wire.ParseLimits(h)
	return readingOf(&l)
}

// classes maps the dialect's kinds of refusal to the scheduler's.
var classes = [wire.NumClasses]sched.Class{
	wire.Invalid: sched.Invalid, wire.RateLimited: sched.RateLimited, wire.Acceleration: sched.Acceleration,
	wire.Concurrency: sched.Concurrency, wire.Daily: sched.Daily, wire.Spend: sched.Spend, wire.Auth: sched.Auth,
	wire.Permission: sched.Permission, wire.Credit: sched.Credit, wire.Hold: sched.Hold, wire.NoModel: sched.NoModel,
	wire.QueueFull: sched.QueueFull, wire.Overloaded: sched.Overloaded, wire.ServerError: sched.ServerError,
	wire.Conflict: sched.Conflict, wire.Unknown504: sched.Unknown504,
}

var dims = map[wire.Dim]sched.Dim{wire.Requests: sched.Requests, wire.Input: sched.Input, wire.Output: sched.Output, wire.Tokens: sched.Tokens}

func (f *Fleet) refusalOf(r *wire.Refusal) sched.Refusal {
	out := sched.Refusal{
		Class: classes[r.Class], RetryAfter: r.RetryAfter, CeilingNow: r.CeilingNow, CeilingNext: r.CeilingNext,
	}
	out.Dim, out.Named = dims[r.Dim]
	if !r.ReopensAt.IsZero() {
		out.ReopensAt = max(f.clock.at(r.ReopensAt), 1)
	}
	return out
}

// apiError is a refusal for the caller's eyes. The texts are the provider's;
// a key that one of them repeats is taken out.
func (f *Fleet) apiError(r *wire.Refusal, status int, body []byte) *APIError {
	e := &APIError{Status: status, Type: f.redact(r.Type), Code: f.redact(r.Code), Message: f.redact(r.Message), RequestID: f.redact(r.RequestID)}
	if r.Envelope {
		e.Envelope = json.RawMessage(f.redact(string(wire.OneLine(nil, body))))
	}
	return e
}

// Envelope is the API's error envelope of a failed call, on one line: the
// provider's own where it sent one, else one of ours.
func Envelope(err error) json.RawMessage {
	type inner struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	in := inner{Type: "flotilla_connection_error", Message: err.Error()}
	switch e := err.(type) {
	case *APIError:
		if e.Envelope != nil {
			return e.Envelope
		}
		if e.Type != "" {
			in.Type = e.Type
		}
	case *RequestError:
		in.Type = "invalid_request_error"
	case *BudgetExceededError:
		in.Type = "flotilla_budget_error"
	}
	b, _ := json.Marshal(struct {
		Type  string `json:"type"`
		Error inner  `json:"error"`
	}{"error", in})
	return b
}

// clampInt fits a count into the core's compact calls.
func clampInt(n int) int32 { return int32(min(n, math.MaxInt32)) }
