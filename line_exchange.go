package flotilla

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// exchange carries one attempt out. It gives an Answer where one stands whose
// body the caller reads, an error where the caller has gone, and neither where
// the core is to decide.
func (lc *lineCall) exchange(a *attempt) (*Answer, error) {
	f := lc.line.fleet
	if a.dropped != nil {
		a.answer = notSent(a, a.dropped)
		f.inbox.put(message{ended: a})
		return nil, nil
	}
	a.patience = time.AfterFunc(f.clock.real(flightDeadline), a.giveUp)
	req, trace := newSend(a.ctx, http.MethodPost, withQuery(a.org.messages, lc.Query), lineHeader(lc.Header, a.org), lc.Body)
	resp, err := a.org.transport.RoundTrip(req)
	if err != nil {
		return lc.failed(a, f.failure(a, trace, err, nil))
	}
	a.headAt = f.clock.now()
	switch success := resp.StatusCode/100 == 2; {
	case resp.Header.Get(ourHeader) != "":
		_ = resp.Body.Close()
		return lc.failed(a, answer{source: ErrOurselves, err: ErrOurselves, failed: &sched.Failed{Attempt: a.id, Failure: sched.Cut}})
	case success && wire.IsEventStream(resp.Header):
		return lc.stream(a, trace, resp)
	case success:
		return lc.whole(a, trace, resp)
	}
	return lc.refused(a, resp)
}

// failed ends an attempt without an answer that stands. Where the caller has
// gone nobody waits for what the core makes of it.
func (lc *lineCall) failed(a *attempt, ans answer) (*Answer, error) {
	a.patience.Stop()
	a.answer = ans
	lc.prior += a.charged()
	lc.tellLate()
	err := lc.ctx.Err()
	a.handed = err != nil
	lc.line.fleet.inbox.put(message{ended: a})
	return nil, err
}

// refused takes an error answer. Its bytes and headers are kept, for it may be
// what the caller is given.
func (lc *lineCall) refused(a *attempt, resp *http.Response) (*Answer, error) {
	f := lc.line.fleet
	if ans, ok := f.redirected(a, resp); ok {
		_ = resp.Body.Close()
		return lc.failed(a, ans)
	}
	data, err := readBody(resp, maxError)
	_ = resp.Body.Close()
	var ans answer
	if err != nil {
		ans = f.halfRefusal(a, resp, data)
	} else {
		ans = f.refusal(a, resp, resp.StatusCode, data)
	}
	ans.header, ans.raw = resp.Header, f.redactBytes(data)
	return lc.failed(a, ans)
}

// whole takes an answer in one piece. It is read before it is handed over, so
// that one that breaks off can still be repeated.
func (lc *lineCall) whole(a *attempt, trace *sendTrace, resp *http.Response) (*Answer, error) {
	f := lc.line.fleet
	data, err := readBody(resp, maxAnswer)
	_ = resp.Body.Close()
	if err != nil {
		return lc.failed(a, f.failure(a, trace, err, resp))
	}
	ans := f.readMessage(a, resp, data)
	if ans.done == nil {
		ans.header, ans.raw = resp.Header, f.redactBytes(data)
		return lc.failed(a, ans)
	}
	if !lc.line.opt.Keep {
		ans.message = nil
	}
	a.patience.Stop()
	a.answer, a.handed = ans, true
	f.inbox.put(message{ended: a})
	out := lc.answerOf(a, resp.StatusCode, resp.Header, a.try)
	out.Body = &wholeBody{Reader: *bytes.NewReader(data)}
	out.Length = int64(len(data))
	out.result = func() (CallResult, bool) {
		return CallResult{
			Cost: lc.prior + a.charged(), Usage: ans.usage, StopReason: ans.stopReason, Message: ans.message,
		}, true
	}
	return out, nil
}

// refusedAnswer is the Answer of an error that is final.
func (lc *lineCall) refusedAnswer(a *attempt, tries int) *Answer {
	api := a.answer.api
	status, header, raw := api.Status, a.answer.header, a.answer.raw
	if header == nil { // it was said to another call
		header, raw = http.Header{"Content-Type": {"application/json"}}, Envelope(api)
	}
	if status/100 == 2 { // an error in a 200 is no success
		status = statusOf(api.Type)
	}
	out := lc.answerOf(a, status, header, tries)
	out.Body = &wholeBody{Reader: *bytes.NewReader(raw)}
	out.Length = int64(len(raw))
	err := *api
	err.Attempts = tries
	out.result = func() (CallResult, bool) { return CallResult{Cost: lc.prior, Err: &err}, true }
	return out
}

// statusOf is the status that the API gives an error of a type, for one that came
// under a 200 (facts/claude-api.md 2.2): clients decide by it whether to come again.
func statusOf(kind string) int {
	switch kind {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "authentication_error":
		return http.StatusUnauthorized
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}

// redactBytes is redact of an error's body. Nearly none has a key in it, and
// passes as it is.
func (f *Fleet) redactBytes(data []byte) []byte {
	if out := f.redact(string(data)); out != string(data) {
		return []byte(out)
	}
	return data
}

// answerOf begins an Answer. The header is the response's own: nobody else
// reads it.
func (lc *lineCall) answerOf(a *attempt, status int, header http.Header, tries int) *Answer {
	dropHops(header)
	out := &Answer{
		Status: status, Header: header, Attempts: tries, Emulated: a.answer.emulated,
		Pool: lc.Facts.Pool, Model: lc.Facts.Model, Queued: max(a.sentAt-lc.arrived, 0), Length: -1,
	}
	if a.org != nil {
		out.Org = a.org.Name
	}
	return out
}

// wholeBody is a body that has been read already.
type wholeBody struct{ bytes.Reader }

// Close implements io.Closer.
func (*wholeBody) Close() error { return nil }

var _ io.WriterTo = (*wholeBody)(nil)
