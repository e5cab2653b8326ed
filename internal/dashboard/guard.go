package dashboard

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// bodyLimit bounds what a change may send: a cap is a few bytes.
const bodyLimit = 4 << 10

// policy lets pages load and run nothing but our own files: hostile text of a
// model's answer stays text even where a page had a mistake.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guard stands before all requests.
func (d *Dashboard) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if !d.knownHost(r) {
			writeError(w, http.StatusForbidden, "this host name is not ours: ask for localhost or an address; serve --allow-host NAME adds a name")
			return
		}
		if err := cross.Check(r); err != nil {
			writeError(w, http.StatusForbidden, "a page of another site may not ask for this")
			return
		}
		if !changes(r) {
			next.ServeHTTP(w, r)
			return
		}
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			writeError(w, http.StatusUnsupportedMediaType, "the content type must be application/json")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
		next.ServeHTTP(w, r)
	})
}

func changes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// knownHost says whether the request names this machine in a way that a foreign
// page cannot: a name that its owner lets point to 127.0.0.1 would make our
// answers readable to it (DNS rebinding). Where we are asked by another address
// than loopback, keys decide, and a foreign page has none.
func (d *Dashboard) knownHost(r *http.Request) bool {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && !isLoopback(local) {
		return true
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(d.cfg.Hosts, host)
}

func isLoopback(a net.Addr) bool {
	at, err := netip.ParseAddrPort(a.String())
	return err != nil || at.Addr().Unmap().IsLoopback()
}
