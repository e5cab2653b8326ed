package gateway

import (
	"net/http"
	"strconv"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// replay answers from the cache. It says so in x-flotilla-cached, and the
// request-id is one of ours: the provider's named another request. False: there
// is no answer after all, and the call is to be made.
func (g *Gateway) replay(w http.ResponseWriter, r *http.Request, t *turn, stream bool) bool {
	kept, err := g.cfg.Journal.Answer(r.Context(), t.id)
	if err != nil || len(kept.Body) == 0 {
		return false // it was pruned meanwhile
	}
	facts, err := wire.ReadMessage(kept.Body)
	if err != nil {
		return false
	}
	body, kind := kept.Body, jsonType
	if stream {
		if body, err = wire.AppendEvents(make([]byte, 0, 2*len(kept.Body)), kept.Body); err != nil {
			return false
		}
		kind = eventType
	}
	rec := recordOf(r.Context())
	rec.Cached, rec.Answering, rec.Stop = true, facts.Model, facts.StopReason
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = kind, noCache
	h[headerRequestID] = []string{requestID()}
	h[headerCached] = yes
	h[headerAttempts], h[headerQueue] = zero, zero
	if kept.Emulated != "" {
		h["Flotilla-Emulated"] = []string{kept.Emulated}
	}
	if !stream {
		h[headerCost] = nothing
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(http.StatusOK)
	_, err = w.Write(body)
	t.kept = err == nil
	return true
}

var (
	eventType = []string{"text/event-stream; charset=utf-8"}
	noCache   = []string{"no-cache"}
	yes       = []string{"true"}
	zero      = []string{"0"}
	nothing   = []string{flotilla.Money(0).Exact()}
)
