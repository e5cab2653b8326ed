package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Only what is named goes to the provider, by the path alone: no other form of
// a path, no other host.
func TestRoutes(t *testing.T) {
	inRig(t, func(w http.ResponseWriter, h hit) {
		if h.path == "/v1/messages" {
			good(w, h)
			return
		}
		_, _ = fmt.Fprintf(w, `{"path":%q,"query":%q}`, h.path, h.query)
	}, func(r *rig) {
		body := askFor("a", "")
		for _, c := range []struct {
			method, path string
			status       int
			kind         string // of the error; empty: it goes through
		}{
			{"POST", "/v1/messages", 200, ""},
			{"POST", "/v1/messages?beta=true", 200, ""},
			{"POST", "/v1/messages/count_tokens?beta=true", 200, ""},
			{"GET", "/v1/models?limit=1000", 200, ""},
			{"GET", "/v1/models/claude-haiku-4-5", 200, ""},
			{"GET", "/v1/messages", 405, kindInvalid},
			{"DELETE", "/v1/messages/count_tokens", 405, kindInvalid},
			{"POST", "/v1/models", 405, kindInvalid},
			{"OPTIONS", "/v1/messages", 405, kindInvalid},
			{"POST", "/v1/messages/", 404, kindNotFound},
			{"POST", "//v1/messages", 404, kindNotFound},
			{"POST", "/v1//messages", 404, kindNotFound},
			{"POST", "/v1/x/../messages", 404, kindNotFound},
			{"POST", "/v1%2Fmessages", 404, kindNotFound},
			{"POST", "/v1/messages%2Fcount_tokens", 404, kindNotFound},
			{"POST", "/V1/messages", 404, kindNotFound},
			{"GET", "/v1/models/..", 404, kindNotFound},
			{"GET", "/v1/models/%2e%2e%2forganizations", 404, kindNotFound},
			{"GET", "/v1/models/a/b", 404, kindNotFound},
			{"GET", "/v1/models/", 404, kindNotFound},
			{"GET", "/v1/models/a%0d%0ax", 404, kindNotFound},
			{"GET", "/v1/files", 404, kindNotFound},
			{"POST", "/v1/files/file_1/content", 404, kindNotFound},
			{"GET", "/v1/organizations/me", 404, kindNotFound},
			{"GET", "/", 404, kindNotFound},
			{"GET", "/v1/" + strings.Repeat("x", 5000), 404, kindNotFound},
		} {
			before := len(r.up.seen())
			p := r.do(r.request(context.Background(), c.method, c.path, body))
			hits := r.up.seen()[before:]
			if p.status != c.status || c.kind != "" && (!p.shaped(c.kind) || len(p.body) > 600) {
				t.Errorf("%s %.60s: %+v", c.method, c.path, p)
			}
			if through := len(hits) > 0; through != (c.kind == "") {
				t.Errorf("%s %.60s: %d hits", c.method, c.path, len(hits))
			}
			if len(hits) > 0 && hits[0].path+"?"+hits[0].query != c.path && hits[0].path != c.path {
				t.Errorf("%s became %s?%s", c.path, hits[0].path, hits[0].query)
			}
		}
		p := r.do(r.request(context.Background(), http.MethodHead, "/", ""))
		if p.status != 404 || p.body != "" {
			t.Errorf("HEAD /: %+v", p)
		}
		files := r.do(r.request(context.Background(), http.MethodGet, "/v1/files", ""))
		if !strings.Contains(files.body, "Files API") {
			t.Errorf("%+v", files)
		}
	})
}

// The free endpoints pass bytes, headers and errors as Messages does, and take
// no money and no lane.
func TestFreeRequests(t *testing.T) {
	inRig(t, func(w http.ResponseWriter, h hit) {
		if h.org == "high" {
			refuses(401, "authentication_error", "API key is invalid.")(w, h)
			return
		}
		w.Header().Set("Request-Id", "req_7")
		_, _ = io.WriteString(w, `{"input_tokens": 14}`)
	}, func(r *rig) {
		body := ` {"model":"claude-haiku-4-5","messages":[{"role":"user","content":"a"}]} `
		p := r.do(r.request(context.Background(), http.MethodPost, "/v1/messages/count_tokens", body, "Anthropic-Beta", "x"))
		if p.status != 200 || p.body != `{"input_tokens": 14}` || p.header.Get("Request-Id") != "req_7" || p.header.Get(headerOrg) != "low" {
			t.Errorf("%+v", p)
		}
		h := r.up.seen()
		if last := h[len(h)-1]; string(last.body) != body || last.header.Get("Anthropic-Beta") != "x" {
			t.Errorf("%+v", last)
		}
	})
}

// What is wrong with a body is said in the API's words, and nothing is sent.
func TestBadBodies(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(askFor("zipped", "")))
	_ = z.Close()
	inRig(t, good, func(r *rig) {
		for name, c := range map[string]struct {
			body, encoding string
			status         int
			kind, says     string
		}{
			"invalid JSON":  {`{"model":`, "", 400, kindInvalid, "The request body is not valid JSON: "},
			"empty":         {"", "", 400, kindInvalid, "The request body is not valid JSON: "},
			"no object":     {"[]", "", 400, kindInvalid, "object"},
			"no model":      {`{"max_tokens":1,"messages":[]}`, "", 400, kindInvalid, "model: Field required"},
			"no max_tokens": {`{"model":"claude-haiku-4-5","messages":[]}`, "", 400, kindInvalid, "max_tokens: Field required"},
			"no messages":   {`{"model":"claude-haiku-4-5","max_tokens":1}`, "", 400, kindInvalid, "messages: Field required"},
			"wrong type":    {`{"model":"claude-haiku-4-5","max_tokens":"1","messages":[]}`, "", 400, kindInvalid, "max_tokens: "},
			"unknown model": {`{"model":"claude-9","max_tokens":1,"messages":[]}`, "", 404, kindNotFound, "model: claude-9"},
			"not gzip":      {askFor("a", ""), "gzip", 400, kindInvalid, "gzip"},
			"brotli":        {askFor("a", ""), "br", 400, kindInvalid, "content-encoding"},
		} {
			header := []string{}
			if c.encoding != "" {
				header = []string{"Content-Encoding", c.encoding}
			}
			p := r.post(c.body, header...)
			if p.status != c.status || !p.shaped(c.kind) || !strings.Contains(p.body, c.says) {
				t.Errorf("%s: %+v", name, p)
			}
		}
		if n := len(r.up.seen()); n != 0 {
			t.Errorf("%d calls were sent", n)
		}
		if p := r.post(zipped.String(), "Content-Encoding", "gzip"); p.status != 200 {
			t.Errorf("gzip: %+v", p)
		}
		if got := r.up.seen()[0]; string(got.body) != askFor("zipped", "") || got.header.Get("Content-Encoding") != "" {
			t.Errorf("upstream saw %q as %s", got.body, got.header.Get("Content-Encoding"))
		}
	})
}

// One byte over 32 MB is refused, with and without a length, and bombs too.
func TestLongBodies(t *testing.T) {
	fits := askFor(strings.Repeat("a", maxBody-len(askFor("", ""))), "")
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write([]byte(fits + " "))
	_ = z.Close()
	inRig(t, good, func(r *rig) {
		if p := r.post(fits); p.status != 200 || len(r.up.seen()[0].body) != maxBody {
			t.Errorf("at the limit: %+v", p)
		}
		chunked := r.request(context.Background(), http.MethodPost, "/v1/messages", "")
		chunked.Body, chunked.ContentLength = io.NopCloser(strings.NewReader(fits+" ")), -1
		for name, p := range map[string]reply{
			"with a length": r.post(fits + " "),
			"without":       r.do(chunked),
			"a bomb":        r.post(bomb.String(), "Content-Encoding", "gzip"),
		} {
			if p.status != 413 || !p.shaped(kindTooLarge) || !strings.Contains(p.body, "Request exceeds the maximum size") {
				t.Errorf("%s: %d %s %v", name, p.status, p.body, p.err)
			}
		}
		if n := len(r.up.seen()); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

// The probes are open to anybody and tell nothing of the orgs.
func TestProbes(t *testing.T) {
	inRig(t, good, func(r *rig) {
		get := func(path string) reply { return r.do(r.request(context.Background(), http.MethodGet, path, "")) }
		if p := get("/healthz"); p.status != 200 || p.body != "{\"status\":\"ok\"}\n" {
			t.Errorf("%+v", p)
		}
		if p := r.post(askFor("a", "")); p.status != 200 {
			t.Fatal(p)
		}
		if p := get("/readyz"); p.status != 200 || p.body != "{\"ready\":true,\"reasons\":[]}\n" {
			t.Errorf("%+v", p)
		}
		r.gateway.Drain()
		var ready struct {
			Ready   bool
			Reasons []string
		}
		p := get("/readyz")
		if err := json.Unmarshal([]byte(p.body), &ready); err != nil || p.status != 503 || ready.Ready {
			t.Errorf("%+v", p)
		}
		if d := cmp.Diff([]string{"stopping"}, ready.Reasons); d != "" {
			t.Error(d)
		}
		if p := get("/healthz"); p.status != 200 {
			t.Errorf("%+v", p)
		}
		if p := r.do(r.request(context.Background(), http.MethodPost, "/readyz", "")); p.status != 405 {
			t.Errorf("%+v", p)
		}
	})
}
