package emulator

import (
	"cmp"
	"net/http"
	"time"
)

// batchEndpoint does what a call asks; an error is written by its caller.
type batchEndpoint func(rw *record, c *batchCall) *apiError

// batch serves a batch endpoint: key and version, then what goes wrong on the
// way there, then the limit on calls, then what was asked, then what goes wrong
// on the way back.
func (s *Server) batch(serve batchEndpoint) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		c := &batchCall{Request: r, w: s.world.Load()}
		s.stamp(rw.Header(), c.w)
		if e := s.admitCall(rw, c); e != nil {
			writeError(rw, e)
			return
		}
		s.letIn(c)
		switch {
		case c.hit.ends() && !c.hit.status.Performed:
			if s.clock.sleep(r.Context(), s.clock.now()+c.hit.delay()) {
				c.hit.answer(rw)
			}
		case c.hit.forced() == DropBefore || c.hit.forced() == ReusedReset:
			breakConn(rw)
		default:
			s.perform(rw, c, serve)
		}
	}
}

// admitCall reads who asks, and the body of a create.
func (s *Server) admitCall(rw http.ResponseWriter, c *batchCall) (e *apiError) {
	if c.org, e = c.w.authenticate(c.Request); e != nil {
		return e
	}
	c.w.identify(rw.Header(), c.org)
	if c.isCreate() {
		if c.body, e = readUpload(c.Request); e != nil {
			return e
		}
	}
	_, e = checkVersionHeader(c.Request)
	return e
}

func (c *batchCall) isCreate() bool {
	return c.Method == http.MethodPost && c.PathValue("id") == ""
}

// letIn asks what befalls the call.
func (s *Server) letIn(c *batchCall) {
	defer s.enter(c)()
	c.hit = c.w.strike(c.now, c.Request, c.org, [16]byte{})
	if f := c.w.flaky(c.Request); f != NoFault && c.hit.forced() == NoFault {
		if c.hit == nil {
			c.hit = &strike{}
		}
		c.hit.fault = f
	}
}

// flaky draws what a bad network does to a call without a body's hash; half of
// what breaks before the answer breaks before the API has heard of it.
func (w *world) flaky(r *http.Request) Fault {
	w.calls++
	k, f := key{mix(w.model.seed, 0xd6e8feb86659fd93), w.calls}, &w.model.sc.Flaky
	switch {
	case isReused(r) && k.chance(drawReused, f.Reused):
		return ReusedReset
	case k.chance(drawBefore, f.Before):
		if k.bits(drawBeforeAt)&1 == 0 {
			return DropBefore
		}
		return DropAfter
	case k.chance(drawAfter, f.After), k.chance(drawCut, f.Cut):
		return Truncate
	}
	return NoFault
}

// perform does what was asked, and lets the answer come, or not: of a call that
// drop_after hits all is done and nothing is heard. Results are the exception:
// they do nothing, and break off on their way.
func (s *Server) perform(rw http.ResponseWriter, c *batchCall, serve batchEndpoint) {
	answer := &record{ResponseWriter: rw, status: http.StatusOK}
	e := s.takeCall(rw, c)
	if e == nil {
		e = serve(answer, c)
	}
	if e != nil {
		answer.then = nil
		writeError(answer, e)
	}
	if d := c.hit.delay(); d > 0 && !s.clock.sleep(c.Context(), s.clock.now()+d) {
		return
	}
	switch {
	case c.hit.ends():
		c.hit.answer(rw)
	case answer.then != nil:
		answer.then(rw)
	case c.hit.forced() == DropAfter:
		breakConn(rw)
	default:
		answer.send(rw, c.hit.forced() == Truncate)
	}
}

// takeCall counts the call against the limit on calls to batch endpoints, whose
// headers are the requests' alone (facts/claude-api.md 3.3).
func (s *Server) takeCall(rw http.ResponseWriter, c *batchCall) *apiError {
	leave := s.enter(c)
	ok, wait := c.w.model.BatchCall(c.now, c.org)
	seen := c.w.model.callReading(c.now, c.org)
	leave()
	s.showLimits(rw.Header(), c.w, &seen, c.hit)
	if ok {
		return nil
	}
	rw.Header()["X-Should-Retry"] = shouldRetry
	o := &c.w.model.orgs[c.org]
	return &apiError{
		status: http.StatusTooManyRequests, kind: "rate_limit_error", retryAfter: wait,
		message: "This request would exceed your organization's rate limit of " + thousands(o.BatchRPM) +
			" requests per minute (org: " + OrgID(o.Name) + ", endpoint: Message Batches).",
	}
}

// callReading is what the headers say of the limit on calls.
func (m *Model) callReading(now time.Duration, org int) Reading {
	q, o := m.queues[org], &m.orgs[org]
	r := Reading{Known: q.calls.limited() && !o.Headers.Missing, Shown: 1 << Requests, Skew: o.Headers.DateSkew}
	f := cmp.Or(o.Headers.Factor, 1)
	r.Limit[Requests] = int64(q.calls.limit * f)
	r.Remaining[Requests] = int64(max(0, q.calls.level) * f)
	r.Reset[Requests] = now + q.calls.fullIn()
	return r
}

// record keeps an answer until it is to be sent; the header is the response's
// own. What is too long to keep is written later, by then.
type record struct {
	http.ResponseWriter
	status int
	body   []byte
	then   func(rw http.ResponseWriter)
}

func (a *record) WriteHeader(status int) { a.status = status }

func (a *record) Write(p []byte) (int, error) {
	a.body = append(a.body, p...)
	return len(p), nil
}

func (a *record) send(rw http.ResponseWriter, half bool) {
	rw.WriteHeader(a.status)
	if !half {
		_, _ = rw.Write(a.body) // a client that is gone cannot be told
		return
	}
	_, _ = rw.Write(a.body[:len(a.body)/2])
	flush(rw)
	breakConn(rw)
}
