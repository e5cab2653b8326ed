package flotilla_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// usage18 is a count of tokens that no answer has.
const usage18 = "9000000000000000000"

// One absurd figure does not close a cap: no more is booked than the worst case
// that the call reserved, and people are told, once.
func TestUsageBeyondTheWorstCase(t *testing.T) {
	whole := strings.Replace(answerOf("m", 5), `"input_tokens":10`, `"input_tokens":`+usage18, 1)
	streamed := strings.Replace(events, `"input_tokens":10`, `"input_tokens":`+usage18, 1)
	half := streamed[:strings.Index(streamed, "event: content_block_stop")]
	wordy := events[:strings.Index(events, "event: content_block_stop")] +
		strings.Repeat("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\""+strings.Repeat("word ", 200)+"\"}}\n\n", 50)
	for name, c := range map[string]struct {
		body   string
		stream bool
		broken bool
	}{"whole": {whole, false, false}, "stream": {streamed, true, false}, "broken stream": {half, true, true}, "more text than max_tokens": {wordy, true, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told atomic.Int64
				cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
					if c.stream {
						return streaming(req, strings.NewReader(c.body)), nil
					}
					return after(time.Second, req, http.StatusOK, c.body)
				})
				cfg.Notify = func(n flotilla.Notice) {
					if n.Kind == flotilla.UsageBeyond && n.Value > 0 && n.Org != "" {
						told.Add(1)
					}
				}
				fleet := newFleet(t, cfg)
				facts, err := fleet.Weigh([]byte(body1))
				if err != nil {
					t.Fatal(err)
				}
				const calls = 3
				pot, err := fleet.Pot(t.Context(), "a pot", calls*facts.Worst, 0)
				if err != nil {
					t.Fatal(err)
				}
				line := newLine(t, fleet, flotilla.LineOptions{Pots: []*flotilla.Pot{pot}})
				for range calls { // the last one would be refused were more booked
					a, err := line.Do(t.Context(), flotilla.Call{Body: []byte(body1)})
					if err != nil {
						t.Fatal(err)
					}
					_, err = io.ReadAll(a.Body)
					if (err != nil) != c.broken {
						t.Errorf("read gave %v", err)
					}
					_ = a.Body.Close()
					res, ok := a.Settled()
					if !ok || res.Cost != facts.Worst || res.Usage.Prompt() > 1e6 || res.Usage.Output > 1e6 {
						t.Errorf("settled %+v, %v; the worst case is %s", res, ok, facts.Worst)
					}
				}
				synctest.Wait()
				if _, spent, reserved, err := pot.State(t.Context()); err != nil || spent != calls*facts.Worst || reserved != 0 {
					t.Errorf("%s spent, %s reserved, %v; want %s", spent, reserved, err, calls*facts.Worst)
				}
				if n := told.Load(); n != 1 {
					t.Errorf("people were told %d times", n)
				}
			})
		})
	}
}

// A tool that is billed per use, or reads what it likes, has no worst case: what
// the provider says it cost is booked.
func TestUsageOfMeteredTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := strings.Replace(answerOf("m", 5), `"input_tokens":10`, `"input_tokens":5000000`, 1)
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, said)
		}))
		line := newLine(t, fleet, flotilla.LineOptions{})
		body := `{"model":"claude-haiku-4-5","max_tokens":10,"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[{"role":"user","content":"x"}]}`
		a, _ := ask(t, line, []byte(body))
		res, _ := a.Settled()
		if res.Usage.Input != 5_000_000 || res.Cost < flotilla.USD(5) {
			t.Errorf("settled %+v", res)
		}
	})
}

// A 101 has no body that ends: it is a failure at once.
func TestSwitchingProtocols(t *testing.T) {
	for name, through := range map[string]func(t *testing.T, fleet *flotilla.Fleet){
		"line": func(t *testing.T, fleet *flotilla.Fleet) {
			if a, _ := ask(t, newLine(t, fleet, flotilla.LineOptions{}), request(1).Body); a.Status != http.StatusOK || a.Attempts != 2 {
				t.Errorf("answer %+v", a)
			}
		},
		"dispatch": func(t *testing.T, fleet *flotilla.Fleet) {
			for res := range fleet.Dispatch(t.Context(), slices.Values(requests(1)), flotilla.Options{}) {
				if res.Err != nil || res.Attempts != 2 || res.InDoubt != 0 {
					t.Errorf("result %+v", res)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fleet := newFleet(t, scripted(func(n int64, req *http.Request) (*http.Response, error) {
					if n > 1 {
						return after(0, req, http.StatusOK, answerOf("m", 5))
					}
					sendBody(req)
					resp := reply(req, http.StatusSwitchingProtocols, "")
					resp.Body = io.NopCloser(waiting{req.Context()})
					return resp, nil
				}))
				begin := time.Now()
				through(t, fleet)
				if took := time.Since(begin); took > time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// What is behind message_stop is passed on, but not waited for.
func TestLineEndsWithItsMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rest = ": goodbye\n\n"
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return streaming(req, io.MultiReader(strings.NewReader(events), strings.NewReader(rest), waiting{req.Context()})), nil
		}))
		line := newLine(t, fleet, flotilla.LineOptions{})
		a, err := line.Do(t.Context(), flotilla.Call{Body: []byte(body1)})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		got, err := io.ReadAll(a.Body)
		if err != nil || string(got) != events+rest {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("its end came after %s", took)
		}
		if res, ok := a.Settled(); !ok || res.Err != nil || res.Usage.Output != 5 {
			t.Errorf("settled %+v, %v", res, ok)
		}
		if err := a.Body.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A base URL that redirects is wrong for every call: the first is told so, and
// nothing is sent to where it leads.
func TestLineIsRedirected(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int64
				fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
					asked.Add(1)
					sendBody(req)
					resp := reply(req, status, "<html>moved</html>")
					resp.Header.Set("Location", "https://user:secret@elsewhere.example:8443/v1/messages?token=x")
					return resp, nil
				}))
				line := newLine(t, fleet, flotilla.LineOptions{})
				begin := time.Now()
				for i := range int64(2) {
					_, err := line.Do(t.Context(), flotilla.Call{Body: request(1).Body})
					var broken *flotilla.TransportError
					var to *flotilla.RedirectError
					if !errors.As(err, &broken) || broken.InDoubt || broken.Attempts != 1 || !errors.As(err, &to) || to.To != "https://elsewhere.example:8443" || to.Status != status {
						t.Fatalf("call %d: %v", i+1, err)
					}
					if n := asked.Load(); n != i+1 {
						t.Errorf("sent %d times", n)
					}
				}
				if took := time.Since(begin); took > time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// Where orgs have base URLs of their own, another one may answer.
func TestOneOfTwoOrgsRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := scripted(nil)
		cfg.Orgs = orgs("high", "low")
		cfg.Orgs[1].BaseURL = "http://other"
		cfg.Transport = func(o flotilla.Org) http.RoundTripper {
			return script(func(_ int64, req *http.Request) (*http.Response, error) {
				if req.URL.Host == "other" {
					return after(time.Second, req, http.StatusOK, answerOf("m", 5))
				}
				sendBody(req)
				return reply(req, http.StatusFound, ""), nil
			})
		}
		fleet := newFleet(t, cfg)
		line := newLine(t, fleet, flotilla.LineOptions{})
		for range 4 {
			if a, _ := ask(t, line, request(1).Body); a.Status != http.StatusOK {
				t.Errorf("answer %+v", a)
			}
		}
	})
}
