package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/memnet"
)

// hit is one request that the upstream saw on /v1/messages.
type hit struct {
	org    string // by its key
	nth    int    // from 1, over all orgs
	method string
	path   string
	query  string
	header http.Header
	body   []byte
	ended  <-chan struct{} // closed when the exchange is cancelled
	at     time.Time
}

// upstream is a provider by hand: the free read by which a fleet connects, and
// for everything else what a test says.
type upstream struct {
	answer func(w http.ResponseWriter, h hit)

	mu   sync.Mutex
	hits []hit
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	org := strings.TrimPrefix(r.Header.Get("X-Api-Key"), "sk-ant-emulated-")
	h := w.Header()
	h.Set("Anthropic-Organization-Id", "00000000-0000-4000-8000-"+org)
	h.Set("Content-Type", "application/json")
	if r.URL.Path == "/v1/models" && r.Header.Get("User-Agent") != "test" { // the fleet's own
		_, _ = io.WriteString(w, `{"data":[],"has_more":false,"first_id":null,"last_id":null}`)
		return
	}
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	got := hit{org, len(u.hits) + 1, r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), body, r.Context().Done(), time.Now()}
	u.hits = append(u.hits, got)
	u.mu.Unlock()
	u.answer(w, got)
}

// seen is what has come so far.
func (u *upstream) seen() []hit {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]hit(nil), u.hits...)
}

// rig is a gateway before an upstream, on a network of pipes and virtual time.
type rig struct {
	t       *testing.T
	up      *upstream
	fleet   *flotilla.Fleet
	gateway *Gateway
	client  *http.Client
	as      Caller // who calls
}

// inRig runs a test in a bubble.
func inRig(t *testing.T, answer func(w http.ResponseWriter, h hit), test func(r *rig)) {
	t.Helper()
	inRigWith(t, answer, func(*flotilla.Config, *Config) {}, test)
}

func inRigWith(t *testing.T, answer func(w http.ResponseWriter, h hit), set func(*flotilla.Config, *Config), test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, up: &upstream{answer: answer}, as: local}
		net := memnet.Listen()
		serve(t, net, r.up)
		r.open(net, set)
		test(r)
	})
}

// serve serves a handler until the test ends.
func serve(t *testing.T, l *memnet.Listener, h http.Handler) {
	s := &http.Server{Handler: h}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-over
	})
}

// open starts fleet and gateway.
func (r *rig) open(net *memnet.Listener, set func(*flotilla.Config, *Config)) {
	t := r.t
	transports := []*http.Transport{}
	fc := flotilla.Config{
		Orgs:    []flotilla.Org{{Name: "high", Key: "sk-ant-emulated-high"}, {Name: "low", Key: "sk-ant-emulated-low"}},
		BaseURL: "http://upstream.test", Ramp: flotilla.RampOff,
		Transport: func(flotilla.Org) http.RoundTripper {
			tr := net.Transport()
			transports = append(transports, tr)
			return tr
		},
	}
	gc := Config{Provider: "http://upstream.test:80"}
	set(&fc, &gc)
	var err error
	if r.fleet, err = flotilla.New(fc); err != nil {
		t.Fatal(err)
	}
	gc.Fleet = r.fleet
	if r.gateway, err = New(context.Background(), gc); err != nil {
		t.Fatal(err)
	}
	front := memnet.Listen()
	transport := front.Transport()
	r.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = r.gateway.Close(context.Background())
		_ = r.fleet.Close()
		for _, tr := range transports {
			tr.CloseIdleConnections()
		}
	})
	serve(t, front, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		v := &visit{caller: r.as}
		r.gateway.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), visitKey{}, v)))
	}))
}

// reply is an answer, read whole.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // of the exchange, or of reading the body
}

func (r *rig) request(ctx context.Context, method, path, body string, header ...string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, "http://gateway.test"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "anything")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "test")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header[http.CanonicalHeaderKey(header[i])] = []string{header[i+1]}
	}
	return req
}

func (r *rig) do(req *http.Request) reply {
	resp, err := r.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(data), err}
}

// post sends a Messages request.
func (r *rig) post(body string, header ...string) reply {
	return r.do(r.request(context.Background(), http.MethodPost, "/v1/messages", body, header...))
}

// ask is a request that nothing is wrong with.
func askFor(what string, more string) string {
	return fmt.Sprintf(`{"model":"claude-haiku-4-5","max_tokens":20,%s"messages":[{"role":"user","content":%q}]}`, more, what)
}

const goodMessage = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001","content":[{"type":"text","text":"Hello."}],` +
	`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":3}}`

// good answers with a Message.
func good(w http.ResponseWriter, _ hit) { _, _ = io.WriteString(w, goodMessage) }

const goodStream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-haiku-4-5-20251001\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}   }\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
	"event: ping\ndata: {\"type\": \"ping\"}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello.\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0  }\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":3}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"    }\n\n"

// streams answers with so many bytes of a stream; ends says that it ends by
// itself, else the connection breaks.
func streams(text string, ends bool) func(http.ResponseWriter, hit) {
	return func(w http.ResponseWriter, _ hit) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		if !ends {
			panic(http.ErrAbortHandler)
		}
	}
}

// refuses answers with an error of the API.
func refuses(status int, kind, message string, header ...string) func(http.ResponseWriter, hit) {
	return func(w http.ResponseWriter, _ hit) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write(envelope(kind, message, "req_upstream"))
	}
}

// shaped says whether a reply is an error of the API's shape and of a type.
func (p reply) shaped(kind string) bool {
	return bytes.HasPrefix([]byte(p.body), []byte(`{"type":"error","error":{"type":"`+kind+`","message":"`)) && p.header.Get("Content-Type") == "application/json"
}
