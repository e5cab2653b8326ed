package emulator

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var streamed = with(hello, `"stream":true`)

// event is one of a stream.
type event struct {
	name string
	data map[string]any
}

func readEvents(t *testing.T, text string) []event {
	t.Helper()
	var out []event
	for _, block := range strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(block, "\ndata: ")
		e := event{name: strings.TrimPrefix(name, "event: ")}
		if !ok {
			t.Fatalf("no data in %q", block)
		}
		if err := json.Unmarshal([]byte(data), &e.data); err != nil {
			t.Fatalf("%v in %q", err, data)
		}
		if e.data["type"] != e.name {
			t.Errorf("event %s has type %v", e.name, e.data["type"])
		}
		out = append(out, e)
	}
	return out
}

func names(es []event) []string {
	var out []string
	for _, e := range es {
		if n := len(out); n == 0 || out[n-1] != e.name {
			out = append(out, e.name)
		}
	}
	return out
}

// The order of events of claude-api.md 1.5, and an answer that is word for
// word the one that the JSON route gives.
func TestStreamSaysWhatJSONSays(t *testing.T) {
	_, url := serve(t, Options{Seed: 7})
	_, other := serve(t, Options{Seed: 7})
	res, body := ask{body: streamed}.do(t, url)
	if got := res.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	if res.Header.Get("Cache-Control") != "no-cache" || res.Header.Get("Anthropic-Ratelimit-Requests-Limit") == "" {
		t.Errorf("headers %v", res.Header)
	}
	es := readEvents(t, string(body))
	want := []string{"message_start", "content_block_start", "ping", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}
	if d := cmp.Diff(want, names(es)); d != "" {
		t.Error(d)
	}
	var m struct {
		ID      string
		Content []struct{ Text string }
		Usage   map[string]any
		Stop    string `json:"stop_reason"`
	}
	_, whole := ask{body: hello}.do(t, other)
	if err := json.Unmarshal(whole, &m); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	n := 0
	for _, e := range es {
		switch e.name {
		case "message_start":
			msg := e.data["message"].(map[string]any)
			if msg["id"] != m.ID || msg["usage"].(map[string]any)["input_tokens"] != m.Usage["input_tokens"] {
				t.Errorf("message_start %v", msg)
			}
		case "content_block_delta":
			n++
			text.WriteString(e.data["delta"].(map[string]any)["text"].(string))
		case "message_delta":
			if e.data["usage"].(map[string]any)["output_tokens"] != m.Usage["output_tokens"] || e.data["delta"].(map[string]any)["stop_reason"] != m.Stop {
				t.Errorf("message_delta %v", e.data)
			}
		}
	}
	if text.String() != m.Content[0].Text {
		t.Errorf("streamed %q, whole %q", text.String(), m.Content[0].Text)
	}
	if n < 1 || n > 12 {
		t.Errorf("%d deltas", n)
	}
}

func TestStreamPreWarm(t *testing.T) {
	_, url := serve(t, Options{})
	_, body := ask{body: strings.Replace(streamed, "100", "0", 1)}.do(t, url)
	want := []string{"message_start", "ping", "message_delta", "message_stop"}
	if d := cmp.Diff(want, names(readEvents(t, string(body)))); d != "" {
		t.Error(d)
	}
}

// broken are worlds in which every stream breaks in one way.
func broken(change func(*Scenario)) Options {
	sc, _ := Named("unlimited")
	change(&sc)
	return Options{Scenario: sc, Seed: 2}
}

func TestCutStreams(t *testing.T) {
	_, url := serve(t, broken(func(sc *Scenario) { sc.Flaky.Cut = 1 }))
	orderly := 0
	for i := range 20 {
		res, err := ask{body: strings.Replace(streamed, "Hello", strings.Repeat("x", i+1), 1)}.send(t, url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err == nil {
			orderly++
		}
		if strings.Contains(string(body), "message_stop") || !strings.Contains(string(body), "message_start") {
			t.Errorf("cut stream: %s", body)
		}
	}
	if orderly == 0 || orderly == 20 {
		t.Errorf("%d of 20 end in order; both kinds should occur", orderly)
	}
}

func TestOverloadInsideStreams(t *testing.T) {
	_, url := serve(t, broken(func(sc *Scenario) {
		sc.Storm = Storm{Phases: []StormPhase{{For: Never, Share: 1e-9}}, Streams: 1}
	}))
	first := 0
	for i := range 20 {
		res, body := ask{body: strings.Replace(streamed, "Hello", strings.Repeat("x", i+1), 1)}.do(t, url)
		es := readEvents(t, string(body))
		last := es[len(es)-1]
		if res.StatusCode != 200 || last.name != "error" || last.data["error"].(map[string]any)["type"] != "overloaded_error" {
			t.Errorf("%d %s", res.StatusCode, body)
		}
		if len(es) == 1 {
			first++
		}
	}
	if first == 0 || first == 20 {
		t.Errorf("%d of 20 are errors at once; both kinds should occur", first)
	}
}

// Resets reach the client as resets, and what they billed is counted.
func TestResets(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Scenario)
		body   string
		billed bool
	}{
		"before":              {func(sc *Scenario) { sc.Flaky.Before = 1 }, hello, true},
		"before, stream":      {func(sc *Scenario) { sc.Flaky.Before = 1 }, streamed, true},
		"after":               {func(sc *Scenario) { sc.Flaky.After = 1 }, hello, true},
		"after, stream":       {func(sc *Scenario) { sc.Flaky.After = 1 }, streamed, true},
		"a reused connection": {func(sc *Scenario) { sc.Flaky.Reused = 1 }, hello, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, url := serve(t, broken(c.change))
			before := int64(0)
			if !c.billed { // the first request of a connection passes
				ask{body: hello}.do(t, url)
				before = s.Stats().Billed
			}
			res, err := ask{body: c.body}.send(t, url)
			if err == nil {
				_, err = io.ReadAll(res.Body)
				_ = res.Body.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "reset by peer") {
				t.Errorf("the client saw %v", err)
			}
			st := s.Stats()
			if billed := st.Billed > before; billed != c.billed || st.Succeeded > 1 {
				t.Errorf("billed %d after %d, succeeded %d", st.Billed, before, st.Succeeded)
			}
		})
	}
}
