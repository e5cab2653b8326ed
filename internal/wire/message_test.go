package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sampleMessage = `{"id":"msg_01","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001",` +
	`"content":[{"type":"text","text":"{\"type\":\"error\"}","citations":null}],"stop_reason":"end_turn","stop_sequence":null,` +
	`"usage":{"input_tokens":12,"cache_creation_input_tokens":30,"cache_read_input_tokens":4,` +
	`"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":6,` +
	`"output_tokens_details":{"thinking_tokens":2},"server_tool_use":{"web_search_requests":3},"service_tier":"standard",` +
	`"inference_geo":"us","speed":null}}`

func TestReadMessage(t *testing.T) {
	got, err := ReadMessage([]byte(sampleMessage))
	want := MessageFacts{
		ID: "msg_01", Model: "claude-haiku-4-5-20251001", StopReason: "end_turn", ServiceTier: "standard", Geo: "us",
		Usage: Usage{Input: 12, CacheWrite5m: 10, CacheWrite1h: 20, CacheRead: 4, Output: 6, WebSearches: 3},
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestReadUsageNulls(t *testing.T) {
	for usage, want := range map[string]Usage{
		`{"input_tokens":null,"output_tokens":null,"cache_creation":null,"server_tool_use":null}`:        {},
		`{"input_tokens":-5,"output_tokens":"7","cache_read_input_tokens":1.5}`:                          {},
		`{"cache_creation_input_tokens":9}`:                                                              {CacheWrite5m: 9},
		`{"cache_creation_input_tokens":9,"cache_creation":{"ephemeral_1h_input_tokens":9}}`:             {CacheWrite1h: 9},
		`{"cache_creation":{"ephemeral_1h_input_tokens":5},"cache_creation_input_tokens":9}`:             {CacheWrite1h: 5, CacheWrite5m: 4},
		`{"cache_creation":{"ephemeral_5m_input_tokens":2},"cache_creation_input_tokens":0}`:             {CacheWrite5m: 2},
		`{"unknown":{"a":[1]},"output_tokens":3,"cache_creation":{"other":1},"server_tool_use":{"x":1}}`: {Output: 3},
	} {
		m, err := ReadMessage([]byte(strings.Replace(sampleMessage, sampleMessage[strings.Index(sampleMessage, `{"input_tokens"`):len(sampleMessage)-1], usage, 1)))
		if d := cmp.Diff(want, m.Usage); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", usage, err, d)
		}
	}
}

// peer-faults 19: an HTTP 200 with an error body was cached for 14 days. What
// is not a whole Message is none.
func TestPeerFault19NotAMessage(t *testing.T) {
	for name, body := range map[string]string{
		"an error":          `{"type":"error","error":{"type":"api_error","message":"x"}}`,
		"HTML":              challenge,
		"nothing":           ``,
		"a list":            `[` + sampleMessage + `]`,
		"cut":               sampleMessage[:len(sampleMessage)-1],
		"no stop_reason":    strings.Replace(sampleMessage, `"stop_reason":"end_turn"`, `"stop_reason":null`, 1),
		"no id":             strings.Replace(sampleMessage, `"id":"msg_01",`, ``, 1),
		"no model":          strings.Replace(sampleMessage, `"model":"claude-haiku-4-5-20251001"`, `"model":null`, 1),
		"no content":        strings.Replace(sampleMessage, `"content":[`, `"contents":[`, 1),
		"content of a user": strings.Replace(sampleMessage, `"assistant"`, `"user"`, 1),
		"no usage":          strings.Replace(sampleMessage, `"usage"`, `"use"`, 1),
		"usage null":        `{"id":"a","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"end_turn","usage":null}`,
		"another type":      strings.Replace(sampleMessage, `"type":"message"`, `"type":"message_batch"`, 1),
	} {
		_, err := ReadMessage([]byte(body))
		var not *NotMessageError
		if isError := name == "an error"; err == nil || isError != errors.Is(err, ErrErrorBody) || isError == errors.As(err, &not) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for media, want := range map[string]bool{
		"application/json": true, "Application/JSON; charset=utf-8": true, "application/problem+json": true,
		"text/html": false, "": false, "text/json": false,
	} {
		if got := IsJSON(header("content-type", media)); got != want {
			t.Errorf("media type %q counts as JSON: %v", media, got)
		}
	}
	if IsJSON(nil) || !IsEventStream(header("content-type", "text/event-stream; charset=utf-8")) || IsEventStream(nil) {
		t.Error("media types without a header, or of a stream")
	}
}

func FuzzReadMessage(f *testing.F) {
	f.Add([]byte(sampleMessage))
	f.Add([]byte(`{"type":"error"}`))
	f.Add([]byte(`{"usage":{"cache_creation":{"ephemeral_5m_input_tokens":9223372036854775807},"cache_creation_input_tokens":9223372036854775807}}`))
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ReadMessage(b)
		u := m.Usage
		if min(u.Input, u.CacheWrite5m, u.CacheRead, u.Output, u.WebSearches) < 0 {
			t.Fatalf("negative usage: %+v", u)
		}
		if err == nil && (m.ID == "" || m.StopReason == "" || m.Model == "") {
			t.Fatalf("taken for a Message: %+v", m)
		}
	})
}
