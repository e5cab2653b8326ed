package flotilla_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// A plain client of the API goes through a fleet by its transport alone.
func TestTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		cfg := w.config()
		cfg.Spend = flotilla.USD(1)
		fleet := newFleet(t, cfg)
		client := &http.Client{Transport: fleet.Transport()}
		for _, c := range []struct {
			method, path, body string
			status             int
			want               string
		}{
			{"POST", "/v1/messages", string(request(1).Body), 200, `"type":"message"`},
			{"POST", "/v1/messages?beta=true", strings.Replace(body1, `, "novel": null`, "", 1), 200, "message_stop"},
			{"POST", "/v1/messages/count_tokens", `{"model":"claude-haiku-4-5","messages":[{"role":"user","content":"hi"}]}`, 200, "input_tokens"},
			{"GET", "/v1/models?limit=3", "", 200, `"data"`},
			{"GET", "/v1/models/claude-haiku-4-5", "", 200, `"claude-haiku-4-5`},
			{"POST", "/v1/messages", `{"model":"claude-none","max_tokens":1,"messages":[]}`, 404, `"message":"model: claude-none`},
			{"POST", "/v1/messages", `{"model"`, 400, "invalid_request_error"},
			{"POST", "/v1/messages", strings.Replace(string(request(1).Body), `100`, `100000000`, 1), 429, "billing_error"},
			{"GET", "/v1/files", "", 404, "not_found_error"},
			{"DELETE", "/v1/models/x", "", 404, "not_found_error"},
			{"GET", "/v1/models/../messages/batches", "", 404, "not_found_error"},
		} {
			req, err := http.NewRequestWithContext(t.Context(), c.method, "https://elsewhere.example"+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Api-Key", "sk-ant-mine")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", c.method, c.path, err)
			}
			data, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != c.status || !bytes.Contains(data, []byte(c.want)) {
				t.Errorf("%s %s: %s %s, %v", c.method, c.path, resp.Status, data, err)
			}
			if c.status == http.StatusOK && c.method == "POST" && strings.HasPrefix(c.path, "/v1/messages?") && resp.Header.Get("x-flotilla-org") == "" {
				t.Errorf("headers %v", resp.Header)
			}
			if id := resp.Header.Get("request-id"); id == "" || c.status != http.StatusOK && !bytes.Contains(data, []byte(`"request_id":"`+id+`"`)) {
				t.Errorf("%s %s: request-id %q: %s", c.method, c.path, id, data)
			}
			if c.want == "billing_error" && resp.Header.Get("x-should-retry") != "false" {
				t.Errorf("headers %v", resp.Header)
			}
		}
	})
}

// A call that may have been billed is not repeated by the client's own retries,
// as an error of the connection would be.
func TestTransportInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			sendBody(req)
			return nil, errReset
		}))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://elsewhere.example/v1/messages", bytes.NewReader(request(1).Body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := fleet.Transport().RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if h := resp.Header; resp.StatusCode != http.StatusGatewayTimeout || h.Get("x-should-retry") != "false" || h.Get("x-flotilla-attempts") == "" {
			t.Errorf("%s %v", resp.Status, h)
		}
	})
}

// Free requests go to the next org where the first cannot answer.
func TestForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		cfg := scripted(nil)
		cfg.Orgs = orgs("high", "batch", "low")
		cfg.Transport = func(o flotilla.Org) http.RoundTripper {
			return roundTrip(func(req *http.Request) (*http.Response, error) {
				if req.URL.Path == "/v1/models" {
					return reply(req, http.StatusOK, `{"data":[]}`), nil
				}
				asked = append(asked, o.Name)
				if key := req.Header.Get("X-Api-Key"); key != "sk-ant-emulated-"+o.Name {
					t.Errorf("%s was asked with the key %s", o.Name, key)
				}
				switch o.Name {
				case "high":
					return reply(req, http.StatusTooManyRequests, `{"limit":1}`), nil
				case "batch":
					return nil, errReset
				}
				return reply(req, http.StatusBadRequest, `{"bad":1}`), nil
			})
		}
		fleet := newFleet(t, cfg)
		a, err := fleet.Forward(t.Context(), http.MethodPost, "/v1/messages/count_tokens", "a=b", http.Header{"X-Api-Key": {"mine"}}, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(a.Body)
		_ = a.Body.Close()
		if a.Org != "low" || a.Status != http.StatusBadRequest || string(data) != `{"bad":1}` || strings.Join(asked, " ") != "high batch low" {
			t.Errorf("%+v %s, asked %v", a, data, asked)
		}
	})
}

// Every attempt is told, whatever became of it, and who made it.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []flotilla.Observation
		cfg := scripted(func(n int64, req *http.Request) (*http.Response, error) {
			switch n {
			case 1:
				return after(time.Second, req, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
			case 2:
				sendBody(req)
				return nil, errReset
			case 3:
				return after(2*time.Second, req, http.StatusOK, answerOf("msg_1", 5))
			}
			return streaming(req, strings.NewReader(events[:600])), nil
		})
		cfg.Observe = func(o flotilla.Observation) { got = append(got, o) }
		fleet := newFleet(t, cfg)
		line := newLine(t, fleet, flotilla.LineOptions{Name: "app", Priority: flotilla.Interactive})
		ask(t, line, request(1).Body)
		a, err := line.Do(t.Context(), flotilla.Call{Body: []byte(body1)})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(a.Body)
		_ = a.Body.Close()
		synctest.Wait()
		_, _ = fleet.Snapshot(t.Context()) // the loop has told all
		want := []struct {
			class   string
			attempt int
			final   bool
		}{{"overloaded", 1, false}, {"transport", 2, false}, {"succeeded", 3, true}, {"transport", 1, true}}
		if len(got) != len(want) {
			t.Fatalf("%+v", got)
		}
		for i, w := range want {
			if o := got[i]; o.Class != w.class || o.Attempt != w.attempt || o.Final != w.final || o.Client != "app" ||
				o.Org != "high" || o.Tier != "sync" || o.Priority != flotilla.Interactive {
				t.Errorf("%+v, want %+v", o, w)
			}
		}
		if o := got[2]; o.Latency != 2*time.Second || o.FirstByte != 2*time.Second || o.Queued < time.Second || o.Cost <= 0 || o.InDoubt || o.Usage.Output != 5 {
			t.Errorf("%+v", o)
		}
		if o := got[3]; !o.Estimated || !o.InDoubt || o.Usage.Input != 10 || o.Kept <= 0 || got[2].Kept != 0 || !o.Line {
			t.Errorf("%+v", o)
		}
		s, err := fleet.Snapshot(t.Context())
		if err != nil || len(s.Lanes) != 1 || s.Lanes[0].Refused["overloaded"] != 1 || s.Lanes[0].Cost <= got[2].Cost {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// What a version or a beta changes has a hash of its own; the order of betas
// changes nothing.
func TestWeighAs(t *testing.T) {
	fleet := newFleet(t, scripted(nil))
	body := request(1).Body
	plain, err := fleet.Weigh(body)
	if err != nil {
		t.Fatal(err)
	}
	hash := func(version string, betas ...string) [16]byte {
		f, err := fleet.WeighAs(body, version, betas)
		if err != nil {
			t.Fatal(err)
		}
		return f.Hash
	}
	if hash("") != plain.Hash || hash(flotilla.DefaultVersion) != plain.Hash {
		t.Error("the fleet's own version has another hash")
	}
	if hash("2024-01-01") == plain.Hash || hash("", "a") == plain.Hash || hash("", "a", "b") != hash("", "b", "a") {
		t.Error("versions and betas are not told apart")
	}
	for i := range 200 { // clients choose betas: what is held is bounded
		hash("", strings.Repeat("x", i+1))
	}
}
