package emulator

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// serve starts a server on a free port; its world answers at once unless sc
// says otherwise.
func serve(t testing.TB, o Options) (*Server, string) {
	t.Helper()
	if o.Scenario.Orgs == nil {
		o.Scenario, _ = Named("unlimited")
	}
	if o.Start.IsZero() {
		o.Start = epoch
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	url, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, url
}

// ask is one request of a test: headers are as a client of org "high" sends
// them unless given; "-" leaves one out.
type ask struct {
	method, path, body string
	header             map[string]string
}

func (a ask) do(t testing.TB, url string) (*http.Response, []byte) {
	t.Helper()
	res, err := a.send(t, url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, body
}

func (a ask) send(t testing.TB, url string) (*http.Response, error) {
	t.Helper()
	if a.method == "" {
		a.method = http.MethodPost
	}
	if a.path == "" {
		a.path = "/v1/messages"
	}
	req, err := http.NewRequest(a.method, url+a.path, strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", Key("high"))
	req.Header.Set("Anthropic-Version", versionOld)
	req.Header.Set("Content-Type", "application/json")
	for k, v := range a.header {
		if v == "-" {
			req.Header.Del(k)
		} else {
			req.Header.Set(k, v)
		}
	}
	return http.DefaultTransport.RoundTrip(req)
}

const hello = `{"model":"claude-sonnet-4-6","max_tokens":100,"messages":[{"role":"user","content":"Hello, which of the two is larger?"}]}`

func with(body, fields string) string { return `{` + fields + `,` + body[1:] }

func TestMessage(t *testing.T) {
	_, url := serve(t, Options{Seed: 7})
	res, body := ask{body: hello}.do(t, url)
	if res.StatusCode != 200 {
		t.Fatalf("status %d: %s", res.StatusCode, body)
	}
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	usage := m["usage"].(map[string]any)
	text := m["content"].([]any)[0].(map[string]any)["text"].(string)
	if n := float64(len(strings.Fields(text))); n != usage["output_tokens"] {
		t.Errorf("%v words for %v output tokens", n, usage["output_tokens"])
	}
	m["content"], usage["input_tokens"], usage["output_tokens"], m["id"] = nil, nil, nil, "msg_01"
	want := map[string]any{
		"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "content": nil,
		"stop_reason": "end_turn", "stop_sequence": nil, "stop_details": nil, "container": nil, "diagnostics": nil,
		"usage": map[string]any{
			"input_tokens": nil, "cache_creation_input_tokens": 0.0, "cache_read_input_tokens": 0.0,
			"cache_creation": map[string]any{"ephemeral_5m_input_tokens": 0.0, "ephemeral_1h_input_tokens": 0.0},
			"output_tokens":  nil, "output_tokens_details": nil, "server_tool_use": nil,
			"service_tier": "standard", "inference_geo": "global", "speed": nil,
		},
	}
	if d := cmp.Diff(want, m); d != "" {
		t.Error(d)
	}
}

func TestAliasComesBackAsTheDatedID(t *testing.T) {
	_, url := serve(t, Options{})
	_, body := ask{body: strings.Replace(hello, "claude-sonnet-4-6", "claude-haiku-4-5", 1)}.do(t, url)
	if !bytes.Contains(body, []byte(`"model":"claude-haiku-4-5-20251001"`)) || !bytes.Contains(body, []byte(`"inference_geo":"not_available"`)) {
		t.Errorf("%s", body)
	}
}

// The headers of claude-api.md 1.4 and 3.3, and the emulator's own.
func TestHeaders(t *testing.T) {
	sc, _ := Named("tier-start")
	sc.Latency, sc.Families = Latency{}, nil
	_, url := serve(t, Options{Scenario: sc, Seed: 3, Speed: 1})
	res, _ := ask{body: hello}.do(t, url)
	h := res.Header
	for name, want := range map[string]string{
		"Flotilla-Emulated":         "tier-start/3",
		"Flotilla-Speed":            "1",
		"Anthropic-Organization-Id": OrgID("high"),
		"Content-Type":              "application/json",
		"Server":                    "cloudflare",

		"Anthropic-Ratelimit-Requests-Limit":          "1000",
		"Anthropic-Ratelimit-Requests-Remaining":      "999",
		"Anthropic-Ratelimit-Input-Tokens-Limit":      "2000000",
		"Anthropic-Ratelimit-Input-Tokens-Remaining":  "2000000", // rounded to thousands
		"Anthropic-Ratelimit-Output-Tokens-Limit":     "400000",
		"Anthropic-Ratelimit-Output-Tokens-Remaining": "400000",
		"Anthropic-Ratelimit-Tokens-Limit":            "2400000",
		"Anthropic-Ratelimit-Tokens-Remaining":        "2400000",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	if !strings.HasPrefix(h.Get("Request-Id"), "req_") || !strings.HasPrefix(h.Get("Anthropic-Workspace-Id"), "wrkspc_") {
		t.Errorf("ids %q, %q", h.Get("Request-Id"), h.Get("Anthropic-Workspace-Id"))
	}
	sent, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"Requests", "Input-Tokens", "Output-Tokens", "Tokens"} {
		reset, err := time.Parse("2006-01-02T15:04:05Z", h.Get("Anthropic-Ratelimit-"+d+"-Reset"))
		if err != nil {
			t.Errorf("%s reset: %v", d, err)
		}
		if off := reset.Sub(sent); off < -time.Second || off > time.Second {
			t.Errorf("%s reset is %v from Date though the bucket is full", d, off)
		}
	}
}

func TestErrors(t *testing.T) {
	_, url := serve(t, Options{})
	model := func(id string) string { return strings.Replace(hello, "claude-sonnet-4-6", id, 1) }
	newer := map[string]string{"Anthropic-Version": versionNew}
	assistant := `{"model":"claude-haiku-4-5","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"document","source":{}}]}]}`
	for _, c := range []struct {
		name    string
		ask     ask
		status  int
		kind    string
		message string // its stable part
	}{
		{"no key", ask{body: hello, header: map[string]string{"X-Api-Key": "-"}}, 401, "authentication_error", "x-api-key header is required"},
		{"foreign key", ask{body: hello, header: map[string]string{"X-Api-Key": "sk-ant-emulated-nobody"}}, 401, "authentication_error", "API key is invalid."},
		{"admin key", ask{body: hello, header: map[string]string{"X-Api-Key": AdminKey("high")}}, 401, "authentication_error", "API key is invalid."},
		{"no version", ask{body: hello, header: map[string]string{"Anthropic-Version": "-"}}, 400, "invalid_request_error", "anthropic-version: header is required"},
		{"unknown version", ask{body: hello, header: map[string]string{"Anthropic-Version": "2024-01-01"}}, 400, "invalid_request_error", "anthropic-version"},
		{"foreign workspace", ask{body: hello, header: map[string]string{"Anthropic-Workspace-Id": "wrkspc_x"}}, 403, "permission_error", "workspace"},
		{"unknown path", ask{path: "/v1/complete", body: hello}, 404, "not_found_error", "/v1/complete"},
		{"no path", ask{path: "/v1/messages/none", body: hello}, 404, "not_found_error", "/v1/messages/none"},
		{"no method", ask{method: "PUT", path: "/v1/messages/batches", body: hello}, 405, "invalid_request_error", "Method Not Allowed"},
		{"wrong method", ask{method: "GET"}, 405, "invalid_request_error", "Method Not Allowed"},
		{"wrong method of another", ask{path: "/v1/models"}, 405, "invalid_request_error", "Method Not Allowed"},
		{"unknown model", ask{body: model("claude-best")}, 404, "not_found_error", "model: claude-best"},
		{"retired model", ask{body: model("claude-3-opus-20240229")}, 404, "not_found_error", "model: claude-3-opus-20240229"},
		{"retired today", ask{body: model("claude-sonnet-4-5")}, 404, "not_found_error", "model: claude-sonnet-4-5"},
		{"limited model", ask{body: model("claude-mythos-5")}, 403, "permission_error", "claude-mythos-5"},
		{"broken JSON", ask{body: `{"model":`}, 400, "invalid_request_error", "The request body is not valid JSON: "},
		{"no object", ask{body: `[]`}, 400, "invalid_request_error", "The request body is not valid JSON: "},
		{"no model", ask{body: `{"max_tokens":1,"messages":[]}`}, 400, "invalid_request_error", "model: Field required"},
		{"no max_tokens", ask{body: `{"model":"claude-haiku-4-5","messages":[]}`}, 400, "invalid_request_error", "max_tokens: Field required"},
		{"no messages", ask{body: `{"model":"claude-haiku-4-5","max_tokens":1}`}, 400, "invalid_request_error", "messages: Field required"},
		{"empty messages", ask{body: `{"model":"claude-haiku-4-5","max_tokens":1,"messages":[]}`}, 400, "invalid_request_error", "at least one message"},
		{"no role", ask{body: `{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"content":"a"}]}`}, 400, "invalid_request_error", "messages.0.role: Field required"},
		{"no content", ask{body: `{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"user"}]}`}, 400, "invalid_request_error", "messages.0.content: Field required"},
		{"empty content", ask{body: `{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"user","content":""}]}`}, 400, "invalid_request_error", "non-empty content"},
		{"bad role", ask{body: `{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"bot","content":"a"}]}`}, 400, "invalid_request_error", "messages.0.role"},
		{"unknown field", ask{body: with(hello, `"temprature":1`)}, 400, "invalid_request_error", "temprature: Extra inputs are not permitted"},
		{"max_tokens above cap", ask{body: strings.Replace(model("claude-haiku-4-5"), "100", "64001", 1)}, 400, "invalid_request_error", "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5"},
		{"max_tokens negative", ask{body: strings.Replace(hello, "100", "-1", 1)}, 400, "invalid_request_error", "max_tokens: Input should be"},
		{"max_tokens no number", ask{body: strings.Replace(hello, "100", `"many"`, 1)}, 400, "invalid_request_error", "max_tokens: Input should be a valid integer"},
		{"temperature above 1", ask{body: with(hello, `"temperature":1.5`)}, 400, "invalid_request_error", "temperature: Input should be less"},
		{"temperature on 4.8", ask{body: with(model("claude-opus-4-8"), `"temperature":0`)}, 400, "invalid_request_error", "temperature"},
		{"top_k on 4.8", ask{body: with(model("claude-opus-4-8"), `"top_k":5`)}, 400, "invalid_request_error", "top_k"},
		{"prefill on 4.6", ask{body: `{"model":"claude-sonnet-4-6","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`}, 400, "invalid_request_error", "prefill"},
		{"thinking enabled on 4.7", ask{body: with(strings.Replace(model("claude-opus-4-7"), "100", "2000", 1), `"thinking":{"type":"enabled","budget_tokens":1024}`)}, 400, "invalid_request_error", "thinking.type"},
		{"thinking without budget", ask{body: with(hello, `"thinking":{"type":"enabled"}`)}, 400, "invalid_request_error", "budget_tokens: Field required"},
		{"forced tool on 5.5", ask{body: with(model("claude-sonnet-5-5"), `"tool_choice":{"type":"any"}`)}, 400, "invalid_request_error", "tool_choice"},
		{"geo before 4.6", ask{body: with(model("claude-haiku-4-5"), `"inference_geo":"us"`)}, 400, "invalid_request_error", "inference_geo"},
		{"fast on 4.7", ask{body: with(model("claude-opus-4-7"), `"speed":"fast"`)}, 400, "invalid_request_error", "speed"},
		{"temperature under the new version", ask{body: with(model("claude-haiku-4-5"), `"temperature":1`), header: newer}, 400, "invalid_request_error", "temperature"},
		{"assistant document under the new version", ask{body: assistant, header: newer}, 400, "invalid_request_error", "document"},
		{"citations under the new version", ask{body: `{"model":"claude-haiku-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a","citations":[{}]}]}]}`, header: newer}, 400, "invalid_request_error", "citations"},
		{"bad gzip", ask{body: hello, header: map[string]string{"Content-Encoding": "gzip"}}, 400, "invalid_request_error", "decoded"},
		{"unknown encoding", ask{body: hello, header: map[string]string{"Content-Encoding": "br"}}, 400, "invalid_request_error", "br"},
		{"prompt over the window", ask{body: strings.Replace(model("claude-haiku-4-5"), "Hello", strings.Repeat("0123", 200_000), 1)}, 400, "invalid_request_error", "prompt is too long: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, body := c.ask.do(t, url)
			var got errorBody
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			if res.StatusCode != c.status || got.Type != "error" || got.Error.Type != c.kind || !strings.Contains(got.Error.Message, c.message) {
				t.Errorf("%d %s", res.StatusCode, body)
			}
			if id := res.Header.Get("Request-Id"); id == "" || got.RequestID != id {
				t.Errorf("request_id %q, header %q", got.RequestID, id)
			}
		})
	}
}

// What the new version and newer models refuse, the others take.
func TestAccepted(t *testing.T) {
	_, url := serve(t, Options{})
	for name, body := range map[string]string{
		"temperature on 4.6":         with(hello, `"temperature":0`),
		"default temperature on 4.8": with(strings.Replace(hello, "sonnet-4-6", "opus-4-8", 1), `"temperature":1.0,"top_p":0.99`),
		"fast on 4.6":                with(strings.Replace(hello, "sonnet-4-6", "opus-4-6", 1), `"speed":"fast"`),
		"geo":                        with(hello, `"inference_geo":"us"`),
		"adaptive thinking":          with(hello, `"thinking":{"type":"adaptive"}`),
		"prefill on 4.5":             `{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`,
	} {
		if res, b := (ask{body: body}).do(t, url); res.StatusCode != 200 {
			t.Errorf("%s: %d %s", name, res.StatusCode, b)
		}
	}
	if res, b := (ask{body: with(hello, `"new_thing":1`), header: map[string]string{"Anthropic-Beta": "new-thing-2026"}}).do(t, url); res.StatusCode != 200 {
		t.Errorf("a beta's field: %s", b)
	}
	if res, b := (ask{body: hello, header: map[string]string{"X-Api-Key": "-", "Authorization": "Bearer " + Key("high") + "-2"}}).do(t, url); res.StatusCode != 200 || res.Header.Get("Anthropic-Organization-Id") != OrgID("high") {
		t.Errorf("second key as a bearer: %s", b)
	}
}

// A body over the limit is refused in front of the API, in another shape.
func TestTooLarge(t *testing.T) {
	_, url := serve(t, Options{})
	res, body := ask{body: strings.Repeat(" ", maxBody+1)}.do(t, url)
	if res.StatusCode != 413 || string(body) != `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}` {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if res.Header.Get("Request-Id") != "" {
		t.Errorf("it has a request id")
	}
}

func TestPreWarm(t *testing.T) {
	_, url := serve(t, Options{})
	_, body := ask{body: strings.Replace(hello, "100", "0", 1)}.do(t, url)
	for _, want := range []string{`"content":[]`, `"stop_reason":"max_tokens"`, `"output_tokens":0`} {
		if !bytes.Contains(body, []byte(want)) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
