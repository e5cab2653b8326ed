package emulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Options shape a server.
type Options struct {
	Scenario Scenario  // the zero value: the scenario "default"
	Seed     uint64    // of everything drawn
	Speed    float64   // scaled seconds in a real one; 0: 1
	Start    time.Time // scaled time at the beginning; zero: the real time
	// InOrder admits requests to /v1/messages in the order of the decimal
	// numbers in their [SequenceHeader], 1, 2, 3 …, whatever order they arrive
	// in; requests without one are not held. For tests that compare a run over
	// HTTP with one without.
	InOrder bool
}

// SequenceHeader numbers requests for [Options.InOrder].
const SequenceHeader = "Flotilla-Sequence"

// Server is the emulated API over HTTP: a [Model] on scaled real time. Use it
// as an http.Handler, or let it listen by itself, which lets it break
// connections as a bad network does and tell reused connections from new ones.
type Server struct {
	clock  *clock
	world  atomic.Pointer[world]
	mux    *http.ServeMux
	http   http.Server
	order  *sequence     // nil: arrivals as they come
	serial atomic.Uint64 // of responses, for request ids

	control  sync.Mutex // one reset or change of speed at a time
	scenario Scenario   // the one it began with; a reset may name it again
	speed    atomic.Pointer[[]string]
}

// New makes a server that does not listen yet. The error is that of a scenario
// that is not valid.
func New(o Options) (*Server, error) {
	if len(o.Scenario.Orgs) == 0 {
		o.Scenario = base()
		o.Scenario.Name = "default"
	}
	if o.Scenario.Name == "" {
		o.Scenario.Name = "custom"
	}
	if o.Speed == 0 {
		o.Speed = 1
	}
	if !(o.Speed > 0) {
		return nil, fmt.Errorf("speed %v is not positive", o.Speed)
	}
	if o.Start.IsZero() {
		o.Start = time.Now()
	}
	s := &Server{clock: newClock(o.Start, o.Speed), scenario: o.Scenario}
	s.announce(o.Speed)
	w, err := newWorld(o.Scenario, o.Seed, 0, o.Start)
	if err != nil {
		return nil, err
	}
	s.world.Store(w)
	if o.InOrder {
		s.order = newSequence()
	}
	s.mux = s.routes()
	s.http = http.Server{
		Handler:           s,
		ConnContext:       countRequests,
		ReadHeaderTimeout: time.Minute, // a client that never ends its header is not waited for
	}
	return s, nil
}

// Serve answers on a listener until Close; then it returns nil.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", l.Addr(), err)
	}
	return nil
}

// Listen opens a TCP address ("127.0.0.1:0" picks a port), serves on it in the
// background until Close, and returns the URL.
func (s *Server) Listen(addr string) (string, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listening: %w", err)
	}
	go func() { _ = s.Serve(l) }() // an accept error after a good Listen ends the clients' calls, which tell
	return "http://" + l.Addr().String(), nil
}

// Close stops at once: answers under way break off.
func (s *Server) Close() error { return s.http.Close() }

// Shutdown stops listening and waits for answers under way until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return fmt.Errorf("stopping: %w", err)
	}
	return nil
}

// Stats counts up to now.
func (s *Server) Stats() Stats {
	w := s.world.Load()
	w.mu.Lock()
	defer w.mu.Unlock()
	st := w.model.Stats(s.now(w))
	st.Requests += w.unknown
	return st
}

// Now is the scaled wall-clock time.
func (s *Server) Now() time.Time { return s.wall(s.clock.now()) }

func (s *Server) wall(at time.Duration) time.Time { return s.clock.start.Add(at).UTC() }

// now is the time of a world's model.
func (s *Server) now(w *world) time.Duration { return s.clock.now() - w.began }

// announce keeps the value of flotilla-speed.
func (s *Server) announce(speed float64) {
	s.speed.Store(&[]string{strconv.FormatFloat(speed, 'g', -1, 64)})
}

// connKey finds a connection's count of requests in its context.
type connKey struct{}

// countRequests gives each connection a counter; HTTP/1.1 has one request at a
// time on it.
func countRequests(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, new(int))
}

// countRequest counts a request on its connection.
func countRequest(r *http.Request) {
	if n, ok := r.Context().Value(connKey{}).(*int); ok {
		*n++
	}
}

// isReused says whether a request's connection carried one before.
func isReused(r *http.Request) bool {
	n, ok := r.Context().Value(connKey{}).(*int)
	return ok && *n > 1
}
