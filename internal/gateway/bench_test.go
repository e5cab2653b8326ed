package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla"
)

// canned answers without a network.
type canned struct{ stream bool }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	h := http.Header{"Content-Type": {"application/json"}, "Anthropic-Organization-Id": {"00000000-0000-4000-8000-000000000001"}, "Request-Id": {"req_1"}}
	text := goodMessage
	switch {
	case r.URL.Path == "/v1/models":
		text = `{"data":[],"has_more":false,"first_id":null,"last_id":null}`
	case c.stream:
		h["Content-Type"], text = eventType, goodStream
	}
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: r}, nil
}

// sink is a client that takes everything.
type sink struct{ h http.Header }

func (s *sink) Header() http.Header         { return s.h }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) Flush()                      {}

// BenchmarkGateway is the gateway and its fleet without any network: what they
// themselves cost a request.
func BenchmarkGateway(b *testing.B) {
	for name, c := range map[string]struct {
		bytes  int
		stream bool
	}{"1.5 KB": {1500, false}, "100 KB": {100_000, false}, "stream": {1500, true}} {
		b.Run(name, func(b *testing.B) {
			f, err := flotilla.New(flotilla.Config{
				Orgs:    []flotilla.Org{{Name: "high", Key: "sk-ant-emulated-high"}},
				BaseURL: "http://upstream.test", Ramp: flotilla.RampOff, Conc: map[string]int{"haiku": 1000},
				Transport: func(flotilla.Org) http.RoundTripper { return canned{c.stream} },
			})
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			g, err := New(b.Context(), Config{Fleet: f})
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close(context.Background())
			field := ""
			if c.stream {
				field = `"stream":true,`
			}
			body := []byte(askFor(strings.Repeat("some words of text ", c.bytes/19), field))
			to := &url.URL{Path: "/v1/messages"}
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r := &http.Request{
						Method: http.MethodPost, URL: to, Header: http.Header{"Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"}, "User-Agent": {"x"}},
						Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
					}
					w := &sink{http.Header{}}
					g.ServeHTTP(w, r)
					if w.h.Get(headerAttempts) != "1" {
						b.Errorf("%v", w.h)
						return
					}
				}
			})
		})
	}
}
