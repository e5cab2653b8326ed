package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var bodySeeds = []string{
	`{}`, ` { } `, `{"stream":true}`, `{"a":1,"stream":true}`, `{"stream":false,"a":1}`, `{"a":1,"stream":true,"b":[1, 2]}`,
	"{ \"a\" : \"x y\\\" \\\\\" ,\n\t\"b\":{\"stream\" : true , \"c\":[ ]} }", `{"a":1.0,"b":1}`, `[1, 2]`, `{"stre\u0061m":true,"a":2}`,
	`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"жλ漢 \u0436 \ud83d\ude00"}],"stream":true}`,
	`{"tools":[{"type":"web_search_1"}],"thinking":{"type":"enabled"},"cache_control":{"type":"ephemeral","ttl":"1h"}}`,
	`{"messages":[{"role":"assistant","content":[{"source":{"data":"QQ==","type":"base64"},"type":"image"}]}]}`,
	`{"model":"a","model":"b"}`, "\u2028{\"a\":\"\u2028\"}", `{"a":"\ud83d"}`,
}

// slowCanonical is the twin of Canonical: byte by byte, with a state for
// everything, and the members of the object put together again.
func slowCanonical(body []byte) []byte {
	var tight []byte
	in, esc := false, false
	for _, ch := range body {
		switch {
		case esc:
			esc = false
		case in && ch == '\\':
			esc = true
		case ch == '"':
			in = !in
		}
		if in || !strings.ContainsRune(" \t\r\n", rune(ch)) {
			tight = append(tight, ch)
		}
	}
	if len(tight) == 0 || tight[0] != '{' {
		return tight
	}
	var kept [][]byte
	for _, m := range splitMembers(tight[1 : len(tight)-1]) {
		if !bytes.HasPrefix(m, []byte(`"stream":`)) {
			kept = append(kept, m)
		}
	}
	return append(append([]byte{'{'}, bytes.Join(kept, []byte{','})...), '}')
}

// splitMembers cuts at the commas that are in no string and no nesting.
func splitMembers(b []byte) (parts [][]byte) {
	depth, start, in, esc := 0, 0, false, false
	for i, ch := range b {
		switch {
		case esc:
			esc = false
		case in && ch == '\\':
			esc = true
		case ch == '"':
			in = !in
		case in:
		case ch == '{' || ch == '[':
			depth++
		case ch == '}' || ch == ']':
			depth--
		case ch == ',' && depth == 0:
			parts = append(parts, b[start:i])
			start = i + 1
		}
	}
	if start < len(b) {
		parts = append(parts, b[start:])
	}
	return parts
}

// FuzzBody holds everything that is done to a request body to slow twins.
func FuzzBody(f *testing.F) {
	for _, s := range append(bodySeeds, jsonSeeds...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		facts, err := Parse(b)
		if facts.InUpper() < 0 || facts.In(1.3) < 0 {
			t.Fatalf("negative tokens: %+v", facts)
		}
		if Valid(b) != nil {
			return
		}
		if err == nil && facts.In(1.3) > facts.InUpper() {
			t.Fatalf("estimate %d over the bound %d: %+v", facts.In(1.3), facts.InUpper(), facts)
		}
		canon := Canonical(nil, b)
		if want := slowCanonical(b); !bytes.Equal(canon, want) {
			t.Fatalf("canonical form %q, by the twin %q", canon, want)
		}
		if again := Canonical(nil, canon); !bytes.Equal(canon, again) {
			t.Fatalf("canonical form of %q is %q", canon, again)
		}
		if line := OneLine(nil, b); bytes.ContainsAny(line, "\r\n") || !bytes.Equal(Canonical(nil, line), canon) {
			t.Fatalf("on one line: %q", line)
		}
		if err == nil {
			checkSplice(t, b, facts)
		}
	})
}

func checkSplice(t *testing.T, b []byte, facts Facts) {
	wire, streams := SpliceStream(b)
	var m map[string]any
	if err := json.Unmarshal(wire, &m); err != nil {
		t.Fatalf("spliced %q: %v", wire, err)
	}
	if facts.Has&HasStream != 0 && (!bytes.Equal(wire, b) || streams != facts.Stream) {
		t.Fatalf("a body with a stream field became %q, streams %v", wire, streams)
	}
	if streams != (m["stream"] == true) {
		t.Fatalf("%q: streams is %v", wire, streams)
	}
	if !bytes.Equal(Canonical(nil, wire), Canonical(nil, b)) {
		t.Fatalf("the wire copy %q is another body", wire)
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		" { \"a\" : 1.50 ,\r\n \"b\":\" x\\\" \" , \"stream\": true } ": `{"a":1.50,"b":" x\" "}`,
		`{"stream":true}`:                     `{}`,
		`{"stream":false,"a":1}`:              `{"a":1}`,
		`{"a":{"stream":true}}`:               `{"a":{"stream":true}}`,
		`{"b":1,"a":2}`:                       `{"b":1,"a":2}`,
		"{\"a\":\"caf\u00e9 \u2028\\u00e9\"}": "{\"a\":\"caf\u00e9 \u2028\\u00e9\"}",
	} {
		if got := string(Canonical(nil, []byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	if got := string(Canonical([]byte("x"), []byte(`{"a": 1}`))); got != `x{"a":1}` {
		t.Errorf("appended: %s", got)
	}
}

func TestSpliceStream(t *testing.T) {
	for _, c := range []struct {
		in, want string
		streams  bool
	}{
		{`{"model":"m"}`, `{"stream":true,"model":"m"}`, true},
		{` { "model":"m"}`, ` {"stream":true, "model":"m"}`, true},
		{`{}`, `{"stream":true}`, true},
		{`{ }`, `{"stream":true }`, true},
		{`{"a":1,"stream":true}`, `{"a":1,"stream":true}`, true},
		{`{"a":1,"stream":false}`, `{"a":1,"stream":false}`, false},
		{`{"a":{"stream":true}}`, `{"stream":true,"a":{"stream":true}}`, true},
	} {
		got, streams := SpliceStream([]byte(c.in))
		if string(got) != c.want || streams != c.streams {
			t.Errorf("%s: %s, streams %v; want %s, %v", c.in, got, streams, c.want, c.streams)
		}
	}
}

func TestOneLine(t *testing.T) {
	in := "{\r\n  \"a\": \"x\u2028y \\n\",\n\t\"b\": [1,\n2]\n}\n"
	if got, want := string(OneLine(nil, []byte(in))), "{  \"a\": \"x\u2028y \\n\",\t\"b\": [1,2]}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestKeyer(t *testing.T) {
	body := []byte(`{"model":"m"}`)
	base := NewKeyer("https://api.anthropic.com:443", "2023-06-01", []string{"b", "a"})
	key := base.Key(body)
	if again := NewKeyer("https://api.anthropic.com:443", "2023-06-01", []string{"a", "b", "a"}).Key(body); again != key {
		t.Error("the order of betas, or a doubled one, makes a difference")
	}
	for name, k := range map[string]*Keyer{
		"provider": NewKeyer("http://127.0.0.1:4010", "2023-06-01", []string{"a", "b"}),
		"version":  NewKeyer("https://api.anthropic.com:443", "2026-10-21", []string{"a", "b"}),
		"betas":    NewKeyer("https://api.anthropic.com:443", "2023-06-01", []string{"a"}),
		"joints":   NewKeyer("https://api.anthropic.com:443", "2023-06-01", []string{"ab"}),
	} {
		if k.Key(body) == key {
			t.Errorf("another %s gives the same key", name)
		}
	}
	if base.Key([]byte(`{"model":"n"}`)) == key || base.Key(body) != key {
		t.Error("the key is not the body's")
	}
	// echo -n '{"model":"m"}' | sha256sum
	if got := Hex16(BodyHash(body)); got != "548f58d1c36c715b" {
		t.Errorf("body hash %s", got)
	}
}

func TestHeader(t *testing.T) {
	got := Header("sk-ant-emulated-high", "2023-06-01", []string{"a", "b"})
	want := map[string][]string{
		"X-Api-Key": {"sk-ant-emulated-high"}, "Anthropic-Version": {"2023-06-01"},
		"Content-Type": {"application/json"}, "Accept": {"application/json"}, "Anthropic-Beta": {"a,b"},
	}
	if d := cmp.Diff(want, map[string][]string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if h := Header("k", "v", nil); h["Anthropic-Beta"] != nil {
		t.Errorf("no betas: %v", h)
	}
}
