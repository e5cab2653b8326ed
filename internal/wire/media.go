package wire

import (
	"net/http"
	"strings"
)

// mediaType is the media type of an answer, lower case and without parameters;
// empty when the header is missing.
func mediaType(h http.Header) string {
	if v := h["Content-Type"]; len(v) > 0 {
		t, _, _ := strings.Cut(v[0], ";")
		return strings.ToLower(strings.TrimSpace(t))
	}
	return ""
}

// IsJSON says that an answer calls itself JSON. The official clients decode no
// 200 that does not (facts/claude-api.md 1.2), and neither does a fleet.
func IsJSON(h http.Header) bool {
	t := mediaType(h)
	return t == "application/json" || strings.HasSuffix(t, "+json")
}

// IsEventStream says that an answer calls itself a stream of events.
func IsEventStream(h http.Header) bool { return mediaType(h) == "text/event-stream" }
