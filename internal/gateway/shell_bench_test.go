package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkShell is what the shell adds to a request: key, guards, places, the
// record, metrics.
func BenchmarkShell(b *testing.B) {
	m := NewMetrics("1.2.3")
	read := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recordOf(r.Context()).Route = "messages"
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusOK)
	})
	shell := Shell(ShellConfig{API: read, Clients: KeyedClients(newShelf(clientNamed("alice", aliceKey), clientNamed("bob", bobKey)), false, nil), Tell: m.Told})
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/v1/messages", nil)
	r.Header = http.Header{"X-Api-Key": {aliceKey}, "Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}, "User-Agent": {"bench"}}
	body := strings.NewReader("")
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		body.Reset("{}")
		r.Body = io.NopCloser(body)
		shell.ServeHTTP(w, r)
	}
}
