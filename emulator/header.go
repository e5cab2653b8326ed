package emulator

import (
	"net/http"
	"strconv"
	"time"
)

// Headers that are the same on every response of the API, as captures show
// them (facts/claude-api.md 1.4). Shared: nobody writes into the slices.
var (
	cloudflare = []string{"cloudflare"}
	dynamic    = []string{"DYNAMIC"}
	vary       = []string{"Accept-Encoding"}
	hsts       = []string{"max-age=31536000; includeSubDomains; preload"}
	envoy      = []string{"1"}
)

// mark sets what every response of the emulator says, and its scaled Date.
func (s *Server) mark(h http.Header, w *world, skew time.Duration) {
	h["Flotilla-Emulated"] = w.mark
	h["Flotilla-Speed"] = *s.speed.Load()
	h["Date"] = []string{s.Now().Add(skew).Format(http.TimeFormat)}
}

// stamp sets what every response of the API says.
func (s *Server) stamp(h http.Header, w *world) {
	s.mark(h, w, 0)
	n := s.serial.Add(1)
	k := key{w.model.seed, n}
	h["Request-Id"] = []string{token("req_01", k, 22)}
	h["Server"] = cloudflare
	h["Cf-Cache-Status"] = dynamic
	h["Cf-Ray"] = []string{strconv.FormatUint(k.bits(drawText)|1<<63, 16) + "-FRA"}
	h["X-Envoy-Upstream-Service-Time"] = envoy
	h["Strict-Transport-Security"] = hsts
	h["Vary"] = vary
}

// identify sets whose response it is.
func (w *world) identify(h http.Header, org int) {
	h["Anthropic-Organization-Id"] = w.orgs[org].id
	h["Anthropic-Workspace-Id"] = w.orgs[org].workspace
}

// limitHeaders are the names of the rate-limit family in canonical spelling.
var limitHeaders = [NumDims][3]string{
	Requests: {"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	Input:    {"Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
	Output:   {"Anthropic-Ratelimit-Output-Tokens-Limit", "Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
	Tokens:   {"Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
}

// limits sets the rate-limit family (facts/claude-api.md 3.3).
func limits(h http.Header, start time.Time, r *Reading) {
	if !r.Known {
		return
	}
	vals := make([]string, 0, 3*NumDims) // one array for all values
	for d := range NumDims {
		if r.Shown&(1<<d) == 0 {
			continue
		}
		i := len(vals)
		vals = append(vals,
			strconv.FormatInt(r.Limit[d], 10),
			strconv.FormatInt(r.Remaining[d], 10),
			start.Add(r.Reset[d]+r.Skew).UTC().Format(time.RFC3339))
		for j, name := range limitHeaders[d] {
			h[name] = vals[i+j : i+j+1 : i+j+1]
		}
	}
}
