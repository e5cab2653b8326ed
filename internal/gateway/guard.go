package gateway

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla"
)

// ours says whether a Host header names this gateway. On a loopback address no
// other name leads here, but one that somebody's name server points at it, so
// that a browser takes his page for ours (DNS rebinding). Ports may differ: they
// are forwarded.
func (s *shell) ours(host string) bool {
	if !s.loopback {
		return true // whoever gets this far has a key
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	return flotilla.IsLoopback(name) || strings.HasSuffix(name, ".localhost") || slices.Contains(s.hosts, name)
}

// foreign says that a page of another site made a browser send this request. No
// key protects a loopback address, so that is all that keeps such a page from
// spending money. Programs other than browsers send neither header.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}

// followed says that a person followed a link from elsewhere to a page of ours,
// which changes nothing and tells the other site nothing.
func followed(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Origin") == "" &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}
