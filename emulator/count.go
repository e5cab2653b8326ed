package emulator

import (
	"net/http"
	"time"
)

// Count asks for one count_tokens request of an org at now: they have a limit
// of their own. It says how long to wait where it refuses.
func (m *Model) Count(now time.Duration, org int) (ok bool, retryAfter time.Duration) {
	m.Advance(now)
	o := &m.orgs[org]
	o.count.advance(max(0, now-o.countAt).Seconds(), 0)
	o.countAt = max(o.countAt, now)
	if !o.count.fits(1) {
		return false, wholeSeconds(o.count.wait(1))
	}
	o.count.take(1)
	return true, 0
}

// countTokens serves POST /v1/messages/count_tokens.
func (s *Server) countTokens(rw http.ResponseWriter, r *http.Request, w *world, org int) *apiError {
	version, e := checkVersionHeader(r)
	if e != nil {
		return e
	}
	buf, e := readBody(r)
	if e != nil {
		return e
	}
	defer bodies.Put(buf)
	req, e := readRequest(buf.Bytes())
	if e != nil {
		return e
	}
	if e := req.check(s.Now(), version, len(r.Header["Anthropic-Beta"]) > 0, true); e != nil {
		return e
	}
	w.mu.Lock()
	ok, after := w.model.Count(s.now(w), org)
	w.mu.Unlock()
	if !ok {
		return &apiError{
			status: http.StatusTooManyRequests, kind: "rate_limit_error", retryAfter: after,
			message: "This request would exceed your organization's rate limit of " +
				thousands(w.model.orgs[org].countRPM()) + " count_tokens requests per minute.",
		}
	}
	writeJSON(rw, struct {
		InputTokens int64 `json:"input_tokens"`
	}{req.estimate()})
	return nil
}
