package emulator

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// messages serves POST /v1/messages.
func (s *Server) messages(rw http.ResponseWriter, r *http.Request) {
	w := s.world.Load()
	s.stamp(rw.Header(), w)
	buf, e := readBody(r)
	if e != nil {
		s.turnAway(rw, r, w, nil, e)
		return
	}
	defer bodies.Put(buf)
	org, req, e := s.accept(rw, r, w, buf.Bytes())
	if e != nil {
		s.turnAway(rw, r, w, req, e)
		return
	}
	a := req.arrival(buf.Bytes())
	a.Org, a.Reused = org, isReused(r)
	words := w.asked(req)
	pass := s.order.enter(r.Context(), r)
	w.mu.Lock()
	now := s.now(w)
	hit := w.strike(now, r, org, a.Hash)
	if hit.ends() {
		w.model.TurnAway(now, a.Org, a.Model, a.Hash, hit.class())
		w.mu.Unlock()
		pass()
		hit.answer(rw)
		return
	}
	a.Fault = hit.forced()
	c := composed{}
	if words.shapes(w) {
		c = w.compose(&words, w.model.answerKey(a.Hash, w.model.NextAnswer(a.Hash)), a.MaxTokens)
		a.Out, a.Stop = c.out, c.stop
	}
	x := w.model.Arrive(now, a)
	w.mu.Unlock()
	pass()
	s.respond(rw, r, w, x, req, c, hit)
}

// accept lets a request in: key, version, workspace, body.
func (s *Server) accept(rw http.ResponseWriter, r *http.Request, w *world, body []byte) (int, *request, *apiError) {
	org, e := w.authenticate(r)
	if e != nil {
		return 0, nil, e
	}
	w.identify(rw.Header(), org)
	version, e := checkVersionHeader(r)
	if e == nil {
		e = w.checkWorkspace(r, org)
	}
	if e != nil {
		return 0, nil, e
	}
	req, e := readRequest(body)
	if e != nil {
		return 0, nil, e
	}
	if e := req.check(s.Now(), version, len(r.Header["Anthropic-Beta"]) > 0, false); e != nil {
		return 0, req, e
	}
	return org, req, req.checkWindow(req.estimate())
}

// turnAway answers a request that never reaches the limits, and counts it.
func (s *Server) turnAway(rw http.ResponseWriter, r *http.Request, w *world, req *request, e *apiError) {
	class, model := Invalid, -1
	if e.status == http.StatusUnauthorized {
		class = Unauthorized
	}
	if req != nil {
		model = req.index
	}
	org, fault := w.authenticate(r)
	w.mu.Lock()
	if fault != nil {
		w.unknown++
	} else {
		w.model.TurnAway(s.now(w), org, model, [16]byte{}, class)
	}
	w.mu.Unlock()
	writeError(rw, e)
}

// respond shows an exchange to the client when its times come.
func (s *Server) respond(rw http.ResponseWriter, r *http.Request, w *world, x *Exchange, req *request, c composed, hit *strike) {
	switch {
	case x.Fault == ReusedReset:
		s.release(w, x)
		breakConn(rw)
	case x.Class != Admitted:
		s.refuse(rw, w, x, hit)
	case x.Stream && x.Fault != DropBefore:
		s.stream(rw, r, w, w.newReply(x, req, c), hit)
	default:
		s.whole(rw, r, w, w.newReply(x, req, c), hit)
	}
}

func (s *Server) release(w *world, x *Exchange) {
	w.mu.Lock()
	w.model.Release(x)
	w.mu.Unlock()
}

// refuse answers 429 or 529.
func (s *Server) refuse(rw http.ResponseWriter, w *world, x *Exchange, hit *strike) {
	e := &apiError{status: x.Status, retryAfter: x.RetryAfter}
	e.kind, e.code, e.message = w.model.RefusalText(x)
	s.showLimits(rw.Header(), w, &x.Reading, hit)
	rw.Header()["X-Should-Retry"] = shouldRetry
	if x.Class == SpendLimit {
		delete(rw.Header(), "X-Should-Retry")
	}
	s.release(w, x)
	writeError(rw, e)
}

var shouldRetry = []string{"true"}

// showLimits sets Date and limit headers as the client sees them now.
func (s *Server) showLimits(h http.Header, w *world, r *Reading, hit *strike) {
	seen := hit.lie(*r)
	limits(h, w.model.start, &seen)
	s.mark(h, w, seen.Skew)
}

// wait sleeps until an instant of the exchange; if the client goes away first,
// the exchange is canceled and wait says false.
func (s *Server) wait(r *http.Request, w *world, x *Exchange, at time.Duration) bool {
	if s.clock.sleep(r.Context(), w.began+at) {
		return true
	}
	w.mu.Lock()
	w.model.Cancel(s.now(w), x)
	w.model.Release(x)
	w.mu.Unlock()
	return false
}

// whole answers in one piece at End.
func (s *Server) whole(rw http.ResponseWriter, r *http.Request, w *world, p reply, hit *strike) {
	x := p.x
	if !s.wait(r, w, x, x.End) {
		return
	}
	w.mu.Lock()
	w.model.Finish(s.now(w), x) // before the client can know: what it has seen is counted
	w.mu.Unlock()
	defer s.release(w, x)
	if x.Fault == DropBefore {
		breakConn(rw)
		return
	}
	if d := hit.delay(); d > 0 && !s.clock.sleep(r.Context(), w.began+x.End+d) {
		return
	}
	s.showLimits(rw.Header(), w, &x.Reading, hit)
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	*b = p.appendMessage((*b)[:0])
	if x.Fault != NoFault {
		writeHalf(rw, *b)
		return
	}
	writeBody(rw, *b)
}

// writeHalf announces a whole answer and breaks off in its middle.
func writeHalf(rw http.ResponseWriter, body []byte) {
	h := rw.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = rw.Write(body[:len(body)/2])
	flush(rw)
	breakConn(rw)
}
