package emulator

import (
	"net/http"
	"strings"
)

// ServeHTTP serves the API and, under /emulator, the emulator's own controls.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	countRequest(r)
	if r.URL.Path == "/v1/messages" && r.Method == http.MethodPost {
		s.messages(rw, r) // not by way of the mux: this is the path that has to be cheap
		return
	}
	s.mux.ServeHTTP(rw, r)
}

// endpoint answers one request of an org; an error is written by its caller.
type endpoint func(rw http.ResponseWriter, r *http.Request, w *world, org int) *apiError

func (s *Server) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("POST /v1/messages/count_tokens", s.withKey((*world).authenticate, true, s.countTokens))
	m.HandleFunc("GET /v1/models", s.withKey((*world).authenticate, true, s.listModels))
	m.HandleFunc("GET /v1/models/{id}", s.withKey((*world).authenticate, true, s.showModel))
	s.batchRoutes(m)
	admin := func(e endpoint) http.HandlerFunc { return s.withKey((*world).authenticateAdmin, false, e) }
	m.HandleFunc("GET /v1/organizations/rate_limits", admin(s.rateLimits))
	m.HandleFunc("GET /v1/organizations/me", admin(s.me))
	m.HandleFunc("GET /v1/organizations/usage_report/messages", admin(s.usageReport))
	m.HandleFunc("GET /emulator/healthz", s.health)
	m.HandleFunc("GET /emulator/stats", s.showStats)
	m.HandleFunc("POST /emulator/faults", s.addFault)
	m.HandleFunc("DELETE /emulator/faults/{id}", s.dropFault)
	m.HandleFunc("POST /emulator/reset", s.reset)
	m.HandleFunc("POST /emulator/clock", s.setClock)
	m.HandleFunc("/", s.nowhere)
	return m
}

// withKey serves an endpoint to whoever has the right kind of key. Admin
// endpoints name no workspace (facts/claude-api.md 1.4).
func (s *Server) withKey(who func(*world, *http.Request) (int, *apiError), workspace bool, serve endpoint) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		w := s.world.Load()
		h := rw.Header()
		s.stamp(h, w)
		org, e := who(w, r)
		if e != nil {
			writeError(rw, e)
			return
		}
		w.identify(h, org)
		if !workspace {
			delete(h, "Anthropic-Workspace-Id")
		}
		if s.struck(rw, r, w, org) {
			return
		}
		if _, e := checkVersionHeader(r); e != nil {
			writeError(rw, e)
			return
		}
		if e := serve(rw, r, w, org); e != nil {
			writeError(rw, e)
		}
	}
}

// nowhere answers what no route does.
func (s *Server) nowhere(rw http.ResponseWriter, r *http.Request) {
	s.stamp(rw.Header(), s.world.Load())
	if s.otherMethod(r) {
		writeError(rw, &apiError{status: http.StatusMethodNotAllowed, kind: "invalid_request_error", message: "Method Not Allowed"})
		return
	}
	writeError(rw, notFound("Not found: %s", r.URL.Path))
}

// otherMethod says whether the path exists for another method.
func (s *Server) otherMethod(r *http.Request) bool {
	if r.URL.Path == "/v1/messages" {
		return true
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); strings.HasPrefix(pattern, method) {
			return true
		}
	}
	return false
}
