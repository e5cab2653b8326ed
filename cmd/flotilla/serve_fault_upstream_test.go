//go:build unix

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// heldUpstream is a provider whose answers can be long beyond what any model
// says, or never end. The beginning of a prompt decides: "large", "stream large",
// "stream huge", "hold", "stream hold"; anything else is answered at once.
type heldUpstream struct {
	url      string
	arrived  atomic.Int64 // requests
	finished atomic.Int64 // answers that were written to their end
	holding  atomic.Int64 // requests that are not answered, or not to their end
	left     atomic.Int64 // of those: whose client has gone
}

// Sizes of large answers.
const (
	largeWhole  = 5 << 20
	largeDelta  = 500
	largeStream = 900_000
	hugeStream  = 5 << 20
)

func newHeldUpstream(t testing.TB) *heldUpstream {
	t.Helper()
	u := &heldUpstream{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		heldHeaders(w.Header())
		_, _ = io.WriteString(w, `{"data":[{"type":"model","id":"claude-haiku-4-5","display_name":"Claude Haiku 4.5","created_at":"2025-10-01T00:00:00Z"}],"has_more":false,"first_id":"claude-haiku-4-5","last_id":"claude-haiku-4-5"}`)
	})
	mux.HandleFunc("POST /v1/messages", u.answer)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	u.url = "http://" + l.Addr().String()
	return u
}

// heldSpeed is how fast its clock is said to run, so that lanes open up quickly.
const heldSpeed = 20

func heldHeaders(h http.Header) {
	loadHeaders(h)
	h.Set("Flotilla-Emulated", "held/1")
	h.Set("Flotilla-Speed", strconv.Itoa(heldSpeed))
}

// prompt is a body that says something.
func prompt(says string) string {
	return fmt.Sprintf(`{"model":"claude-haiku-4-5","max_tokens":300,"stream":%t,"messages":[{"role":"user","content":%q}]}`, strings.HasPrefix(says, "stream"), says)
}

func (u *heldUpstream) answer(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	body := string(data)
	u.arrived.Add(1)
	heldHeaders(w.Header())
	says := func(what string) bool { return strings.Contains(body, `"content":"`+what) }
	switch {
	case says("large"):
		u.whole(w, largeWhole)
	case says("stream quick"):
		u.stream(w, 10*largeDelta)
	case says("stream large"):
		u.stream(w, largeStream)
	case says("stream huge"):
		u.stream(w, hugeStream)
	case says("stream hold"):
		u.begin(w)
		u.hold(r)
	case says("hold"):
		u.hold(r)
	default:
		u.whole(w, 100)
	}
}

func (u *heldUpstream) hold(r *http.Request) {
	u.holding.Add(1)
	<-r.Context().Done()
	u.left.Add(1)
}

func (u *heldUpstream) whole(w http.ResponseWriter, size int) {
	message := fmt.Sprintf(`{"id":"msg_01","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":20,"output_tokens":170}}`, strings.Repeat("x", size))
	w.Header().Set("Content-Length", strconv.Itoa(len(message)))
	if _, err := io.WriteString(w, message); err == nil {
		u.finished.Add(1)
	}
}

func (u *heldUpstream) begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	_, _ = io.WriteString(w, `event: message_start
data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":20,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

`)
	_ = http.NewResponseController(w).Flush()
}

func (u *heldUpstream) stream(w http.ResponseWriter, size int) {
	u.begin(w)
	delta := "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + strings.Repeat("x", largeDelta) + "\"}}\n\n"
	for range size / largeDelta {
		if _, err := io.WriteString(w, delta); err != nil {
			return
		}
	}
	_, err := io.WriteString(w, `event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":170}}

event: message_stop
data: {"type":"message_stop"}

`)
	if err == nil {
		u.finished.Add(1)
	}
}

// gateBefore starts a gateway with one org and so many places before an upstream.
func gateBefore(t testing.TB, u *heldUpstream, places int) (g *gate, w *world) {
	t.Helper()
	w = &world{t: t, dir: t.TempDir(), url: u.url, speed: 1}
	environ := []string{"HOME=" + w.dir, "ANTHROPIC_API_KEY=" + emulator.Key("high")}
	return startGate(t, environ, "--listen", "127.0.0.1:0", "--base-url", u.url, "--journal", w.path(".flotilla"), "--conc", fmt.Sprintf("haiku=%d", places), "--ramp", "fast", "--speed", strconv.Itoa(heldSpeed)), w
}
