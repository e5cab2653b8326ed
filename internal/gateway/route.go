package gateway

import (
	"net/http"
	"strings"
)

// ServeHTTP serves the API, /healthz and /readyz. Paths are matched as they are:
// nothing is cleaned, nothing redirects, and only what is named here goes to the
// provider (facts/gateways.md, "The contract to implement").
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if r.URL.RawPath != "" {
		path = "" // an encoded slash or dot: the name of nothing here
	}
	id, isModel := strings.CutPrefix(path, "/v1/models/")
	switch {
	case path == "/v1/messages":
		g.serve(w, r, "messages", http.MethodPost, g.messages)
	case path == "/v1/messages/count_tokens":
		g.serve(w, r, "count_tokens", http.MethodPost, g.countTokens)
	case path == "/v1/models", isModel && isID(id):
		g.serve(w, r, "models", http.MethodGet, g.models)
	case isUnder(path, "/v1/messages/batches") && g.batches != nil:
		recordOf(r.Context()).Route = "batches"
		g.batches.ServeHTTP(w, r)
	case path == "/healthz":
		g.probe(w, r, g.health)
	case path == "/readyz":
		g.probe(w, r, g.readiness)
	case isUnder(path, "/v1/files"):
		turnDown(w, r, nowhere("this gateway does not serve the Files API: a file belongs to one org, and requests go to all; send the content in the request"))
	default:
		turnDown(w, r, nowhere("Not found: "+shorten(r.URL.Path)))
	}
}

// serve runs a handler of the API for its method, while requests are taken.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request, route, method string, h http.HandlerFunc) {
	recordOf(r.Context()).Route = route
	if r.Method != method {
		otherMethod(w, r, method)
		return
	}
	if !g.under.enter() {
		turnDown(w, r, stopping())
		return
	}
	defer g.under.leave()
	h(w, r)
}

func otherMethod(w http.ResponseWriter, r *http.Request, allowed string) {
	turnDown(w, r, &apiError{
		status: http.StatusMethodNotAllowed, kind: kindInvalid, message: "Method Not Allowed", header: []string{"Allow", allowed},
	})
}

func nowhere(message string) *apiError {
	return &apiError{status: http.StatusNotFound, kind: kindNotFound, message: message}
}

// isUnder says whether a path is another or below it.
func isUnder(path, root string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest == "" || rest[0] == '/')
}

// longestID bounds the name of a model: those that exist have thirty characters.
const longestID = 128

// isID says whether a model's name is one that may stand in a path.
func isID(id string) bool {
	if id == "" || len(id) > longestID || strings.Trim(id, ".") == "" {
		return false
	}
	return strings.IndexFunc(id, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == ':' || c == '@')
	}) < 0
}

// shorten is how much of a path is said back.
func shorten(path string) string {
	const most = 200
	if len(path) > most {
		return strings.ToValidUTF8(path[:most], "") + "…"
	}
	return path
}
