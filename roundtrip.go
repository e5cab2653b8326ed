package flotilla

import (
	"bytes"
	"context"
	"crypto/rand"
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
// a 429 or 529 with retry-after, a cap that is spent a 429 billing_error with
// x-should-retry: false, a body that cannot be read a 400. So does a call without
// an answer that may have been billed, a 504 with x-should-retry: false: the
// official SDKs would repeat an error of the connection by themselves. Answers
// carry x-flotilla-org, x-flotilla-attempts and x-flotilla-queue-ms.
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
	if strings.Contains(path, "/..") {
		path = "" // it would lead elsewhere at the org
	}
	switch {
	case path == "/v1/messages" && req.Method == http.MethodPost:
		return t.call(ctx, req, body)
	case path == "/v1/messages/count_tokens" && req.Method == http.MethodPost,
		(path == "/v1/models" || strings.HasPrefix(path, "/v1/models/")) && req.Method == http.MethodGet:
		return t.fleet.Forward(ctx, req.Method, path, req.URL.RawQuery, req.Header, body)
	}
	return said(http.StatusNotFound, "not_found_error", "this client passes on messages, count_tokens and models alone: "+req.Method+" "+req.URL.Path), nil
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
// request (a context that ended, a closed fleet, a provider that was not reached)
// stays an error.
func saying(err error) (*Answer, error) {
	var wait *WaitError
	var budget *BudgetExceededError
	var model *UnknownModelError
	var bad *RequestError
	var redirect *RedirectError
	var broken *TransportError
	switch {
	case errors.As(err, &wait):
		return sayingWait(wait), nil
	case errors.As(err, &budget):
		a := said(http.StatusTooManyRequests, "billing_error", err.Error())
		if budget.RetryAfter > 0 {
			a.Header.Set("retry-after", seconds(budget.RetryAfter))
		} else {
			a.Header.Set("x-should-retry", "false")
		}
		return a, nil
	case errors.As(err, &model): // the API's begins so
		return said(http.StatusNotFound, "not_found_error", "model: "+model.Model+" (no price is known for it)"), nil
	case errors.As(err, &bad):
		return said(http.StatusBadRequest, "invalid_request_error", err.Error()), nil
	case errors.As(err, &redirect):
		a := said(http.StatusBadGateway, "api_error", err.Error())
		a.Header.Set("x-should-retry", "false")
		return a, nil
	case errors.As(err, &broken) && broken.InDoubt:
		a := said(http.StatusGatewayTimeout, "timeout_error", "no answer arrived, and whether the request was billed is unknown: "+err.Error())
		a.Header.Set("x-should-retry", "false")
		a.Header.Set("x-flotilla-attempts", strconv.Itoa(broken.Attempts))
		return a, nil
	}
	return nil, err
}

func sayingWait(e *WaitError) *Answer {
	status, kind := http.StatusTooManyRequests, "rate_limit_error"
	if e.Class == "overloaded" {
		status, kind = 529, "overloaded_error"
	}
	a := said(status, kind, e.Error())
	a.Header.Set("retry-after", seconds(e.RetryAfter))
	a.Header.Set("x-flotilla-attempts", strconv.Itoa(e.Attempts))
	return a
}

// seconds is a wait as the header retry-after has it: whole ones, rounded up.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// said is an error of ours in the API's shape. Its request-id tells that none of
// the provider's machines has seen it.
func said(status int, kind, message string) *Answer {
	type inner struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	id := "req_flotilla_" + rand.Text()
	body, _ := json.Marshal(struct {
		Type      string `json:"type"`
		Error     inner  `json:"error"`
		RequestID string `json:"request_id"`
	}{"error", inner{kind, message}, id})
	return &Answer{
		Status: status, Header: http.Header{"Content-Type": {"application/json"}, "Request-Id": {id}},
		Body: &wholeBody{Reader: *bytes.NewReader(body)}, Length: int64(len(body)),
	}
}
