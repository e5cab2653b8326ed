package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// The other processes of the load benchmarks: an upstream that answers after a
// fixed time, and the proxy that the gateway is compared with. Each is a process
// of its own, so that its CPU and memory are its own.

// loadUpstream serves messages until its input ends: LATENCY after a request has
// come, an answer of about a kilobyte; to those that ask for a stream one of
// twelve deltas, 50 ms apart.
func loadUpstream() {
	latency, err := time.ParseDuration(os.Getenv("LATENCY"))
	if err != nil {
		panic(err)
	}
	text := strings.Repeat("answers are as long as this one. ", 22)
	message := fmt.Sprintf(`{"id":"msg_01","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":380,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":170,"service_tier":"standard"}}`, text)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		loadHeaders(w.Header())
		_, _ = io.WriteString(w, `{"data":[{"type":"model","id":"claude-haiku-4-5","display_name":"Claude Haiku 4.5","created_at":"2025-10-01T00:00:00Z"}],"has_more":false,"first_id":"claude-haiku-4-5","last_id":"claude-haiku-4-5"}`)
	})
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !json.Valid(body) {
			http.Error(w, "no body", http.StatusBadRequest)
			return
		}
		time.Sleep(latency)
		loadHeaders(w.Header())
		if strings.Contains(string(body[:min(len(body), 200)]), `"stream":true`) {
			loadStream(w)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(message)))
		_, _ = io.WriteString(w, message)
	})
	serveUntilClosed(mux)
}

func loadHeaders(h http.Header) {
	h.Set("Content-Type", "application/json")
	h.Set("Request-Id", "req_load")
	h.Set("Anthropic-Organization-Id", "00000000-0000-4000-8000-000000000001")
	reset := time.Now().Add(time.Second).UTC().Format(time.RFC3339)
	for _, name := range []string{"Requests", "Input-Tokens", "Output-Tokens"} {
		h.Set("Anthropic-Ratelimit-"+name+"-Limit", "4000000000")
		h.Set("Anthropic-Ratelimit-"+name+"-Remaining", "3999999000")
		h.Set("Anthropic-Ratelimit-"+name+"-Reset", reset)
	}
}

func loadStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	flush := http.NewResponseController(w)
	event := func(name, data string) {
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
		_ = flush.Flush()
	}
	event("message_start", `{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":380,"output_tokens":1}}}`)
	event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for range 12 {
		time.Sleep(50 * time.Millisecond)
		event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words of an answer "}}`)
	}
	event("content_block_stop", `{"type":"content_block_stop","index":0}`)
	event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":60}}`)
	event("message_stop", `{"type":"message_stop"}`)
}

// loadProxy is the bare reverse proxy: what a few lines of Go give anybody, with
// connections enough.
func loadProxy() {
	to, err := url.Parse(os.Getenv("UPSTREAM"))
	if err != nil {
		panic(err)
	}
	serveUntilClosed(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true},
	})
}

// serveUntilClosed serves on a free port of loopback, says which, and ends with
// its standard input, so that it never outlives the benchmark.
func serveUntilClosed(h http.Handler) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := &http.Server{Handler: h}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Shutdown(context.Background())
		os.Exit(0)
	}()
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", l.Addr())
	if err := server.Serve(l); err != http.ErrServerClosed {
		panic(err)
	}
	select {}
}
