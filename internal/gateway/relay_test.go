package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla"
)

// pieces gives a stream in pieces, then an error.
type pieces struct {
	parts []string
	err   error
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.parts) == 0 {
		return 0, p.err
	}
	n := copy(b, p.parts[0])
	if p.parts[0] = p.parts[0][n:]; p.parts[0] == "" {
		p.parts = p.parts[1:]
	}
	return n, nil
}

func (p *pieces) Close() error { return nil }

// deliverTo passes a stream on to a recorder; broken says that the connection
// was broken off.
func deliverTo(body io.Reader) (w *httptest.ResponseRecorder, whole, broken bool) {
	g := &Gateway{}
	w = httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", nil)
	ctx, cancel := context.WithCancel(r.Context())
	a := &flotilla.Answer{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body), Attempts: 1}
	defer func() {
		if f := recover(); f != nil {
			if f != http.ErrAbortHandler {
				panic(f)
			}
			broken = true
		}
		if n := g.ahead.Load(); n != 0 {
			panic("bytes are still counted")
		}
	}()
	whole = g.deliver(ctx, cancel, w, r, a)
	return w, whole, broken
}

const twoEvents = "event: ping\ndata: {\"type\":\"ping\"}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// No byte is added, dropped or moved, however the stream is cut in pieces.
func TestRelayPassesBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(event: [a-z]{1,9}\r?\ndata: [ -~]{0,40}\r?\n\r?\n|: ping\n\n|\n|data){0,20}`).Draw(t, "stream")
		var parts []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		w, whole, broken := deliverTo(&pieces{parts, io.EOF})
		if got := w.Body.String(); got != text || !whole || broken {
			t.Fatalf("%q became %q (whole %v, broken %v)", text, got, whole, broken)
		}
	})
}

// A stream that breaks off ends with an error event, behind whole events alone:
// never cleanly (facts/gateways.md, rule 8).
func TestRelayTellsOfABreak(t *testing.T) {
	first := strings.Index(twoEvents, "event: message_stop")
	for _, cut := range []int{first, first + 1, first + 20, len(twoEvents) - 1, len(twoEvents)} {
		w, whole, broken := deliverTo(&pieces{[]string{twoEvents[:cut]}, io.ErrUnexpectedEOF})
		want := twoEvents[:first]
		if cut == len(twoEvents) {
			want = twoEvents
		}
		got, told := strings.CutPrefix(w.Body.String(), want)
		if !told || !strings.HasPrefix(got, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\"") || !strings.HasSuffix(got, "}\n\n") || whole || broken {
			t.Errorf("cut at %d: %q, whole %v, broken %v", cut, w.Body, whole, broken)
		}
	}
}

// Before its first byte there is still a status to say it by.
func TestRelayBreaksBeforeTheFirstByte(t *testing.T) {
	w, whole, _ := deliverTo(iotest.ErrReader(io.ErrUnexpectedEOF))
	if w.Code != http.StatusGatewayTimeout || whole || !strings.Contains(w.Body.String(), kindTimeout) || w.Result().Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%d %v %s", w.Code, w.Result().Header, w.Body)
	}
}

// An error event of the provider's is the end of it: none of ours follows.
func TestRelayPassesErrorEvents(t *testing.T) {
	text := "event: error\ndata: {\"type\":\"error\",\"error\":{\"details\":null,\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
		w, _, broken := deliverTo(&pieces{[]string{text}, end})
		if w.Body.String() != text || broken {
			t.Errorf("%v: %q", end, w.Body)
		}
	}
}

// Half of an event that was too long to hold back cannot be followed by anything.
func TestRelayBreaksOffInsideALongEvent(t *testing.T) {
	long := "event: content_block_start\ndata: {\"data\":\"" + strings.Repeat("x", 3*longEvent)
	w, whole, broken := deliverTo(&pieces{[]string{long}, io.ErrUnexpectedEOF})
	if !broken || whole || !strings.HasPrefix(long, w.Body.String()) || strings.Contains(w.Body.String(), "event: error") {
		t.Errorf("broken %v, %d bytes", broken, w.Body.Len())
	}
	if w, whole, _ := deliverTo(&pieces{[]string{long, "\"}\n\n"}, io.EOF}); !whole || w.Body.String() != long+"\"}\n\n" {
		t.Errorf("whole %v: %d bytes", whole, w.Body.Len())
	}
}

// stuck is a client that takes nothing until it is let go.
type stuck struct {
	*httptest.ResponseRecorder
	writes chan int
	free   chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	s.writes <- len(p)
	<-s.free
	return s.ResponseRecorder.Write(p)
}

// counting counts what was read of an endless stream.
type counting struct {
	n    chan int
	gone <-chan struct{}
}

func (c *counting) Read(p []byte) (int, error) {
	select {
	case <-c.gone:
		return 0, context.Canceled
	default:
	}
	event := []byte("data: 0123456789012345678901234567890123456789\n\n")
	n := 0
	for n+len(event) <= len(p) {
		n += copy(p[n:], event)
	}
	c.n <- n
	return n, nil
}

// A client that reads nothing makes us read ahead so far and no further, and it
// leaves nothing behind.
func TestRelayReadsAheadOfASlowClient(t *testing.T) {
	g := &Gateway{}
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", nil)
	ctx, cancel := context.WithCancel(r.Context())
	w := &stuck{httptest.NewRecorder(), make(chan int, 100), make(chan struct{})}
	src := &counting{make(chan int), ctx.Done()}
	a := &flotilla.Answer{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(src)}
	over := make(chan bool)
	go func() { over <- g.deliver(ctx, cancel, w, r, a) }()
	read := <-src.n
	<-w.writes // the first piece is being written and stays so
	for g.ahead.Load() < aheadBytes {
		read += <-src.n
	}
	if most := aheadBytes + 64<<10; read > most {
		t.Errorf("read %d bytes ahead", read)
	}
	select {
	case n := <-src.n:
		if read+n > aheadBytes+64<<10 {
			t.Errorf("goes on reading: %d bytes", read+n)
		}
	default:
	}
	cancel()
	close(w.free)
	go func() { // what is still read on the way out
		for range src.n {
		}
	}()
	if <-over {
		t.Error("a stream that was left counts as whole")
	}
	close(src.n)
}

// failing is a client that has gone.
type failing struct{ *httptest.ResponseRecorder }

func (f failing) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// A client that cannot be written to ends the exchange.
func TestRelayCancelsForAClientThatIsGone(t *testing.T) {
	g := &Gateway{}
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", nil)
	ctx, cancel := context.WithCancel(r.Context())
	in, out := io.Pipe()
	context.AfterFunc(ctx, func() { _ = out.CloseWithError(context.Canceled) })
	go func() { _, _ = out.Write([]byte(twoEvents)) }()
	a := &flotilla.Answer{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: in}
	if g.deliver(ctx, cancel, failing{httptest.NewRecorder()}, r, a) {
		t.Error("whole")
	}
	if ctx.Err() == nil {
		t.Error("the exchange goes on")
	}
}

func TestLastEvent(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 0, "a\n": 0, "a\n\n": 3, "a\r\n\r\n": 5, "a\n\nb\n": 3, "a\r\n\r\nb\n\nc": 8, "a\n\r\nb": 4,
	} {
		if got := lastEvent([]byte(text), 0); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
		for at := range text { // cut anywhere, the last piece finds it, unless an earlier one had
			got := max(lastEvent([]byte(text[:at]), 0), lastEvent([]byte(text), at))
			if got != want {
				t.Errorf("%q cut at %d: %d, want %d", text, at, got, want)
			}
		}
	}
	if n := lastEvent(bytes.Repeat([]byte("x\n\n"), 3), 9); n != 0 && n != 9 {
		t.Error(n)
	}
}
