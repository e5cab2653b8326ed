package flotilla

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// Bounds on the small calls about batches, on the scaled clock: they answer at
// once or not at all.
const (
	askTimeout = time.Minute
	// maxPage bounds a page of a listing: 1000 batches of about 600 bytes.
	maxPage = 8 << 20
)

// batchReply is the answer to a call about a batch.
type batchReply struct {
	status     int // 0: none came
	header     http.Header
	body       []byte
	retryAfter time.Duration // of an answer that is no refusal
	failure    sched.Failure // where none came
	err        error
	refusal    *wire.Refusal // of an error answer
}

// ok reports whether the answer is one of success.
func (r *batchReply) ok() bool { return r.status/100 == 2 && r.err == nil }

// askBatch makes one bounded call about batches, without a body.
func (f *Fleet) askBatch(ctx context.Context, org *orgState, method string, to *url.URL) batchReply {
	ctx, cancel := context.WithTimeout(ctx, f.clock.real(askTimeout))
	defer cancel()
	req, trace := newSend(ctx, method, to, org.header, nil)
	if method == http.MethodPost {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	return f.batchAnswer(org, req, trace)
}

// batchAnswer sends a request and reads the whole answer.
func (f *Fleet) batchAnswer(org *orgState, req *http.Request, trace *sendTrace) batchReply {
	resp, err := org.transport.RoundTrip(req)
	if err != nil {
		return batchReply{failure: trace.failure(err), err: errors.New(f.redact(err.Error()))}
	}
	defer resp.Body.Close()
	r := batchReply{status: resp.StatusCode, header: resp.Header}
	if resp.Header.Get(ourHeader) != "" {
		r.failure, r.err = sched.Cut, ErrOurselves
		return r
	}
	r.body, err = readBody(resp, maxPage)
	if err != nil {
		r.failure, r.err = trace.failure(err), errors.New(f.redact(err.Error()))
		if r.status/100 == 2 {
			return r
		}
	}
	if r.status/100 != 2 {
		refusal := wire.Classify(r.status, r.header, r.body)
		r.refusal = &refusal
		return r
	}
	date, _ := http.ParseTime(r.header.Get("Date"))
	r.retryAfter, _ = wire.RetryAfter(r.header, date)
	return r
}

// coreRefusal is the refusal in the core's words; nil: there was none.
func (f *Fleet) coreRefusal(r *batchReply) *sched.Refusal {
	if r.refusal == nil {
		return nil
	}
	out := f.refusalOf(r.refusal)
	return &out
}

// beside runs an exchange beside the loop and what follows it in the loop.
func (f *Fleet) beside(exchange func() func(now time.Duration)) {
	f.flights.Add(1)
	go func() {
		defer f.flights.Done()
		then := exchange()
		f.inbox.put(message{run: then})
	}()
}

// batchURL is the address of a batch and what is asked of it.
func (o *orgState) batchURL(id string, of ...string) *url.URL {
	return o.base.JoinPath(append([]string{"v1/messages/batches", id}, of...)...)
}

// batchesURL is where batches are made and listed.
func (o *orgState) batchesURL() *url.URL { return o.base.JoinPath("v1/messages/batches") }
