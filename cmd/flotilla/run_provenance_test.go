package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// unmarked stands before an emulator at an address of its own and takes the mark
// off its answers when told to: the same address, another provider.
func unmarked(t *testing.T, target string) (at string, hide *atomic.Bool) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	hide = new(atomic.Bool)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) },
		ModifyResponse: func(r *http.Response) error {
			if hide.Load() {
				r.Header.Del("flotilla-emulated")
			}
			return nil
		},
	}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	return s.URL, hide
}

// TestProvenance fills the cache by an emulator, then asks the same of a server
// at the same address that does not send the mark: an emulator's answer is never
// taken for a provider's, nor the other way round.
func TestProvenance(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "default", 1)
	w.demoRows(30)
	at, hide := unmarked(t, w.url)
	run := func(out string, requests int) {
		t.Helper()
		args := w.args(w.path("in.jsonl"), "--prompt", "{{.question}}", "--model", "claude-haiku-4-5", "--max-tokens", "50")
		w.run(0, append(args, "--base-url", at, "-o", w.path(out)))
		w.wantStats(map[string]string{"requests": fmt.Sprint(requests)})
		if lines, err := readResults(w.path(out)); err != nil || len(lines) != 30 {
			t.Errorf("%s: %d lines, %v", out, len(lines), err)
		}
	}
	run("marked.jsonl", 30)
	run("again.jsonl", 30)
	hide.Store(true)
	run("unmarked.jsonl", 60)
	if s := w.summary(); s.Emulated != nil || s.Cached != 0 {
		t.Errorf("emulated %v, %d cached", s.Emulated, s.Cached)
	}
	run("unmarked2.jsonl", 60)
	hide.Store(false)
	run("marked2.jsonl", 60)
	if s := w.summary(); s.Emulated == nil || *s.Emulated != "default/1" {
		t.Errorf("emulated %v", s.Emulated)
	}
}
