package flotilla

import (
	"net/http"
	"net/url"
	"strings"
)

// hops are headers of one connection (RFC 9110, 7.6.1), not of an answer.
var hops = [...]string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

func dropHops(h http.Header) {
	for _, named := range h["Connection"] {
		for name := range strings.SplitSeq(named, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hops {
		delete(h, name)
	}
}

// lineHeader is a client's header as it goes to an org: without what is of the
// client's connection, its encodings (an answer that we cannot read has no
// price) and its credential, and with the org's key.
func lineHeader(from http.Header, o *orgState) http.Header {
	if from == nil {
		return o.header
	}
	to := make(http.Header, len(from)+3)
	for name, values := range from {
		if !ownHeader(name) {
			to[name] = values
		}
	}
	for _, name := range from["Connection"] {
		for named := range strings.SplitSeq(name, ",") {
			to.Del(strings.TrimSpace(named))
		}
	}
	to["X-Api-Key"] = o.header["X-Api-Key"]
	for _, name := range [...]string{"Anthropic-Version", "Content-Type"} {
		if len(to[name]) == 0 {
			to[name] = o.header[name]
		}
	}
	if _, said := to["User-Agent"]; !said {
		to["User-Agent"] = nil // else net/http names itself
	}
	return to
}

// ownHeader reports whether a header is the client's connection's, or one that
// we set.
func ownHeader(name string) bool {
	switch name {
	case "Authorization", "X-Api-Key", "Host", "Content-Length", "Accept-Encoding", "Expect", "Cookie",
		"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// withQuery is a URL with a raw query.
func withQuery(u *url.URL, query string) *url.URL {
	if query == "" {
		return u
	}
	to := *u
	to.RawQuery = query
	return &to
}
