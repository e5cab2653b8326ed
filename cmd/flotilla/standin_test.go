package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// standIn answers the free reads and probes of limits and doctor with fixed
// figures, so that scripts can say what they must print. What the API does
// under load is the emulator's to imitate.
type standIn struct{ *httptest.Server }

// standInOrgs are the orgs behind the keys.
var standInOrgs = map[string]string{
	"sk-ant-emulated-high":       "11111111-aaaa",
	"sk-ant-emulated-high-2":     "11111111-aaaa",
	"sk-ant-emulated-batch":      "22222222-bbbb",
	"sk-ant-emulated-low":        "33333333-cccc",
	"sk-ant-emulated-admin-high": "11111111-aaaa",
}

func newStandIn(t *testing.T) *standIn {
	t.Helper()
	mux := http.NewServeMux()
	s := &standIn{httptest.NewServer(mux)}
	t.Cleanup(s.Close)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) { s.reply(w, r, `{"data":[],"has_more":false}`) })
	mux.HandleFunc("GET /gateway/v1/models", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-flotilla-org", "high") // what our own gateway says
		s.reply(w, r, `{"data":[],"has_more":false}`)
	})
	mux.HandleFunc("GET /v1/organizations/me", func(w http.ResponseWriter, r *http.Request) {
		s.reply(w, r, fmt.Sprintf(`{"id":%q,"type":"organization","name":"x"}`, standInOrgs[r.Header.Get("x-api-key")]))
	})
	mux.HandleFunc("GET /v1/organizations/rate_limits", func(w http.ResponseWriter, r *http.Request) { s.reply(w, r, rateLimitPage(r)) })
	mux.HandleFunc("POST /v1/messages", s.message)
	return s
}

func (s *standIn) reply(w http.ResponseWriter, r *http.Request, body string) {
	org, known := standInOrgs[r.Header.Get("x-api-key")]
	if !known {
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"API key is invalid."},"request_id":"req_1"}`)
		return
	}
	w.Header().Set("anthropic-organization-id", org)
	w.Header().Set("flotilla-emulated", "standin/1")
	w.Header().Set("content-type", "application/json")
	_, _ = io.WriteString(w, body)
}

// rateLimitPage is a Rate Limits API of two pages, the old and the new way of
// naming groups, and a pool that our table does not know.
func rateLimitPage(r *http.Request) string {
	if r.URL.Query().Get("page") == "" {
		return `{"data":[
			{"group":{"type":"model_group"},"models":["claude-haiku-4-5"],"limits":[
				{"type":"requests_per_minute","value":30000},{"type":"input_tokens_per_minute_cache_aware","value":10000000},
				{"type":"output_tokens_per_minute","value":1000000},{"type":"tokens_per_day","value":20000000}]},
			{"group":{"type":"model_group"},"models":["gpt-9"],"limits":[{"type":"requests_per_minute","value":1}]}],
			"next_page":"two"}`
	}
	return `{"data":[{"group_type":"batch","models":null,"limits":[
		{"type":"requests_per_minute","value":4000},{"type":"enqueued_batch_requests","value":500000}]}],"next_page":null}`
}

func (s *standIn) message(w http.ResponseWriter, r *http.Request) {
	var body struct{ Model string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	if strings.HasPrefix(body.Model, "claude-fable") {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`)
		return
	}
	h := w.Header()
	reset := time.Now().UTC().Format(time.RFC3339)
	for name, v := range map[string][2]string{
		"requests": {"1000", "750"}, "input-tokens": {"2000000", "1000000"}, "output-tokens": {"400000", "400000"},
	} {
		h.Set("anthropic-ratelimit-"+name+"-limit", v[0])
		h.Set("anthropic-ratelimit-"+name+"-remaining", v[1])
		h.Set("anthropic-ratelimit-"+name+"-reset", reset)
	}
	s.reply(w, r, `{"type":"message","usage":{"input_tokens":8,"output_tokens":1}}`)
}
