package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// assemble feeds a stream in chunks of n bytes (0: whole).
func assemble(stream string, n int) ([]byte, *Assembler, error) {
	a := &Assembler{}
	msg, _, err := reassemble(a, stream, n)
	return msg, a, err
}

func reassemble(a *Assembler, stream string, n int) ([]byte, MessageFacts, error) {
	if n == 0 {
		n = max(len(stream), 1)
	}
	for len(stream) > 0 {
		k := min(n, len(stream))
		if _, err := a.Write([]byte(stream[:k])); err != nil {
			break
		}
		stream = stream[k:]
	}
	return a.Finish(nil)
}

func sse(events ...string) string {
	var b strings.Builder
	for _, data := range events {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(data), &e)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Type, data)
	}
	return b.String()
}

const startEvent = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],` +
	`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":null,"output_tokens":1,"service_tier":"standard"}}}`

var wholeStream = []string{
	startEvent,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"ping"}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me \"think\" "}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\ud83d"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\ude00"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"","citations":null}}`,
	`{"type":"event_of_tomorrow","index":1}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"жλ漢\n"}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"delta_of_tomorrow","text":"no"}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"type":"char_location","n":1}}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"n":2}}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"end"}}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\": [1, "}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"\\u00e9\\\\\"]}"}}`,
	`{"type":"content_block_stop","index":2}`,
	`{"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"s","name":"w","input":{}}}`,
	`{"type":"content_block_stop","index":3}`,
	`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"container":{"id":"c"}},` +
		`"usage":{"output_tokens":89,"input_tokens":null,"cache_read_input_tokens":7}}`,
	`{"type":"message_stop"}`,
}

const wholeMessage = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` +
	`{"type":"thinking","thinking":"Let me \"think\" \ud83d\ude00","signature":"c2ln"},` +
	`{"type":"text","text":"жλ漢\nend","citations":[{"type":"char_location","n":1},{"n":2}]},` +
	`{"type":"tool_use","id":"toolu_1","name":"f","input":{"a": [1, "\u00e9\\"]}},` +
	`{"type":"server_tool_use","id":"s","name":"w","input":{}}],` +
	`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":null,"output_tokens":89,` +
	`"service_tier":"standard","cache_read_input_tokens":7},"container":{"id":"c"}}`

func TestAssembler(t *testing.T) {
	stream := sse(wholeStream...)
	reused := &Assembler{}
	for name, s := range map[string]string{
		"plain":             stream,
		"CRLF":              strings.ReplaceAll(stream, "\n", "\r\n"),
		"no space":          strings.ReplaceAll(stream, "data: ", "data:"),
		"padded":            strings.ReplaceAll(stream, "data: {", "data:   { \t"),
		"comments, ids":     "\ufeff: hello\nid: 7\nretry: 5\n\n" + strings.ReplaceAll(stream, "event: ping", ": c\nid\nevent: ping"),
		"data in two lines": strings.ReplaceAll(stream, `"index":0,`, "\"index\":0\ndata:,"),
		"no last blank":     strings.TrimSuffix(stream, "\n\n"),
		"no event names":    strings.ReplaceAll(stream, "event: ", "evt: "),
		"more after it":     stream + "data: nonsense\n\n",
	} {
		for _, n := range []int{0, 1, 2, 3, 7, 64, 1000} {
			reused.Reset()
			msg, facts, err := reassemble(reused, s, n)
			if d := cmp.Diff(wholeMessage, string(msg)); err != nil || d != "" {
				t.Fatalf("%s, in chunks of %d: %v (-want +got):\n%s", name, n, err, d)
			}
			if want := (Usage{Input: 25, CacheRead: 7, Output: 89}); facts.Usage != want || facts.StopReason != "tool_use" {
				t.Fatalf("%s: %+v", name, facts)
			}
		}
	}
}

// A stream cut anywhere before message_stop is no answer, and what it cost so
// far is known.
func TestAssemblerCut(t *testing.T) {
	stream := sse(wholeStream...)
	last := strings.Index(stream, `{"type":"message_stop"}`)
	for cut := range last {
		_, a, err := assemble(stream[:cut], 0)
		if !errors.Is(err, ErrCut) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		f := a.Facts()
		if a.Started() && (f.Usage.Input != 25 || f.Usage.Output < 1 || f.Model != "m") {
			t.Fatalf("cut at %d: %+v", cut, f)
		}
	}
	if _, a, _ := assemble(stream[:last], 0); a.Facts().Usage.Output != 89 {
		t.Errorf("after message_delta: %+v", a.Facts())
	}
}

// An error event after a 200, first or in the middle (facts/claude-api.md 1.5).
func TestAssemblerErrorEvent(t *testing.T) {
	overload := `{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}`
	for n, events := range map[int][]string{0: {overload}, 3: append(append([]string{}, wholeStream[:3]...), overload, wholeStream[3])} {
		_, a, err := assemble(sse(events...), 5)
		var s *StreamError
		if !errors.As(err, &s) || s.Refusal.Class != Overloaded || string(s.Body) != overload || !a.Ended() {
			t.Errorf("after %d events: %v", n, err)
		}
		if got := a.Facts().Usage.Input; (got == 25) != (n > 0) {
			t.Errorf("after %d events: %d input tokens", n, got)
		}
	}
}

func TestAssemblerMalformed(t *testing.T) {
	block := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	for name, events := range map[string][]string{
		"not JSON":         {startEvent, `{"type":`},
		"block never open": {startEvent, `{"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"x"}}`},
		"never started":    {block, `{"type":"message_stop"}`},
		"only the end":     {`{"type":"message_stop"}`},
		"no stop_reason":   {startEvent, block, `{"type":"message_stop"}`},
		"no message":       {`{"type":"message_start"}`, block, `{"type":"message_stop"}`},
	} {
		_, _, err := assemble(sse(events...), 0)
		var not *NotMessageError
		if !errors.As(err, &not) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a := &Assembler{}
	long := []byte("data: " + strings.Repeat("x", 1<<20))
	for range 40 {
		_, _ = a.Write(long[6:])
	}
	if _, _, err := a.Finish(nil); err == nil || !strings.Contains(err.Error(), "32 MiB") || len(a.events.line) > MaxLine {
		t.Errorf("an endless line: %v, %d bytes kept", err, len(a.events.line))
	}
}

// A tool's input cut by max_tokens is no JSON: the block keeps its first input.
func TestAssemblerCutInput(t *testing.T) {
	msg, _, err := assemble(sse(
		startEvent,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\": \"tr"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}}`,
		`{"type":"message_stop"}`,
	), 0)
	if err != nil || !bytes.Contains(msg, []byte(`"name":"f","input":{}}`)) {
		t.Errorf("%s (%v)", msg, err)
	}
}

func TestAssemblerProgress(t *testing.T) {
	a := &Assembler{}
	var seen []int64
	for _, e := range wholeStream {
		_, _ = a.Write([]byte(sse(e)))
		if n := a.Out(); len(seen) == 0 || seen[len(seen)-1] != n {
			seen = append(seen, n)
		}
	}
	for i := 1; i < len(seen); i++ {
		if seen[i] <= seen[i-1] {
			t.Errorf("progress went back: %v", seen)
		}
	}
	if len(seen) < 5 || seen[len(seen)-1] != 89 {
		t.Errorf("progress %v, want several steps to 89", seen)
	}
}

// drawMessage makes a Message and a way to stream it.
func drawMessage(t *rapid.T) (message string, stream string) {
	var content, events []string
	for i := range rapid.IntRange(0, 4).Draw(t, "blocks") {
		b, e := drawBlock(t, i)
		content = append(content, b)
		events = append(events, e...)
	}
	in, out := rapid.IntRange(0, 1e6).Draw(t, "in"), rapid.IntRange(1, 1e5).Draw(t, "out")
	stop := rapid.SampledFrom([]string{"end_turn", "max_tokens", "tool_use", "refusal"}).Draw(t, "stop")
	msg := func(content, stop string, out int) string {
		return fmt.Sprintf(`{"id":"msg_x","type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":%s,"usage":{"input_tokens":%d,"output_tokens":%d}}`,
			content, stop, in, out)
	}
	all := append([]string{`{"type":"message_start","message":` + msg("", "null", 1) + `}`}, events...)
	all = append(all, fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":%d}}`, stop, out), `{"type":"message_stop"}`)
	var s strings.Builder
	for _, e := range all {
		if rapid.Bool().Draw(t, "ping") {
			s.WriteString(sse(`{"type":"ping"}`))
		}
		s.WriteString(sse(e))
	}
	return msg(strings.Join(content, ","), fmt.Sprintf("%q", stop), out), s.String()
}

func drawBlock(t *rapid.T, index int) (block string, events []string) {
	start := func(b string) {
		events = append(events, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, b))
	}
	deltas := func(kind, field string, whole string) {
		for _, piece := range drawPieces(t, whole) {
			p, _ := json.Marshal(piece)
			events = append(events, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, index, kind, field, p))
		}
	}
	text := rapid.String().Draw(t, "text")
	quoted, _ := json.Marshal(text)
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		block = fmt.Sprintf(`{"type":"text","text":%s}`, quoted)
		start(`{"type":"text","text":""}`)
		deltas("text_delta", "text", text)
	case 1:
		block = fmt.Sprintf(`{"type":"thinking","thinking":%s,"signature":"sig"}`, quoted)
		start(`{"type":"thinking","thinking":"","signature":""}`)
		deltas("thinking_delta", "thinking", text)
		deltas("signature_delta", "signature", "sig")
	case 2:
		input := fmt.Sprintf(`{"a":%s,"b":[{},null]}`, quoted)
		block = fmt.Sprintf(`{"type":"tool_use","id":"t","name":"f","input":%s}`, input)
		start(`{"type":"tool_use","id":"t","name":"f","input":{}}`)
		deltas("input_json_delta", "partial_json", input)
	default:
		block = fmt.Sprintf(`{"type":"result_of_tomorrow","content":[%s]}`, quoted)
		start(block)
	}
	return block, append(events, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

// drawPieces cuts a string at rune boundaries.
func drawPieces(t *rapid.T, s string) (pieces []string) {
	runes := []rune(s)
	for len(runes) > 0 {
		n := rapid.IntRange(1, len(runes)).Draw(t, "piece")
		pieces = append(pieces, string(runes[:n]))
		runes = runes[n:]
	}
	return pieces
}

// A Message cut into events and assembled again is the same bytes, however the
// stream is chunked.
func TestAssembleInvertsSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message, stream := drawMessage(t)
		msg, _, err := assemble(stream, rapid.IntRange(0, 50).Draw(t, "chunk"))
		if d := cmp.Diff(message, string(msg)); err != nil || d != "" {
			t.Fatalf("%v (-want +got):\n%s", err, d)
		}
		if twin, err := slowAssemble(stream); err != nil || !sameJSON(msg, twin) {
			t.Fatalf("the twin makes %s (%v) of it", twin, err)
		}
	})
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

// slowAssemble is the twin of the Assembler: the whole stream at once, split by
// a scanner, everything decoded into maps.
func slowAssemble(stream string) ([]byte, error) {
	var message map[string]any
	var content []any
	partial := map[int]string{}
	sc := bufio.NewScanner(strings.NewReader(stream))
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data:")
		if !ok {
			continue
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return nil, err
		}
		index, _ := e["index"].(float64)
		delta, _ := e["delta"].(map[string]any)
		switch e["type"] {
		case "message_start":
			message = e["message"].(map[string]any)
		case "content_block_start":
			content = append(content, e["content_block"])
		case "content_block_delta":
			b := content[int(index)].(map[string]any)
			switch delta["type"] {
			case "text_delta":
				b["text"] = b["text"].(string) + delta["text"].(string)
			case "thinking_delta":
				b["thinking"] = b["thinking"].(string) + delta["thinking"].(string)
			case "signature_delta":
				b["signature"] = b["signature"].(string) + delta["signature"].(string)
			case "input_json_delta":
				partial[int(index)] += delta["partial_json"].(string)
			}
		case "message_delta":
			for k, v := range delta {
				message[k] = v
			}
			for k, v := range e["usage"].(map[string]any) {
				message["usage"].(map[string]any)[k] = v
			}
		}
	}
	for i, text := range partial {
		var input any
		if err := json.Unmarshal([]byte(text), &input); err != nil {
			return nil, err
		}
		content[i].(map[string]any)["input"] = input
	}
	message["content"] = append([]any{}, content...)
	return json.Marshal(message)
}

func FuzzAssembler(f *testing.F) {
	stream := sse(wholeStream...)
	f.Add([]byte(stream), uint8(0))
	f.Add([]byte(stream[:len(stream)/2]), uint8(7))
	f.Add([]byte(sse(`{"type":"error","error":{"type":"overloaded_error"}}`)), uint8(1))
	f.Add([]byte("data:\n\ndata: null\n\ndata: {\"type\":1}\r\n\r\n:\n"), uint8(2))
	f.Add([]byte(sse(startEvent, `{"type":"message_delta","delta":[],"usage":5}`, `{"type":"content_block_start","index":-1,"content_block":[]}`)), uint8(3))
	f.Add([]byte(sse(startEvent, `{"type":"message_delta","delta":{"content":1,"stop_reason":"x"},"usage":{"output_tokens":"q"}}`, `{"type":"message_stop"}`)), uint8(0))
	f.Fuzz(func(t *testing.T, in []byte, chunk uint8) {
		whole, _, errWhole := assemble(string(in), 0)
		pieces, a, err := assemble(string(in), int(chunk)%11+1)
		if fmt.Sprint(errWhole) != fmt.Sprint(err) || !bytes.Equal(whole, pieces) {
			t.Fatalf("whole: %s (%v); in pieces: %s (%v)", whole, errWhole, pieces, err)
		}
		if err == nil {
			if _, err := ReadMessage(whole); err != nil {
				t.Fatalf("%s: %v", whole, err)
			}
		}
		if f := a.Facts(); f.Usage.Output < 0 || f.Usage.Input < 0 {
			t.Fatalf("%+v", f)
		}
	})
}
