package flotilla

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Transport is a RoundTripper that sends what an Anthropic client sends through
// the fleet: calls of Messages go by a line of its own, of normal priority,
// count_tokens and models by Forward; anything else gets a 404 as the API would
// say it. Scheme and host of a request, and its key, are ignored.
//
// What a fleet decides itself comes as the API would say it, too: a full lane is
// a 429 or 529 with retry-after, a cap a 429 billing_error with
// x-should-retry: false, a body that cannot be read a 400. Answers carry
// x-flotilla-org, x-flotilla-attempts and x-flotilla-queue-ms.
func (f *Fleet) Transport() http.RoundTripper { return &roundTripper{fleet: f} }

type roundTripper struct {
	fleet *Fleet
	mu    sync.Mutex
	line  *Line
}

// RoundTrip implements http.RoundTripper.
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	a, err := t.answer(req, body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: strconv.Itoa(a.Status) + " " + http.StatusText(a.Status), StatusCode: a.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.Header, Body: a.Body, ContentLength: a.Length, Request: req,
	}, nil
}

// answer takes a request to where its path leads.
func (t *roundTripper) answer(req *http.Request, body []byte) (*Answer, error) {
	ctx, path := req.Context(), req.URL.Path
	if i := strings.Index(path, "/v1/"); i > 0 {
		path = path[i:] // a base URL may have a path of its own
	}
	switch {
	case path == "/v1/messages" && req.Method == http.MethodPost:
		return t.call(ctx, req, body)
	case path == "/v1/messages/count_tokens" && req.Method == http.MethodPost,
		(path == "/v1/models" || strings.HasPrefix(path, "/v1/models/")) && req.Method == http.MethodGet:
		return t.fleet.Forward(ctx, req.Method, path, req.URL.RawQuery, req.Header, body)
	}
	return said(http.StatusNotFound, "not_found_error", "this client passes on messages, count_tokens and models alone: "+req.Method+" "+path, 0), nil
}

// call makes one call by the transport's line.
func (t *roundTripper) call(ctx context.Context, req *http.Request, body []byte) (*Answer, error) {
	line, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	a, err := line.Do(ctx, Call{Body: body, Query: req.URL.RawQuery, Header: req.Header})
	if err != nil {
		return saying(err)
	}
	a.Header.Set("x-flotilla-org", a.Org)
	a.Header.Set("x-flotilla-attempts", strconv.Itoa(a.Attempts))
	a.Header.Set("x-flotilla-queue-ms", strconv.FormatInt(a.Queued.Milliseconds(), 10))
	return a, nil
}

func (t *roundTripper) open(ctx context.Context) (*Line, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.line != nil {
		return t.line, nil
	}
	line, err := t.fleet.Line(ctx, LineOptions{Priority: Normal})
	if err == nil {
		t.line = line
	}
	return line, err
}

// saying is an error of Do as the API would say it; what says nothing of the
// request (a context that ended, a closed fleet, no connection) stays an error.
func saying(err error) (*Answer, error) {
	var wait *WaitError
	var budget *BudgetExceededError
	var model *UnknownModelError
	var bad *RequestError
	switch {
	case errors.As(err, &wait) && wait.Class == "overloaded":
		return said(529, "overloaded_error", err.Error(), wait.RetryAfter), nil
	case errors.As(err, &wait):
		return said(http.StatusTooManyRequests, "rate_limit_error", err.Error(), wait.RetryAfter), nil
	case errors.As(err, &budget):
		a := said(http.StatusTooManyRequests, "billing_error", err.Error(), 0)
		a.Header.Set("x-should-retry", "false")
		return a, nil
	case errors.As(err, &model):
		return said(http.StatusNotFound, "not_found_error", err.Error(), 0), nil
	case errors.As(err, &bad):
		return said(http.StatusBadRequest, "invalid_request_error", err.Error(), 0), nil
	}
	return nil, err
}

// said is an error of ours in the API's shape.
func said(status int, kind, message string, retryAfter time.Duration) *Answer {
	type inner struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	body, _ := json.Marshal(struct {
		Type  string `json:"type"`
		Error inner  `json:"error"`
	}{"error", inner{kind, message}})
	a := &Answer{
		Status: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: &wholeBody{Reader: *bytes.NewReader(body)}, Length: int64(len(body)),
	}
	if retryAfter > 0 {
		a.Header.Set("retry-after", strconv.Itoa(int(math.Ceil(retryAfter.Seconds()))))
	}
	return a
}
