package flotilla_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// broken is a body that breaks off with an error.
type broken struct {
	io.Reader
	err error
}

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = b.err
	}
	return n, err
}

func (broken) Close() error { return nil }

// The status of a refusal proves that nothing is billed, and its retry-after
// holds, also where its body breaks off.
func TestRefusalWithABrokenBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &records{}
		begin := time.Now()
		var second time.Duration
		cfg := scripted(func(n int64, req *http.Request) (*http.Response, error) {
			if n > 1 {
				second = time.Since(begin)
				return after(time.Second, req, http.StatusOK, answerOf("m", 5))
			}
			resp, err := after(time.Second, req, http.StatusTooManyRequests, "")
			resp.Header.Set("retry-after", "60")
			resp.Body = broken{strings.NewReader(`{"type":"error","err`), io.ErrUnexpectedEOF}
			return resp, err
		})
		cfg.Store = store
		fleet := open(t, cfg)
		src := &rows{fleet: fleet, bodies: bodies(1)}
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{})
		if err != nil || report.Cause != flotilla.Finished {
			t.Fatalf("cause %v, error %v", report.Cause, err)
		}
		if second < 60*time.Second {
			t.Errorf("sent again after %v", second)
		}
		if report.InDoubt != 0 || report.FailedCost != 0 || report.TransportErrors != 0 {
			t.Errorf("%d in doubt, %v, %d transport errors", report.InDoubt, report.FailedCost, report.TransportErrors)
		}
		for _, r := range store.all() {
			if r.Kind == flotilla.AttemptRecord && (r.Charged != 0 || r.InDoubt || r.Status != http.StatusTooManyRequests) {
				t.Errorf("%+v", r)
			}
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// longStream is an answer of an hour, a piece a minute.
func longStream(req *http.Request) *http.Response {
	r, w := io.Pipe()
	go func() {
		event := func(name, data string) bool {
			_, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
			return err == nil
		}
		event("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}`)
		event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		for range 60 {
			select {
			case <-time.After(time.Minute):
			case <-req.Context().Done():
				_ = w.CloseWithError(req.Context().Err())
				return
			}
			event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"more "}}`)
		}
		event("content_block_stop", `{"type":"content_block_stop","index":0}`)
		event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":60}}`)
		event("message_stop", `{"type":"message_stop"}`)
		_ = w.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Request: req, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r}
}

// A stream may take as long as it goes on; only its silence is bounded. An
// answer in one piece has the ten minutes of the official clients.
func TestALongStreamIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			sendBody(req)
			return longStream(req), nil
		})
		cfg.Stream = flotilla.StreamOn
		fleet := open(t, cfg)
		src := &rows{fleet: fleet, bodies: bodies(1)}
		if _, err := fleet.Carry(t.Context(), src, flotilla.Options{}); err != nil {
			t.Fatal(err)
		}
		if res := src.got[0]; res.Err != nil || res.Attempts != 1 || res.Latency < time.Hour || !json.Valid(res.Message) {
			t.Errorf("%v after %d attempts and %v", res.Err, res.Attempts, res.Latency)
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAnAnswerThatNeverComesIsGivenUp(t *testing.T) {
	for _, mode := range []flotilla.StreamMode{flotilla.StreamOn, flotilla.StreamOff} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			var second time.Duration
			cfg := scripted(func(n int64, req *http.Request) (*http.Response, error) {
				if n > 1 {
					second = time.Since(begin)
					return after(time.Second, req, http.StatusOK, answerOf("m", 5))
				}
				return after(24*time.Hour, req, http.StatusOK, answerOf("m", 5))
			})
			cfg.Stream = mode
			fleet := open(t, cfg)
			src := &rows{fleet: fleet, bodies: bodies(1)}
			report, err := fleet.Carry(t.Context(), src, flotilla.Options{})
			if err != nil || src.got[0].Err != nil {
				t.Fatal(err, src.got)
			}
			if second < 10*time.Minute || second > 11*time.Minute || report.InDoubt != 1 {
				t.Errorf("stream mode %v: sent again after %v, %d in doubt", mode, second, report.InDoubt)
			}
			if err := fleet.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// latePool gives rows of a second pool while the body of the first is still
// being read from a slow disk.
type latePool struct {
	rows
	reading chan struct{} // closed when the first body is being read
	given   chan struct{} // closed when the second pool's row is being given
}

func (s *latePool) Pull(int) ([]flotilla.Row, error) {
	row := s.next
	if row == 1 {
		select {
		case <-s.reading:
		default:
			return nil, nil
		}
		close(s.given)
	}
	s.next++
	facts, err := s.fleet.Weigh(s.bodies[row])
	if err == nil && s.next == len(s.bodies) {
		err = io.EOF
	}
	return []flotilla.Row{{Index: row, Facts: facts}}, err
}

func (s *latePool) Body(row int) ([]byte, error) {
	if row == 0 {
		close(s.reading)
		<-s.given
	}
	return s.bodies[row], nil
}

// The lanes of a second pool may open while calls of the first are being sent.
func TestAPoolThatOpensLate(t *testing.T) {
	cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
		return after(0, req, http.StatusOK, answerOf("m", 5))
	})
	cfg.Orgs = orgs("high", "batch", "low")
	fleet := open(t, cfg)
	src := &latePool{reading: make(chan struct{}), given: make(chan struct{})}
	src.fleet, src.bodies = fleet, bodies(1)
	src.bodies = append(src.bodies, []byte(`{"model":"claude-sonnet-4-6","max_tokens":10,"messages":[{"role":"user","content":"late"}]}`))
	if _, err := fleet.Carry(t.Context(), src, flotilla.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, res := range src.got {
		if res.Err != nil {
			t.Error(res.Err)
		}
	}
	if err := fleet.Close(); err != nil {
		t.Error(err)
	}
}

// A server, or something in front of it, that repeats a key anywhere in an
// error has it taken out, whole.
func TestNoErrorRepeatsAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const long = "sk-ant-emulated-high-2"
		cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			resp, err := after(time.Second, req, http.StatusBadRequest, `{"type":"error","error":{"type":"invalid_request_error","message":"key `+long+`","details":{"error_code":"`+long+`"}}}`)
			resp.Header.Set("request-id", long)
			return resp, err
		})
		cfg.Orgs = orgs("high", "high-2")
		fleet := open(t, cfg)
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests(1)), flotilla.Options{}) {
			said := fmt.Sprintf("%+v %s", res.Err, flotilla.Envelope(res.Err))
			var api *flotilla.APIError
			if !errors.As(res.Err, &api) {
				t.Fatal(res.Err)
			}
			said += fmt.Sprintf("%+v", *api)
			if strings.Contains(said, "sk-ant") || strings.Contains(said, "-2") || !strings.Contains(said, "[key]") {
				t.Error(said)
			}
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A whole Message under a wrong media type is an answer: it was paid for.
func TestMessageUnderAnotherMediaType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			resp, err := after(time.Second, req, http.StatusOK, answerOf("m", 5))
			resp.Header.Set("Content-Type", "text/plain")
			return resp, err
		}))
		src := &rows{fleet: fleet, bodies: bodies(3)}
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{})
		if err != nil || report.Attempts != 3 || len(src.got) != 3 || src.got[0].Err != nil {
			t.Errorf("%d attempts for 3 rows, %d results, %v", report.Attempts, len(src.got), err)
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// endless is a page without end.
type endless struct{ read *int }

func (e endless) Read(p []byte) (int, error) {
	*e.read += len(p)
	return len(p), nil
}

func (endless) Close() error { return nil }

// An error's page is read no further than it can matter, and counts as an outage.
func TestEndlessErrorPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := 0
		fleet := open(t, scripted(func(n int64, req *http.Request) (*http.Response, error) {
			if n > 1 {
				return after(time.Second, req, http.StatusOK, answerOf("m", 5))
			}
			resp, err := after(time.Second, req, http.StatusBadGateway, "")
			resp.Header.Set("Content-Type", "text/html")
			resp.Body = endless{&read}
			return resp, err
		}))
		src := &rows{fleet: fleet, bodies: bodies(1)}
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{})
		if err != nil || src.got[0].Err != nil || report.TransportErrors != 1 {
			t.Errorf("%d transport errors, %v, %v", report.TransportErrors, src.got, err)
		}
		if read > 2<<20 {
			t.Errorf("%d bytes of the page were read", read)
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// An answer that came through a gateway of ours ends the run: calls would go
// round in circles.
func TestAnswerOfAGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			resp, err := after(time.Second, req, http.StatusOK, answerOf("m", 5))
			resp.Header.Set("x-flotilla-org", "high")
			return resp, err
		}))
		_, err := fleet.Carry(t.Context(), &rows{fleet: fleet, bodies: bodies(3)}, flotilla.Options{})
		if !errors.Is(err, flotilla.ErrOurselves) {
			t.Errorf("%v, want ErrOurselves", err)
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}
