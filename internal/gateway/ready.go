package gateway

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// readiness is what was last seen of the orgs. Anybody may ask, so the loop is
// not asked each time.
type readiness struct {
	mu   sync.Mutex
	at   time.Time
	open bool
}

// readyFor is how long a look at the orgs stands.
const readyFor = time.Second

// lookTimeout is how long it may take: before the fleet has connected, it waits.
const lookTimeout = time.Second

// probe runs a check that anybody may ask for.
func (g *Gateway) probe(w http.ResponseWriter, r *http.Request, answer func(context.Context) (status int, body string)) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		otherMethod(w, r, http.MethodGet)
		return
	}
	status, body := answer(r.Context())
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = jsonType, []string{"no-store"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // a prober that is gone has its answer
}

// health says that the process lives.
func (g *Gateway) health(context.Context) (int, string) {
	return http.StatusOK, `{"status":"ok"}` + "\n"
}

// readiness says whether a request would be taken, and if not why, in words that
// tell a stranger nothing of the orgs.
func (g *Gateway) readiness(ctx context.Context) (int, string) {
	switch {
	case g.under.isStopped():
		return http.StatusServiceUnavailable, `{"ready":false,"reasons":["stopping"]}` + "\n"
	case !g.anyOpen(ctx):
		return http.StatusServiceUnavailable, `{"ready":false,"reasons":["no org is open"]}` + "\n"
	}
	return http.StatusOK, `{"ready":true,"reasons":[]}` + "\n"
}

// anyOpen says whether a lane takes calls. Lanes appear with the first call of a
// pool: before it, a fleet that has connected is open.
func (g *Gateway) anyOpen(ctx context.Context) bool {
	g.ready.mu.Lock()
	defer g.ready.mu.Unlock()
	now := time.Now()
	if now.Sub(g.ready.at) < readyFor {
		return g.ready.open
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	s, err := g.cfg.Fleet.Snapshot(ctx)
	g.ready.at, g.ready.open = now, err == nil && isOpen(s.Lanes)
	return g.ready.open
}

func isOpen(lanes []flotilla.LaneState) bool {
	sync := 0
	for _, l := range lanes {
		if l.Tier != "sync" {
			continue
		}
		sync++
		if !l.Closed {
			return true
		}
	}
	return sync == 0
}
