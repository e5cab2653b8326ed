package emulator

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkServer is a call over loopback in a world without waits, beside the
// same call to a handler that only writes as many bytes: the difference is what
// the emulator costs.
func BenchmarkServer(b *testing.B) {
	_, url := serve(b, Options{})
	body := strings.Replace(hello, "Hello", strings.Repeat("some words of a prompt ", 40), 1)
	_, answer := ask{body: body}.do(b, url)
	b.Run("emulator", func(b *testing.B) { benchmarkPosts(b, url+"/v1/messages", body) })
	bare := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(answer)
	})}
	l := listen(b)
	go func() { _ = bare.Serve(l) }()
	defer bare.Close()
	b.Run("bare", func(b *testing.B) { benchmarkPosts(b, "http://"+l.Addr().String(), body) })
}

func benchmarkPosts(b *testing.B, url, body string) {
	tr := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	defer tr.CloseIdleConnections()
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, err := http.NewRequest("POST", url, bytes.NewReader([]byte(body)))
			if err != nil {
				b.Error(err)
				return
			}
			req.Header["X-Api-Key"] = []string{Key("high")}
			req.Header["Anthropic-Version"] = []string{versionOld}
			res, err := tr.RoundTrip(req)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode != 200 {
				b.Errorf("status %d", res.StatusCode)
			}
		}
	})
}

// discard is a ResponseWriter that keeps nothing.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkHandler is the emulator's own part of a call, without net/http.
func BenchmarkHandler(b *testing.B) {
	s, err := New(Options{Scenario: unlimited()})
	if err != nil {
		b.Fatal(err)
	}
	body := strings.Replace(hello, "Hello", strings.Repeat("some words of a prompt ", 40), 1)
	r, err := http.NewRequest("POST", "/v1/messages", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("X-Api-Key", Key("high"))
	r.Header.Set("Anthropic-Version", versionOld)
	rd := strings.NewReader(body)
	r.Body, r.ContentLength = io.NopCloser(rd), int64(len(body))
	w := &discard{h: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		rd.Reset(body)
		clear(w.h)
		s.ServeHTTP(w, r)
	}
}
