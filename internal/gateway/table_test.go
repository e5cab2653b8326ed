package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Every row of facts/gateways.md, "What they do under failure", with the best of
// what was measured there as the bound, or better.
func TestGatewayTable(t *testing.T) {
	limited := refuses(429, kindRateLimit, "This request would exceed your rate limit.", "Retry-After", "60")

	t.Run("both keys 429", func(t *testing.T) {
		inRig(t, func(w http.ResponseWriter, h hit) { limited(w, h) }, func(r *rig) {
			p := r.post(askFor("a", ""), "x-flotilla-max-wait", "30s")
			if p.status != 429 || !p.shaped(kindRateLimit) {
				t.Errorf("%+v", p)
			}
			var after int
			_, _ = fmt.Sscan(p.header.Get("Retry-After"), &after)
			if after < 1 || after > 75 {
				t.Errorf("retry-after %q after a 429 that said 60", p.header.Get("Retry-After"))
			}
			if n := len(r.up.seen()); n > 2 {
				t.Errorf("%d upstream calls for one request to two keys", n)
			}
			before := len(r.up.seen())
			if p = r.post(askFor("b", ""), "x-flotilla-max-wait", "10s"); p.status != 429 {
				t.Errorf("%+v", p)
			}
			if n := len(r.up.seen()) - before; n != 0 {
				t.Errorf("%d upstream calls while both keys are closed", n)
			}
		})
	})

	t.Run("both keys 429 for a while", func(t *testing.T) {
		began := time.Time{}
		inRig(t, func(w http.ResponseWriter, h hit) {
			if began.IsZero() {
				began = time.Now()
			}
			if time.Since(began) < 20*time.Second {
				refuses(429, kindRateLimit, "rate limit", "Retry-After", "20")(w, h)
				return
			}
			good(w, h)
		}, func(r *rig) {
			if p := r.post(askFor("a", "")); p.status != 200 || p.body != goodMessage {
				t.Errorf("%+v", p)
			}
			if n := len(r.up.seen()); n > 4 {
				t.Errorf("%d upstream calls", n)
			}
		})
	})

	t.Run("one key 429 one good 12 requests", func(t *testing.T) {
		inRig(t, func(w http.ResponseWriter, h hit) {
			if h.org == "high" {
				limited(w, h)
				return
			}
			good(w, h)
		}, func(r *rig) {
			for i := range 12 {
				if p := r.post(askFor(fmt.Sprint(i), "")); p.status != 200 || p.header.Get(headerOrg) != "low" {
					t.Errorf("request %d: %+v", i, p)
				}
			}
			if n := len(r.up.seen()) - 12; n > 1 {
				t.Errorf("%d calls wasted", n)
			}
		})
	})

	t.Run("both 529", func(t *testing.T) {
		inRig(t, refuses(529, kindOverloaded, "Overloaded"), func(r *rig) {
			began := time.Now()
			p := r.post(askFor("a", ""), "x-flotilla-max-wait", "1m")
			if p.status != 529 || !p.shaped(kindOverloaded) || p.header.Get("Retry-After") == "" {
				t.Errorf("%+v", p)
			}
			if took := time.Since(began); took > 70*time.Second {
				t.Errorf("took %s", took)
			}
			// The brake of each org lets about one probe in three seconds through
			// once it has closed (facts/control.md B.6): never a busy loop.
			if n := len(r.up.seen()); n < 2 || n > 60 {
				t.Errorf("%d upstream calls in a minute to two orgs", n)
			}
		})
	})

	t.Run("both 529 for a while", func(t *testing.T) {
		inRig(t, func(w http.ResponseWriter, h hit) {
			if h.nth <= 3 {
				refuses(529, kindOverloaded, "Overloaded")(w, h)
				return
			}
			good(w, h)
		}, func(r *rig) {
			p := r.post(askFor("a", ""))
			if p.status != 200 || p.body != goodMessage || p.header.Get(headerAttempts) != "4" {
				t.Errorf("%+v", p)
			}
		})
	})

	t.Run("400 from upstream", func(t *testing.T) {
		said := envelope(kindInvalid, "messages: roles must alternate, \u00e9 <&>", "req_upstream")
		inRig(t, func(w http.ResponseWriter, h hit) {
			if strings.Contains(string(h.body), "wrong") {
				w.Header().Set("Request-Id", "req_upstream")
				w.WriteHeader(400)
				_, _ = w.Write(said)
				return
			}
			good(w, h)
		}, func(r *rig) {
			for i := range 3 {
				p := r.post(askFor(fmt.Sprint("wrong", i), ""))
				if p.status != 400 || p.body != string(said) || p.header.Get("Request-Id") != "req_upstream" {
					t.Errorf("%+v", p)
				}
			}
			if n := len(r.up.seen()); n != 3 {
				t.Errorf("%d upstream calls for three bad requests", n)
			}
			if p := r.post(askFor("right", "")); p.status != 200 || len(r.up.seen()) != 4 {
				t.Errorf("then: %+v, %d calls", p, len(r.up.seen()))
			}
		})
	})

	t.Run("retry-after reaches the client", func(t *testing.T) {
		inRig(t, refuses(429, kindRateLimit, "rate limit", "Retry-After", "300"), func(r *rig) {
			p := r.post(askFor("a", ""), "x-flotilla-max-wait", "5s")
			var after int
			_, _ = fmt.Sscan(p.header.Get("Retry-After"), &after)
			if p.status != 429 || after < 290 || after > 375 {
				t.Errorf("%+v", p)
			}
		})
	})

	t.Run("limit headers and request-id on success", func(t *testing.T) {
		inRig(t, func(w http.ResponseWriter, h hit) {
			for name, v := range map[string]string{
				"Request-Id": "req_9", "Anthropic-Ratelimit-Requests-Limit": "4000", "Anthropic-Ratelimit-Requests-Remaining": "3999",
				"Anthropic-Ratelimit-Requests-Reset": "2000-01-01T00:00:01Z", "Cf-Ray": "1-FRA", "X-Of-Tomorrow": "yes",
			} {
				w.Header().Set(name, v)
			}
			good(w, h)
		}, func(r *rig) {
			p := r.post(askFor("a", ""))
			want := map[string]string{
				"Request-Id": "req_9", "Anthropic-Ratelimit-Requests-Limit": "4000", "Anthropic-Ratelimit-Requests-Remaining": "3999",
				"Anthropic-Ratelimit-Requests-Reset": "2000-01-01T00:00:01Z", "Cf-Ray": "1-FRA", "X-Of-Tomorrow": "yes",
				"Anthropic-Organization-Id": "00000000-0000-4000-8000-" + p.header.Get(headerOrg),
				"Content-Type":              "application/json", "Content-Length": fmt.Sprint(len(goodMessage)),
				headerAttempts: "1", headerQueue: "0",
			}
			for name, v := range want {
				if p.header.Get(name) != v {
					t.Errorf("%s: %q, want %q", name, p.header.Get(name), v)
				}
			}
		})
	})

	t.Run("error body shape", func(t *testing.T) {
		bodies := map[int]string{
			400: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"},"request_id":"req_1"}`,
			404: `{"type":"error","error":{"type":"not_found_error","message":"model: claude-haiku-4-5"}}` + "\n",
			413: `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`,
		}
		for status, body := range bodies {
			inRig(t, func(w http.ResponseWriter, _ hit) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			}, func(r *rig) {
				if p := r.post(askFor("a", "")); p.status != status || p.body != body {
					t.Errorf("%d: %+v", status, p)
				}
			})
		}
	})

	t.Run("event error inside the stream", func(t *testing.T) {
		text := goodStream[:strings.Index(goodStream, "event: content_block_stop")] +
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"details\":null,\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
		inRig(t, streams(text, true), func(r *rig) {
			p := r.post(askFor("a", `"stream":true,`))
			if p.status != 200 || p.body != text || p.err != nil {
				t.Errorf("%+v", p)
			}
			if n := len(r.up.seen()); n != 1 {
				t.Errorf("%d calls", n)
			}
		})
	})

	t.Run("upstream cut mid-stream", func(t *testing.T) {
		whole := goodStream[:strings.Index(goodStream, "event: content_block_stop")]
		for name, c := range map[string]struct {
			text string
			ends bool
		}{"reset": {whole, false}, "clean end without message_stop": {whole, true}, "reset inside an event": {whole + "event: conte", false}} {
			inRig(t, streams(c.text, c.ends), func(r *rig) {
				p := r.post(askFor("a", `"stream":true,`))
				rest, ok := strings.CutPrefix(p.body, whole)
				if c.ends && !ok {
					t.Errorf("%s: %+v", name, p)
				}
				if !strings.HasPrefix(rest, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\"") || p.err != nil || p.status != 200 {
					t.Errorf("%s: %+v", name, p)
				}
				if n := len(r.up.seen()); n != 1 {
					t.Errorf("%s: %d calls: an answer that began is never asked for again", name, n)
				}
			})
		}
	})

	t.Run("client disconnect cancels upstream", func(t *testing.T) {
		for name, c := range map[string]struct{ field, text string }{"whole": {"", ""}, "stream": {`"stream":true,`, goodStream[:200]}} {
			canceled := make(chan string, 1)
			inRig(t, func(w http.ResponseWriter, h hit) {
				if c.text != "" {
					streams(c.text, true)(w, h)
				}
				select {
				case <-h.ended:
					canceled <- "canceled"
				case <-time.After(time.Minute):
					canceled <- "goes on"
				}
			}, func(r *rig) {
				ctx, leave := context.WithCancel(context.Background())
				time.AfterFunc(3*time.Second, leave)
				began := time.Now()
				p := r.do(r.request(ctx, http.MethodPost, "/v1/messages", askFor("a", c.field)))
				if p.err == nil {
					t.Errorf("%s: %+v", name, p)
				}
				if got := <-canceled; got != "canceled" || time.Since(began) > 5*time.Second {
					t.Errorf("%s: the exchange %s after %s", name, got, time.Since(began))
				}
			})
		}
	})

	t.Run("8 client aborts then a normal call", func(t *testing.T) {
		inRig(t, func(w http.ResponseWriter, h hit) {
			if h.nth <= 8 {
				<-h.ended
				return
			}
			good(w, h)
		}, func(r *rig) {
			for i := range 8 {
				ctx, leave := context.WithTimeout(context.Background(), time.Second)
				_ = r.do(r.request(ctx, http.MethodPost, "/v1/messages", askFor(fmt.Sprint(i), "")))
				leave()
			}
			synctest.Wait()
			began := time.Now()
			p := r.post(askFor("normal", ""))
			if p.status != 200 || p.header.Get(headerAttempts) != "1" || time.Since(began) > time.Second {
				t.Errorf("%+v after %s", p, time.Since(began))
			}
		})
	})

	t.Run("SSE bytes", func(t *testing.T) {
		for _, agent := range []string{"curl/8", "claude-cli/2.0 (external, cli)"} {
			inRig(t, streams(goodStream, true), func(r *rig) {
				p := r.post(askFor("a", `"stream":true,`), "user-agent", agent)
				if d := cmp.Diff(goodStream, p.body); d != "" || p.err != nil {
					t.Errorf("%s: %v (-want +got):\n%s", agent, p.err, d)
				}
				if got := p.header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
					t.Error(got)
				}
			})
		}
	})

	t.Run("request body", func(t *testing.T) {
		body := "{ \"of_tomorrow\": {\"z\":1.50,\"a\":[ ]},\r\n\t\"max_tokens\":2e1, \"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"low\"}," +
			`"context_management":{"edits":[]},"metadata":{"user_id":"\u00e9\/"},"system":[{"type":"text","text":"one"},{"text":"two","type":"text","cache_control":{"type":"ephemeral"}}],` +
			`"messages":[{"role":"user","content":"\ud83d\ude00 <&>"}],"model":"claude-haiku-4-5","stream": false }` + "\n "
		inRig(t, good, func(r *rig) {
			if p := r.post(body); p.status != 200 {
				t.Fatalf("%+v", p)
			}
			if got := string(r.up.seen()[0].body); got != body {
				t.Errorf("%s\nbecame\n%s", body, got)
			}
		})
	})

	t.Run("client headers upstream", func(t *testing.T) {
		inRig(t, good, func(r *rig) {
			req := r.request(context.Background(), http.MethodPost, "/v1/messages?beta=true&x=%2F", askFor("a", ""),
				"X-Claude-Code-Session-Id", "s-1", "User-Agent", "claude-cli/2.0", "Anthropic-Beta", "b-1,b-2", "Anthropic-Workspace-Id", "wrkspc_1",
				"Authorization", "Bearer flk_secret", "Cookie", "c=1", "X-Flotilla-Priority", "bulk", "X-Forwarded-For", "10.1.1.1")
			if p := r.do(req); p.status != 200 {
				t.Fatalf("%+v", p)
			}
			h := r.up.seen()[0]
			if h.query != "beta=true&x=%2F" || h.path != "/v1/messages" || h.method != http.MethodPost {
				t.Errorf("%s %s?%s", h.method, h.path, h.query)
			}
			for name, want := range map[string]string{
				"X-Claude-Code-Session-Id": "s-1", "User-Agent": "claude-cli/2.0", "Anthropic-Beta": "b-1,b-2", "Anthropic-Version": "2023-06-01",
				"Content-Type": "application/json", "X-Api-Key": "sk-ant-emulated-" + h.org,
				"Anthropic-Workspace-Id": "", "Authorization": "", "Cookie": "", "X-Flotilla-Priority": "", "X-Forwarded-For": "", "Accept-Encoding": "",
			} {
				if got := h.header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	})
}
