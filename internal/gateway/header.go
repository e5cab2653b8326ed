package gateway

import (
	"net/http"
	"strings"
)

// Headers that the gateway adds to answers (interface.md, Gateway).
const (
	headerOrg      = "X-Flotilla-Org"
	headerAttempts = "X-Flotilla-Attempts"
	headerQueue    = "X-Flotilla-Queue-Ms"
	headerCached   = "X-Flotilla-Cached"
	headerCost     = "X-Flotilla-Cost-Usd" // of messages in one piece
)

// passes says whether a request header of the client's goes to the provider:
// everything of the API's own but the workspace, which is tied to one key, and
// what tells the client apart. Credentials, cookies, our own headers and those
// of proxies stay here; accept-encoding too, since the answer is read on its
// way. name is in canonical spelling.
func passes(name string) bool {
	switch name {
	case "Content-Type", "Accept", "User-Agent", "X-App":
		return true
	case "Anthropic-Workspace-Id":
		return false
	}
	return strings.HasPrefix(name, "Anthropic-") || strings.HasPrefix(name, "X-Stainless-") || strings.HasPrefix(name, "X-Claude-Code-")
}

// upstreamHeader is what of a request's header goes to the provider. The values
// are shared with it.
func upstreamHeader(h http.Header) http.Header {
	out := make(http.Header, len(h))
	for name, values := range h {
		if passes(name) {
			out[name] = values
		}
	}
	dropNamed(out, h)
	return out
}

// dropNamed takes out the headers that a Connection header names: they are the
// connection's (RFC 9110, 7.6.1).
func dropNamed(out, h http.Header) {
	for _, value := range h["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			out.Del(strings.TrimSpace(name))
		}
	}
}

// stays says whether a header of an answer is not the client's business: those
// of the connection to the provider, and those that a client would keep for the
// provider's host and not for ours.
func stays(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	case "Alt-Svc", "Set-Cookie", "Strict-Transport-Security":
		return true
	}
	return strings.HasPrefix(name, "X-Flotilla-")
}

// copyHeader passes the header of an answer back.
func copyHeader(to, from http.Header) {
	for name, values := range from {
		if !stays(name) {
			to[name] = values
		}
	}
	dropNamed(to, from)
}

// betasOf are the names in the anthropic-beta headers of a request.
func betasOf(h http.Header) []string {
	var betas []string
	for _, value := range h["Anthropic-Beta"] {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" {
				betas = append(betas, name)
			}
		}
	}
	return betas
}
