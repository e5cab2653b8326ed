package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
)

// ShellConfig is what a Shell stands around.
type ShellConfig struct {
	API       http.Handler // /v1/…, /healthz and /readyz; nil: nothing is there
	Dashboard http.Handler // everything else; nil: nothing is there
	Metrics   http.Handler // /metrics; nil: nothing is there

	Clients  Clients  // who may call; nil: anybody, which only a loopback address may say
	Loopback bool     // the address leads here from this machine alone
	Hosts    []string // further names that such an address goes by (a container's name of its host)

	Log    *slog.Logger // nil: none
	Tell   func(*Record)
	Tracer Tracer // nil: no spans
}

// Tracer begins the span of a request. The context it gives is the request's;
// end is told the record once all is over.
type Tracer interface {
	Begin(r *http.Request) (ctx context.Context, end func(*Record))
}

// Shell is the outside of a gateway: who may come in, from where, how much at
// once, and what is told of it afterwards. A request that gets through carries
// its Caller.
func Shell(c ShellConfig) http.Handler {
	s := &shell{
		api: c.API, dashboard: c.Dashboard, metrics: c.Metrics,
		clients: c.Clients, loopback: c.Loopback, hosts: c.Hosts,
		log: c.Log, tell: c.Tell, tracer: c.Tracer, busy: newBusy(maxWaiting),
	}
	if s.api == nil {
		s.api = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			writeError(w, http.StatusNotFound, kindNotFound, "no API is served here: flotilla serve does")
		})
	}
	s.revoked = revocations{known: s.stillKnown, under: map[[2]string]*watchedKey{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

type shell struct {
	api, dashboard, metrics http.Handler

	clients  Clients
	loopback bool
	hosts    []string

	log    *slog.Logger
	tell   func(*Record)
	tracer Tracer
	busy   *busy
	held   atomic.Int64 // bytes of bodies

	revoked revocations
}

// ServeHTTP sorts requests by what they are for. What tells nothing and changes
// nothing is open.
func (s *shell) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch name := r.URL.Path; {
	case name == "/healthz" || name == "/readyz":
		s.api.ServeHTTP(w, r)
	case strings.HasPrefix(name, "/v1/") || name == "/v1":
		s.visit(w, r, s.call)
	case name == "/metrics" && s.metrics != nil:
		s.visit(w, r, s.watch("metrics", s.metrics))
	case s.dashboard != nil && ofPages(r):
		s.visit(w, r, s.watch("page", s.dashboard))
	default:
		s.visit(w, r, s.nothing)
	}
}

// ofPages says whether a request may be for the dashboard. What else is none of
// the API's paths leads nowhere, least of all on: calls by a base URL with a slash
// too many would be redirected.
func ofPages(r *http.Request) bool {
	name := r.URL.Path
	if clean := path.Clean(name); name != clean && (name != clean+"/" || clean == "/") {
		return false
	}
	return strings.HasPrefix(name, "/api/") || r.Method == http.MethodGet || r.Method == http.MethodHead && name != "/"
}

// visit runs one request and tells of it.
func (s *shell) visit(w http.ResponseWriter, r *http.Request, do func(http.ResponseWriter, *http.Request, *visit)) {
	v := &visit{caller: local}
	v.record.Began, v.record.Method = time.Now(), r.Method
	ctx, ended := r.Context(), func(*Record) {}
	if s.tracer != nil {
		ctx, ended = s.tracer.Begin(r)
	}
	r = r.WithContext(context.WithValue(ctx, visitKey{}, v))
	out := &counted{ResponseWriter: w}
	defer func() {
		fault := recover()
		if fault != nil && fault != http.ErrAbortHandler {
			s.log.Error("a request broke its handler", "fault", fmt.Sprint(fault), "stack", string(debug.Stack()))
			v.record.Kind = kindAPI
			if out.status == 0 {
				writeError(out, http.StatusInternalServerError, kindAPI, "Internal server error")
				fault = nil
			} else {
				fault = http.ErrAbortHandler
			}
		}
		v.record.Status, v.record.Took = out.status, time.Since(v.record.Began)
		s.over(&v.record)
		ended(&v.record)
		if fault != nil {
			panic(fault)
		}
	}()
	do(out, r, v)
}

// over tells of a request that is over.
func (s *shell) over(rec *Record) {
	if s.tell != nil {
		s.tell(rec)
	}
	s.logged(rec)
}

// call lets a request of the API in.
func (s *shell) call(w http.ResponseWriter, r *http.Request, v *visit) {
	if !s.passes(w, r, false) {
		return
	}
	caller, err := s.identify(r)
	if err != nil {
		s.stranger(w, v, err)
		return
	}
	s.admit(v, caller)
	if r.Method == http.MethodPost {
		wait, ok := s.busy.enter(caller.Name, v.record.Began)
		if !ok {
			v.record.Kind = kindRateLimit
			writeError(w, http.StatusTooManyRequests, v.record.Kind,
				fmt.Sprintf("%s has %d calls under way at this gateway, which is as many as it holds for one caller", caller.Name, maxWaiting),
				retryAfter(wait)...)
			return
		}
		defer func() { s.busy.leave(caller.Name, time.Now()) }()
		defer s.watchKey(r, v)()
		b := &body{
			ReadCloser: r.Body, control: http.NewResponseController(w), held: &s.held,
			counted: !strings.HasPrefix(r.URL.Path, "/v1/messages/batches"), // those go to a file
		}
		r.Body = b
		defer b.release()
	}
	s.api.ServeHTTP(w, r)
}

// watch lets somebody look at a page or at the metrics.
func (s *shell) watch(route string, page http.Handler) func(http.ResponseWriter, *http.Request, *visit) {
	return func(w http.ResponseWriter, r *http.Request, v *visit) {
		v.record.Route = route
		if !s.passes(w, r, true) {
			return
		}
		caller, err := s.watcher(r)
		if err != nil {
			w.Header().Set("WWW-Authenticate", askPassword)
			s.stranger(w, v, err)
			return
		}
		s.admit(v, caller)
		ctx, cancel := s.whileKnown(r)
		defer cancel()
		page.ServeHTTP(w, r.WithContext(ctx))
	}
}

// lookAgain is how often it is asked whether somebody who looks at a page that
// goes on still may.
const lookAgain = time.Second

// whileKnown is a request's context that ends when the key that it came with is
// revoked: a dashboard that was opened before would be told all that follows.
func (s *shell) whileKnown(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	if s.open(r) {
		return ctx, cancel
	}
	go func() {
		tick := time.NewTicker(lookAgain)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := s.watcher(r); errors.Is(err, ErrBadKey) || errors.Is(err, ErrNoKey) {
				cancel()
			}
		}
	}()
	return ctx, cancel
}

func (s *shell) admit(v *visit, caller Caller) {
	v.caller = caller
	v.record.Client, v.record.Priority = caller.Name, caller.Priority
}

// nothing answers for paths where nothing is, as the API does, once it is known
// who asks.
func (s *shell) nothing(w http.ResponseWriter, r *http.Request, v *visit) { s.api.ServeHTTP(w, r) }

// headSize is about how many bytes the head of a request has.
func headSize(r *http.Request) (n int) {
	n = len(r.RequestURI)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

var headTooLarge = fmt.Sprintf("the headers of the request are larger than %d KB", headerMost>>10)

// passes refuses what is too large, and what a browser was made to send.
func (s *shell) passes(w http.ResponseWriter, r *http.Request, page bool) bool {
	switch {
	case headSize(r) > headerMost:
		writeError(w, http.StatusRequestHeaderFieldsTooLarge, kindInvalid, headTooLarge, "Connection", "close")
		return false
	case !s.ours(r.Host):
		writeError(w, http.StatusForbidden, kindPermission,
			"this gateway listens for this machine alone, and the request was for another host; serve --allow-host NAME adds a name")
		return false
	case foreign(r) && !(page && followed(r)):
		writeError(w, http.StatusForbidden, kindPermission, "requests from pages of other sites are refused")
		return false
	}
	return true
}

// stranger answers somebody who has no good key, in the words of the API
// (facts/claude-api.md 4.5).
func (s *shell) stranger(w http.ResponseWriter, v *visit, err error) {
	v.record.Kind = kindAuthentication
	switch {
	case errors.Is(err, ErrNoKey):
		writeError(w, http.StatusUnauthorized, kindAuthentication, "x-api-key header is required")
	case errors.Is(err, ErrBadKey):
		writeError(w, http.StatusUnauthorized, kindAuthentication, "API key is invalid.")
	default:
		v.record.Kind, v.record.Cause = kindAPI, err
		writeError(w, http.StatusInternalServerError, kindAPI, "Internal server error")
	}
}

// counted is a ResponseWriter that remembers the status.
type counted struct {
	http.ResponseWriter
	status int
}

func (c *counted) WriteHeader(status int) {
	if c.status == 0 && status >= 200 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *counted) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	return c.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush sends what was written.
func (c *counted) Flush() {
	if f, ok := c.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
