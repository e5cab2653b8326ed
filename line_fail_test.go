package flotilla_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// An error of the request itself comes as the API said it: status, headers and
// bytes.
func TestLinePassesErrorsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const said = "{\"type\":\"error\",\n\"error\":{\"type\":\"invalid_request_error\",\"message\":\"max_tokens: too large\"},\"extra\":[1, 2]}"
		var asked atomic.Int64
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			asked.Add(1)
			sendBody(req)
			resp := reply(req, http.StatusBadRequest, said)
			resp.Header.Set("Request-Id", "req_9")
			return resp, nil
		}))
		line := newLine(t, fleet, flotilla.LineOptions{})
		a, data := ask(t, line, request(1).Body)
		if a.Status != http.StatusBadRequest || string(data) != said || a.Header.Get("Request-Id") != "req_9" || a.Length != int64(len(said)) {
			t.Errorf("answer %+v: %s", a, data)
		}
		res, ok := a.Settled()
		var api *flotilla.APIError
		if !ok || !errors.As(res.Err, &api) || res.Cost != 0 {
			t.Errorf("settled %+v", res)
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// Before its answer begins a call is repeated, with other orgs too.
func TestLineRepeatsBeforeTheAnswer(t *testing.T) {
	for name, fault := range map[string]func(req *http.Request) (*http.Response, error){
		"reset": func(req *http.Request) (*http.Response, error) {
			sendBody(req)
			return nil, errReset
		},
		"429": func(req *http.Request) (*http.Response, error) {
			sendBody(req)
			resp := reply(req, http.StatusTooManyRequests, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 1000 requests per minute"}}`)
			resp.Header.Set("Retry-After", "20")
			return resp, nil
		},
		"529": func(req *http.Request) (*http.Response, error) {
			sendBody(req)
			return reply(req, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), nil
		},
		"cut answer": func(req *http.Request) (*http.Response, error) {
			sendBody(req)
			resp := reply(req, http.StatusOK, "")
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"id":`), failing{errReset}))
			return resp, nil
		},
		"stream without a byte": func(req *http.Request) (*http.Response, error) {
			return streaming(req, failing{errReset}), nil
		},
		"stream that breaks off in its first event": func(req *http.Request) (*http.Response, error) {
			return streaming(req, io.MultiReader(iotest1("event: message_start\ndata: {\"type\":\"mess"), failing{errReset})), nil
		},
		"stream of an overload, in pieces": func(req *http.Request) (*http.Response, error) {
			return streaming(req, iotest1("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")), nil
		},
		"stream that ends at once": func(req *http.Request) (*http.Response, error) {
			return streaming(req, strings.NewReader("")), nil
		},
		"stream of an overload": func(req *http.Request) (*http.Response, error) {
			return streaming(req, strings.NewReader("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")), nil
		},
		"page": func(req *http.Request) (*http.Response, error) {
			sendBody(req)
			return reply(req, http.StatusBadGateway, "<html>bad gateway</html>"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int64
				cfg := scripted(func(n int64, req *http.Request) (*http.Response, error) {
					asked.Add(1)
					if n == 1 {
						return fault(req)
					}
					return after(time.Second, req, http.StatusOK, answerOf("msg_1", 5))
				})
				cfg.Orgs = orgs("high", "low")
				fleet := newFleet(t, cfg)
				line := newLine(t, fleet, flotilla.LineOptions{})
				a, data := ask(t, line, request(1).Body)
				if a.Status != http.StatusOK || a.Attempts != 2 || asked.Load() != 2 || !bytes.Contains(data, []byte("msg_1")) {
					t.Errorf("answer %+v after %d requests: %s", a, asked.Load(), data)
				}
				if res, ok := a.Settled(); !ok || res.Err != nil || res.Usage.Output != 5 {
					t.Errorf("settled %+v", res)
				}
			})
		})
	}
}

// In a storm of 529 a call waits as long as it may, and is told when it is worth
// another try.
func TestLineStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calm atomic.Bool
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			if calm.Load() {
				return after(time.Second, req, http.StatusOK, answerOf("msg_1", 5))
			}
			return after(50*time.Millisecond, req, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
		}))
		line := newLine(t, fleet, flotilla.LineOptions{})
		begin := time.Now()
		_, err := line.Do(t.Context(), flotilla.Call{Body: request(1).Body, MaxWait: 40 * time.Second})
		var wait *flotilla.WaitError
		if !errors.As(err, &wait) || wait.Class != "overloaded" || wait.Attempts < 2 || wait.RetryAfter < time.Second || wait.RetryAfter > time.Minute {
			t.Fatalf("%v: %+v", err, wait)
		}
		if took := time.Since(begin); took < 40*time.Second || took > 41*time.Second {
			t.Errorf("it waited %v", took)
		}
		time.AfterFunc(20*time.Second, func() { calm.Store(true) })
		if a, _ := ask(t, line, request(2).Body); a.Status != http.StatusOK {
			t.Errorf("answer %+v", a)
		}
	})
}

// A call whose exchanges all break is told so, and whether it may have been billed.
func TestLineWithoutConnection(t *testing.T) {
	for name, sent := range map[string]bool{"reset": true, "refused": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
					if sent {
						sendBody(req)
					}
					return nil, errReset
				}))
				line := newLine(t, fleet, flotilla.LineOptions{})
				_, err := line.Do(t.Context(), flotilla.Call{Body: request(1).Body, MaxWait: 5 * time.Minute})
				var te *flotilla.TransportError
				if !errors.As(err, &te) || te.InDoubt != sent || te.Attempts < 2 || te.Error() != errReset.Error() {
					t.Errorf("%v: %+v", err, te)
				}
			})
		})
	}
}

// The wait that is told is no shorter than what the limits need.
func TestLineWaitsForLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			sendBody(req)
			resp := reply(req, http.StatusTooManyRequests, `{"type":"error","error":{"type":"rate_limit_error","message":"Number of requests has exceeded your per-minute limit"}}`)
			resp.Header.Set("Retry-After", "90")
			return resp, nil
		})
		fleet := newFleet(t, cfg)
		line := newLine(t, fleet, flotilla.LineOptions{})
		_, err := line.Do(t.Context(), flotilla.Call{Body: request(1).Body, MaxWait: 10 * time.Second})
		var wait *flotilla.WaitError
		if !errors.As(err, &wait) || wait.Class != "limits" || wait.RetryAfter < 79*time.Second || wait.RetryAfter > 100*time.Second {
			t.Errorf("%v: %+v", err, wait)
		}
	})
}

// Where all orgs are closed for longer than a call may wait, it waits for
// nothing; also one that waits already.
func TestLineClosedLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusUnauthorized, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
		})
		cfg.Conc = map[string]int{"haiku": 1}
		fleet := newFleet(t, cfg)
		line := newLine(t, fleet, flotilla.LineOptions{})
		begin := time.Now()
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := line.Do(t.Context(), flotilla.Call{Body: request(1).Body})
				errs <- err
			}()
		}
		for range 2 {
			var wait *flotilla.WaitError
			if err := <-errs; !errors.As(err, &wait) || wait.Class != "closed:auth" {
				t.Error(err)
			}
		}
		_, err := line.Do(t.Context(), flotilla.Call{Body: request(1).Body})
		var wait *flotilla.WaitError
		if !errors.As(err, &wait) || wait.Class != "closed:auth" || wait.RetryAfter != time.Hour {
			t.Errorf("%v: %+v", err, wait)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// What leaves its caller frees its place, waiting or at the provider.
func TestLineCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			if asked.Add(1) == 1 {
				sendBody(req)
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			return after(time.Second, req, http.StatusOK, answerOf("msg_1", 5))
		})
		cfg.Conc = map[string]int{"haiku": 1}
		fleet := newFleet(t, cfg)
		line := newLine(t, fleet, flotilla.LineOptions{Name: "app"})
		errs := make(chan error, 2)
		var leave [2]context.CancelFunc
		for i := range leave {
			var ctx context.Context
			ctx, leave[i] = context.WithCancel(t.Context())
			go func() {
				_, err := line.Do(ctx, flotilla.Call{Body: request(i).Body})
				errs <- err
			}()
			synctest.Wait()
		}
		s, err := fleet.Snapshot(t.Context())
		if err != nil || len(s.Streams) != 1 || s.Streams[0].InFlight != 1 || s.Streams[0].Queued != 1 || s.Streams[0].Client != "app" {
			t.Fatalf("%+v, %v", s.Streams, err)
		}
		for _, cancel := range []context.CancelFunc{leave[1], leave[0]} { // the one that waits first
			cancel()
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if a, _ := ask(t, line, request(3).Body); a.Status != http.StatusOK || a.Queued > 20*time.Second {
			t.Errorf("answer %+v", a)
		}
		if n := asked.Load(); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// A fleet that is closed lets what is in flight end; what waits, and what comes,
// is told so.
func TestLineOfAClosedFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(5*time.Second, req, http.StatusOK, answerOf("msg_1", 5))
		})
		cfg.Conc = map[string]int{"haiku": 1}
		fleet := open(t, cfg)
		line := newLine(t, fleet, flotilla.LineOptions{})
		errs := make(chan error, 2)
		for i := range 2 {
			go func() {
				_, err := line.Do(t.Context(), flotilla.Call{Body: request(i).Body})
				errs <- err
			}()
			synctest.Wait()
		}
		begin := time.Now()
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("closed after %v", took)
		}
		if a, b := <-errs, <-errs; !errors.Is(a, flotilla.ErrClosed) || b != nil {
			t.Errorf("%v, %v", a, b)
		}
		if _, err := line.Do(t.Context(), flotilla.Call{Body: request(3).Body}); !errors.Is(err, flotilla.ErrClosed) {
			t.Error(err)
		}
		if err := line.Close(time.Second); err != nil {
			t.Error(err)
		}
	})
}

// A line that is closed breaks off what goes on for longer than its drain, also
// an answer that nobody reads.
func TestLineClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return streaming(req, io.MultiReader(strings.NewReader(events[:400]), waiting{req.Context()})), nil
		}))
		line := newLine(t, fleet, flotilla.LineOptions{})
		a, err := line.Do(t.Context(), flotilla.Call{Body: []byte(body1)})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := line.Close(7 * time.Second); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 7*time.Second {
			t.Errorf("closed after %v", took)
		}
		if res, ok := a.Settled(); !ok || res.Err == nil {
			t.Errorf("settled %+v, %v", res, ok)
		}
		if _, err := io.ReadAll(a.Body); err == nil {
			t.Error("an answer that was broken off reads to its end")
		}
		_ = a.Body.Close()
	})
}

// A store that fails ends its lines: nothing is sent that cannot be kept.
func TestLineStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			asked.Add(1)
			return after(time.Second, req, http.StatusOK, answerOf("msg_1", 5))
		})
		cfg.Store = &records{fail: func(_, _ []flotilla.Record) error { return errStore }}
		fleet := open(t, cfg)
		line := newLine(t, fleet, flotilla.LineOptions{Job: 1})
		if _, err := line.Do(t.Context(), flotilla.Call{Body: request(1).Body}); !errors.Is(err, errStore) && !errors.Is(err, flotilla.ErrClosed) {
			t.Error(err)
		}
		if err := fleet.Close(); !errors.Is(err, errStore) {
			t.Error(err)
		}
		if n := asked.Load(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// A model that no org has gives the API's 404, the first time and afterwards.
func TestLineUnknownModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const said = `{"type":"error","error":{"type":"not_found_error","message":"model: claude-haiku-4-5"}}`
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			sendBody(req)
			return reply(req, http.StatusNotFound, said), nil
		}))
		line := newLine(t, fleet, flotilla.LineOptions{})
		var wg sync.WaitGroup // each caller's header is its own
		for range 20 {
			wg.Go(func() {
				a, data := ask(t, line, request(1).Body)
				if a.Header.Set("Connection", "close"); a.Status != http.StatusNotFound || string(data) != said {
					t.Errorf("answer %+v: %s", a, data)
				}
			})
		}
		wg.Wait()
		var unknown *flotilla.UnknownModelError
		_, err := line.Do(t.Context(), flotilla.Call{Body: []byte(`{"model":"claude-none","max_tokens":1,"messages":[]}`)})
		if !errors.As(err, &unknown) {
			t.Error(err)
		}
		var bad *flotilla.RequestError
		if _, err = line.Do(t.Context(), flotilla.Call{Body: []byte(`{"model":`)}); !errors.As(err, &bad) {
			t.Error(err)
		}
	})
}

// A lane that a person holds takes no calls until it is let go.
func TestPauseLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		cfg := w.config()
		cfg.Orgs = orgs("high", "low")
		fleet := newFleet(t, cfg)
		granted := flotilla.Money(0)
		line := newLine(t, fleet, flotilla.LineOptions{Purse: purseOf(func(want flotilla.Money) flotilla.Money {
			granted += want // what is asked for: no cap is reached while it is not asked
			return granted
		})})
		if err := fleet.PauseLane("high", "haiku-4.5", "sync", true); err == nil {
			t.Error("a lane that is not open was paused")
		}
		ask(t, line, request(0).Body)
		if err := fleet.PauseLane("high", "haiku-4.5", "sync", true); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if a, _ := ask(t, line, request(i).Body); a.Org != "low" {
				t.Errorf("%s answered", a.Org)
			}
		}
		if err := fleet.PauseLane("low", "haiku-4.5", "sync", true); err != nil {
			t.Fatal(err)
		}
		_, err := line.Do(t.Context(), flotilla.Call{Body: request(1).Body, MaxWait: time.Minute})
		var wait *flotilla.WaitError
		if !errors.As(err, &wait) || wait.Class != "paused" {
			t.Error(err)
		}
		if err := fleet.PauseLane("high", "haiku-4.5", "sync", false); err != nil {
			t.Fatal(err)
		}
		if a, _ := ask(t, line, request(20).Body); a.Org != "high" {
			t.Errorf("%s answered", a.Org)
		}
		s, err := fleet.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range s.Lanes {
			if l.Paused != (l.Org == "low") || l.Cost <= 0 {
				t.Errorf("lane %+v", l)
			}
		}
	})
}
