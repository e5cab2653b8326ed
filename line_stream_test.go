package flotilla_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// events is a stream of an answer with an unknown event, a ping and odd spacing
// in it, of 10 tokens of input and 5 of output.
const events = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-haiku-4-5\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n" +
	": a comment\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"one two three four\"}}\n\n" +
	"event: novelty\ndata: {\"type\":\"novelty\",  \"n\":1}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":5}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// streaming answers a request with a stream whose body is read from r.
func streaming(req *http.Request, r io.Reader) *http.Response {
	sendBody(req)
	return &http.Response{
		StatusCode: http.StatusOK, Request: req, Body: io.NopCloser(r),
		Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}, "Request-Id": {"req_1"}, "Connection": {"close"}},
	}
}

// body1 is a body as a client may spell it.
const body1 = "{ \"model\": \"claude-haiku-4-5\", \"max_tokens\": 100,\n \"stream\":true, \"messages\":[{\"role\":\"user\",\"content\":\"h\\u00e9\"}], \"novel\": null }"

func TestLinePassesBytesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []byte
		var header http.Header
		var query string
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			got, _ = io.ReadAll(req.Body)
			header, query = req.Header, req.URL.RawQuery
			return streaming(req, iotest1(events)), nil
		}))
		line := newLine(t, fleet, flotilla.LineOptions{Keep: true})
		sent := http.Header{
			"X-Api-Key": {"sk-ant-the-clients-own"}, "Authorization": {"Bearer x"}, "Anthropic-Version": {"2023-01-01"},
			"Anthropic-Beta": {"a", "b,c"}, "X-Claude-Code-Session-Id": {"s1"}, "Accept-Encoding": {"gzip"},
			"Connection": {"X-Hop"}, "X-Hop": {"1"},
		}
		a, err := line.Do(t.Context(), flotilla.Call{Body: []byte(body1), Query: "beta=true", Header: sent})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := a.Settled(); ok {
			t.Error("it settled before its body was read")
		}
		data, err := io.ReadAll(a.Body)
		if err != nil || string(data) != events {
			t.Errorf("body %q, %v", data, err)
		}
		if string(got) != body1 || query != "beta=true" {
			t.Errorf("the server got %q?%s", got, query)
		}
		res, ok := a.Settled()
		if !ok || res.Err != nil || res.Usage.Input != 10 || res.Usage.Output != 5 || res.StopReason != "end_turn" || res.Estimated {
			t.Errorf("settled %+v, %v", res, ok)
		}
		if !strings.Contains(string(res.Message), "one two three four") {
			t.Errorf("message %s", res.Message)
		}
		if err := a.Body.Close(); err != nil {
			t.Error(err)
		}
		want := http.Header{
			"X-Api-Key": {"sk-ant-emulated-high"}, "Anthropic-Version": {"2023-01-01"}, "Anthropic-Beta": {"a", "b,c"},
			"X-Claude-Code-Session-Id": {"s1"}, "Content-Type": {"application/json"}, "User-Agent": nil,
		}
		if !equalHeaders(header, want) {
			t.Errorf("the server got %v", header)
		}
		if sent.Get("X-Api-Key") != "sk-ant-the-clients-own" {
			t.Error("the caller's header was changed")
		}
		if a.Header.Get("Request-Id") != "req_1" || a.Header.Get("Connection") != "" {
			t.Errorf("the caller got %v", a.Header)
		}
	})
}

func equalHeaders(a, b http.Header) bool {
	if len(a) != len(b) {
		return false
	}
	for name := range b {
		if strings.Join(a[name], "|") != strings.Join(b[name], "|") {
			return false
		}
	}
	return true
}

// iotest1 gives a text in pieces of seven bytes.
func iotest1(s string) io.Reader { return &pieces{s} }

type pieces struct{ left string }

func (p *pieces) Read(b []byte) (int, error) {
	if p.left == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 7)], p.left)
	p.left = p.left[n:]
	return n, nil
}

// After the head of an answer was given nothing is sent again, however the
// stream ends; a stream without message_stop is broken off.
func TestLineCutStream(t *testing.T) {
	half := events[:strings.Index(events, "event: content_block_stop")]
	overloaded := half + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
	for name, c := range map[string]struct {
		body io.Reader
		want error // of the read
		api  string
	}{
		"clean end":   {strings.NewReader(half), io.ErrUnexpectedEOF, ""},
		"reset":       {io.MultiReader(strings.NewReader(half), failing{errReset}), errReset, ""},
		"error event": {strings.NewReader(overloaded), nil, "overloaded_error"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int64
				cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
					asked.Add(1)
					return streaming(req, c.body), nil
				})
				store := &records{}
				cfg.Store = store
				fleet := newFleet(t, cfg)
				pot, err := fleet.Pot(t.Context(), "a pot", flotilla.USD(1), 0)
				if err != nil {
					t.Fatal(err)
				}
				line := newLine(t, fleet, flotilla.LineOptions{Pots: []*flotilla.Pot{pot}, Job: 1})
				a, err := line.Do(t.Context(), flotilla.Call{Body: []byte(body1)})
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.ReadAll(a.Body)
				var te *flotilla.TransportError
				if c.want == errReset {
					if !errors.As(err, &te) || te.Error() != errReset.Error() {
						t.Errorf("read gave %v", err)
					}
				} else if !errors.Is(err, c.want) {
					t.Errorf("read gave %v", err)
				}
				if err := a.Body.Close(); err != nil {
					t.Error(err)
				}
				res, _ := a.Settled()
				var api *flotilla.APIError
				if errors.As(res.Err, &api) != (c.api != "") || api != nil && api.Type != c.api || res.Err == nil {
					t.Errorf("settled with %v", res.Err)
				}
				if !res.Estimated || res.Usage.Input != 10 || res.Usage.Output < 4 || res.Cost <= 0 {
					t.Errorf("settled %+v", res)
				}
				synctest.Wait()
				facts, _ := fleet.Weigh([]byte(body1))
				_, spent, reserved, err := pot.State(t.Context())
				if err != nil || spent != facts.Worst || reserved != 0 {
					t.Errorf("the pot has spent %v and reserved %v of a worst case of %v: %v", spent, reserved, facts.Worst, err)
				}
				if res.Cost >= facts.Worst {
					t.Errorf("shown cost %v, worst case %v", res.Cost, facts.Worst)
				}
				time.Sleep(time.Minute)
				if n := asked.Load(); n != 1 {
					t.Errorf("sent %d times", n)
				}
				for _, r := range store.all() {
					if r.Kind == flotilla.AttemptRecord && (!r.InDoubt || r.Charged != facts.Worst || r.Block == 0) {
						t.Errorf("record %+v", r)
					}
				}
			})
		})
	}
}

var errReset = errors.New("connection reset by peer")

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A client that leaves an answer cancels its exchange, and frees its place.
func TestLineLeftStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		half := events[:strings.Index(events, "event: content_block_stop")]
		canceled := make(chan struct{}, 1)
		cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			context.AfterFunc(req.Context(), func() { canceled <- struct{}{} })
			r := io.MultiReader(strings.NewReader(half), waiting{req.Context()})
			return streaming(req, r), nil
		})
		cfg.Conc = map[string]int{"haiku": 1}
		fleet := newFleet(t, cfg)
		line := newLine(t, fleet, flotilla.LineOptions{})
		for range 3 { // the only place is free again each time
			a, err := line.Do(t.Context(), flotilla.Call{Body: []byte(body1), MaxWait: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(a.Body, make([]byte, len(half))); err != nil {
				t.Fatal(err)
			}
			if err := a.Body.Close(); err != nil {
				t.Error(err)
			}
			<-canceled
			res, ok := a.Settled()
			if !ok || !res.Estimated || res.Usage.Input != 10 || res.Err == nil {
				t.Errorf("settled %+v", res)
			}
			if n, err := a.Body.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Error("a closed body gave", n, err)
			}
		}
	})
}

// waiting gives nothing until the exchange is cancelled.
type waiting struct{ ctx context.Context }

func (w waiting) Read([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, w.ctx.Err()
}

// A stream that falls silent is given up; a slow reader is not taken for one.
func TestLineSilentStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := newFleet(t, scripted(func(n int64, req *http.Request) (*http.Response, error) {
			if n == 1 {
				return streaming(req, strings.NewReader(events)), nil
			}
			return streaming(req, io.MultiReader(strings.NewReader(events[:400]), waiting{req.Context()})), nil
		}))
		line := newLine(t, fleet, flotilla.LineOptions{})
		a, err := line.Do(t.Context(), flotilla.Call{Body: []byte(body1)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(a.Body, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		if rest, err := io.ReadAll(a.Body); err != nil || len(rest) != len(events)-10 {
			t.Errorf("a slow reader got %d bytes, %v", len(rest), err)
		}
		_ = a.Body.Close()
		begin := time.Now()
		if a, err = line.Do(t.Context(), flotilla.Call{Body: []byte(body1)}); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(a.Body)
		if err == nil || len(got) != 400 || time.Since(begin) > 3*time.Minute {
			t.Errorf("%d bytes, %v after %v", len(got), err, time.Since(begin))
		}
		_ = a.Body.Close()
	})
}

// A call's worst case and what it cost never leave a caller's Close to chance:
// an answer whose rest is not read is drained, so that its connection is kept.
func TestLineClosesAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rest := &counted{Reader: strings.NewReader(": goodbye\n\n")}
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return streaming(req, io.MultiReader(strings.NewReader(events), rest)), nil
		}))
		line := newLine(t, fleet, flotilla.LineOptions{})
		a, err := line.Do(t.Context(), flotilla.Call{Body: []byte(body1)})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(events))
		if _, err := io.ReadFull(a.Body, got); err != nil || !bytes.Equal(got, []byte(events)) {
			t.Fatal(err)
		}
		if res, ok := a.Settled(); !ok || res.Err != nil {
			t.Errorf("settled %+v, %v", res, ok)
		}
		if err := a.Body.Close(); err != nil || !rest.ended {
			t.Errorf("close: %v; drained: %v", err, rest.ended)
		}
	})
}

type counted struct {
	io.Reader
	ended bool
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.ended = c.ended || err != nil
	return n, err
}
