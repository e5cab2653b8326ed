package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The events of a Message have the order and the names that the API's have.
func TestAppendEvents(t *testing.T) {
	got, err := AppendEvents(nil, []byte(wholeMessage))
	if err != nil {
		t.Fatal(err)
	}
	want := sse(
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],`+
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":null,"output_tokens":1,`+
			`"service_tier":"standard","cache_read_input_tokens":7},"container":null}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me \"think\" \ud83d\ude00"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"","citations":[]}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"жλ漢\nend"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"type":"char_location","n":1}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"n":2}}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\": [1, \"\\u00e9\\\\\"]}"}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"s","name":"w","input":{}}}`,
		`{"type":"content_block_stop","index":3}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"container":{"id":"c"}},`+
			`"usage":{"input_tokens":25,"cache_creation_input_tokens":null,"output_tokens":89,"service_tier":"standard","cache_read_input_tokens":7}}`,
		`{"type":"message_stop"}`,
	)
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// An Assembler makes the same bytes of the events again.
func TestAppendEventsInverts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message, _ := drawMessage(t)
		stream, err := AppendEvents(nil, []byte(message))
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := assemble(string(stream), 0)
		if d := cmp.Diff(message, string(again)); err != nil || d != "" {
			t.Fatalf("%v (-want +got):\n%s", err, d)
		}
	})
}

// A Message over several lines may not tear its events apart.
func TestAppendEventsOfManyLines(t *testing.T) {
	spread := strings.ReplaceAll(wholeMessage, `,"`, ",\r\n\t\"")
	stream, err := AppendEvents(nil, []byte(spread))
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := assemble(string(stream), 0)
	if err != nil || !sameJSON(again, []byte(spread)) {
		t.Errorf("%s, %v", again, err)
	}
}

func TestAppendEventsRefusesWhatIsNoMessage(t *testing.T) {
	for _, body := range []string{"", "{}", `{"type":"error","error":{}}`, wholeMessage[:40]} {
		if got, err := AppendEvents([]byte("x"), []byte(body)); err == nil || string(got) != "x" {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
	var bad *NotMessageError
	if _, err := AppendEvents(nil, []byte(`{"type":"message"}`)); !errors.As(err, &bad) {
		t.Errorf("%v", err)
	}
}

func FuzzAppendEvents(f *testing.F) {
	f.Add([]byte(wholeMessage))
	f.Add([]byte(strings.Replace(wholeMessage, `"content":[`, `"content":[null,7,[],{},{"type":"text","text":5},{"type":"tool_use","input":"x"},`, 1)))
	f.Fuzz(func(t *testing.T, message []byte) {
		stream, err := AppendEvents(nil, message)
		if err != nil {
			return
		}
		// What is between events is what ends one: no line of a value gets loose.
		for event := range bytes.SplitSeq(bytes.TrimSuffix(stream, []byte("\n\n")), []byte("\n\n")) {
			if !bytes.HasPrefix(event, []byte("event: ")) || bytes.Count(event, []byte("\n")) != 1 {
				t.Fatalf("an event is %q", event)
			}
		}
	})
}
