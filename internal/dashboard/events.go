package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// hub passes what happens on to everybody who listens. It keeps nothing for a
// slow listener but the newest state and a few points.
type hub struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
	closed    chan struct{}
}

// pointsKept is how many points a slow listener may be behind: it reads the
// series anew where it sees a gap.
const pointsKept = 60

// maxListeners bounds what many open pages cost.
const maxListeners = 64

// listener is one event stream.
type listener struct {
	mu     sync.Mutex
	state  []byte // not sent yet; nil: none
	points [][]byte
	wake   chan struct{} // holds one word: there is something
}

func newHub() *hub { return &hub{listeners: map[*listener]struct{}{}, closed: make(chan struct{})} }

// join adds a listener; nil: there are too many, or the hub is closed.
func (h *hub) join() *listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners == nil || len(h.listeners) >= maxListeners {
		return nil
	}
	l := &listener{wake: make(chan struct{}, 1)}
	h.listeners[l] = struct{}{}
	return l
}

func (h *hub) leave(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners != nil {
		h.listeners = nil
		close(h.closed)
	}
}

// listened says that somebody listens.
func (h *hub) listened() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners) > 0
}

// each does something with every listener and wakes it.
func (h *hub) each(do func(*listener)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		l.mu.Lock()
		do(l)
		l.mu.Unlock()
		select {
		case l.wake <- struct{}{}:
		default: // it was told already
		}
	}
}

func (h *hub) tellState(text []byte) { h.each(func(l *listener) { l.state = text }) }

func (h *hub) tellPoint(text []byte) {
	h.each(func(l *listener) {
		if len(l.points) == pointsKept {
			l.points = slices.Delete(l.points, 0, 1)
		}
		l.points = append(l.points, text)
	})
}

// take gives what there is to send.
func (l *listener) take() (state []byte, points [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state, points = l.state, l.points
	l.state, l.points = nil, nil
	return state, points
}

// pingEvery keeps a quiet connection alive and finds out that it is gone.
const pingEvery = 15 * time.Second

// sendWait is how long one event may take to leave: a page that reads nothing
// for so long is gone.
const sendWait = 30 * time.Second

func (d *Dashboard) serveEvents(w http.ResponseWriter, r *http.Request) {
	l := d.hub.join()
	if l == nil {
		w.Header().Set("Retry-After", "5")
		writeError(w, http.StatusServiceUnavailable, "too many pages listen, or the program is about to end")
		return
	}
	defer d.hub.leave(l)
	first, err := d.stateText(r.Context())
	if err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // a proxy in between passes events on as they come
	out := &eventWriter{w: w, rc: http.NewResponseController(w)}
	out.text("retry: 2000\n\n")
	out.event("state", first)
	out.flush()
	d.stream(r.Context(), l, out)
}

// stream sends events until the page goes, the program ends or a write fails.
func (d *Dashboard) stream(ctx context.Context, l *listener, out *eventWriter) {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for out.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-d.hub.closed:
			return
		case <-ping.C:
			out.text(": ping\n\n")
		case <-l.wake:
			state, points := l.take()
			for _, p := range points {
				out.event("point", p)
			}
			if state != nil {
				out.event("state", state)
			}
		}
		out.flush()
	}
}

// eventWriter writes server-sent events; after an error it writes nothing.
type eventWriter struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	err error
}

func (o *eventWriter) text(s string) {
	if o.err == nil {
		_ = o.rc.SetWriteDeadline(time.Now().Add(sendWait)) // not every writer has deadlines
		_, o.err = o.w.Write([]byte(s))
	}
}

func (o *eventWriter) event(name string, data []byte) {
	o.text(fmt.Sprintf("event: %s\ndata: %s\n\n", name, data))
}

func (o *eventWriter) flush() {
	if o.err == nil {
		o.err = o.rc.Flush()
	}
}

// encodePoint is a point as an event has it.
func encodePoint(p point) []byte {
	text, err := json.Marshal(p)
	if err != nil {
		return []byte("{}") // a point holds numbers alone
	}
	return text
}
