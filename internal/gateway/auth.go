package gateway

import (
	"context"
	"net/http"
	"strings"
)

// keysOf are the keys that a request of the API may be carrying: x-api-key, and
// a bearer token, which newer programs send in its place or besides.
func keysOf(h http.Header) (keys [2]string) {
	keys[0] = h.Get("X-Api-Key")
	keys[1] = bearer(h.Get("Authorization"))
	return keys
}

// bearer is the token of an Authorization header; empty: it has none.
func bearer(authorization string) string {
	const scheme = "bearer "
	if len(authorization) < len(scheme) || !strings.EqualFold(authorization[:len(scheme)], scheme) {
		return ""
	}
	return strings.TrimSpace(authorization[len(scheme):])
}

// identify says who sent a request of the API.
func (s *shell) identify(r *http.Request) (Caller, error) {
	if s.clients == nil {
		return local, nil
	}
	return s.callerOf(r.Context(), keysOf(r.Header))
}

// callerOf is the caller whom the first good one of some keys belongs to.
func (s *shell) callerOf(ctx context.Context, keys [2]string) (c Caller, err error) {
	for i, key := range keys {
		if key == "" && i > 0 {
			continue
		}
		c, e := s.clients.Caller(ctx, key)
		if e == nil {
			return c, nil
		}
		if err == nil || key != "" {
			err = e
		}
	}
	return c, err
}

// stillKnown says why keys let nobody in any more; nil: they do.
func (s *shell) stillKnown(ctx context.Context, keys [2]string) error {
	_, err := s.callerOf(ctx, keys)
	return err
}

// watcher says who looks at the dashboard or the metrics: with a key as any
// program sends one, or as the password that a browser asks for. Nobody is asked
// on a loopback address, where the request itself has come from this machine.
func (s *shell) watcher(r *http.Request) (Caller, error) {
	if s.open(r) {
		return local, nil
	}
	keys := keysOf(r.Header)
	if _, password, ok := r.BasicAuth(); ok && keys[0] == "" {
		keys[0] = password
	}
	return s.callerOf(r.Context(), keys)
}

// open says whether anybody may look who gets a request here.
func (s *shell) open(r *http.Request) bool {
	return s.clients == nil || s.loopback && !proxied(r.Header)
}

// proxied says that a request came through a proxy: what is loopback to us need
// not be to its sender.
func proxied(h http.Header) bool {
	for _, name := range proxyHeaders {
		if _, ok := h[name]; ok {
			return true
		}
	}
	return false
}

var proxyHeaders = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via", "Cf-Connecting-Ip"}

// askPassword lets a browser ask for a key.
const askPassword = `Basic realm="flotilla (any name; a client key as password)", charset="UTF-8"`

// kindAuthentication is the API's type of error for a missing or wrong key.
const kindAuthentication = "authentication_error"
