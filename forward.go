package flotilla

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// forwardTimeout is how long an org may take to begin its answer to a free
// request before the next one is asked: they take milliseconds.
const forwardTimeout = 30 * time.Second

// Forward sends a request that costs nothing (count_tokens, models): it takes
// no place in a lane. It goes to the first org that is open, and where that
// answers 401, 403, 429, 5xx or not at all, to the next; where none answers
// better, the first refusal stands. path begins with "/v1/"; query is raw.
// header is passed on as in a Call, with the org's key.
//
// Errors are Connect's, that of ctx, and a *TransportError where no org could
// be reached.
func (f *Fleet) Forward(ctx context.Context, method, path, query string, header http.Header, body []byte) (*Answer, error) {
	if _, err := f.Connect(ctx); err != nil {
		return nil, err
	}
	var first *Answer
	var failed error
	for i, o := range f.openOrgs() {
		a, err := f.forward(ctx, o, method, path, query, header, body)
		switch {
		case ctx.Err() != nil:
			closeAnswers(first, a)
			return nil, ctx.Err()
		case err != nil:
			failed = err
			continue
		case !elsewhere(a.Status):
			closeAnswers(first)
			a.Attempts = i + 1
			return a, nil
		case first == nil:
			first = a
		default:
			closeAnswers(a)
		}
	}
	if first != nil {
		first.Attempts = len(f.orgs)
		return first, nil
	}
	return nil, failed
}

// elsewhere reports whether another org may answer better: the key, a limit or
// the server was at fault, not the request.
func elsewhere(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError
}

func closeAnswers(answers ...*Answer) {
	for _, a := range answers {
		if a != nil {
			_ = a.Body.Close()
		}
	}
}

// openOrgs is the orgs in their order, those last whose account is closed.
func (f *Fleet) openOrgs() []*orgState {
	orgs := make([]*orgState, 0, len(f.orgs))
	for _, closed := range [...]bool{false, true} {
		for _, o := range f.orgs {
			if o.closed.Load() == closed {
				orgs = append(orgs, o)
			}
		}
	}
	return orgs
}

// forward asks one org.
func (f *Fleet) forward(ctx context.Context, o *orgState, method, path, query string, header http.Header, body []byte) (*Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(forwardTimeout, cancel)
	req, trace := newSend(ctx, method, withQuery(o.base.JoinPath(path), query), lineHeader(header, o), body)
	resp, err := o.transport.RoundTrip(req)
	late.Stop()
	if err == nil && resp.Header.Get(ourHeader) != "" {
		_ = resp.Body.Close()
		cancel()
		return nil, &TransportError{Err: ErrOurselves}
	}
	if err != nil {
		_ = trace.failure(err)
		cancel()
		return nil, &TransportError{Err: fmt.Errorf("asking %s: %w", o.Title(), errors.New(f.redact(err.Error())))}
	}
	dropHops(resp.Header)
	a := &Answer{
		Status: resp.StatusCode, Header: resp.Header, Length: resp.ContentLength, Org: o.Name,
		Emulated: resp.Header.Get(emulatedHeader), Body: &freeBody{resp.Body, cancel},
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return f.readError(a, resp)
	}
	return a, nil
}

// readError reads the error that a free request was answered with: it may repeat
// the key that it was asked with, which is the org's.
func (f *Fleet) readError(a *Answer, resp *http.Response) (*Answer, error) {
	late := time.AfterFunc(forwardTimeout, func() { _ = a.Body.Close() })
	data, err := readBody(resp, maxError)
	late.Stop()
	_ = a.Body.Close()
	if err != nil {
		return nil, &TransportError{Err: fmt.Errorf("asking %s: %w", a.Org, errors.New(f.redact(err.Error())))}
	}
	data = f.redactBytes(data)
	a.Body, a.Length = &wholeBody{Reader: *bytes.NewReader(data)}, int64(len(data))
	return a, nil
}

// freeBody is the body of a free answer: its end lets the exchange go.
type freeBody struct {
	body   io.ReadCloser
	cancel context.CancelFunc
}

// Read implements io.Reader.
func (b *freeBody) Read(p []byte) (int, error) { return b.body.Read(p) }

// Close implements io.Closer.
func (b *freeBody) Close() error {
	err := b.body.Close()
	b.cancel()
	return err
}
