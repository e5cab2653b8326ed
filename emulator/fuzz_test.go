package emulator

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"
)

// FuzzRequest: no body makes the reader of requests fall over; what it lets
// pass weighs something, and white space between its parts changes neither
// weight nor hash.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		hello, streamed, ``, `{`, `[]`, `{"messages":"x"}`, `{"model":1,"max_tokens":1,"messages":[1]}`,
		cachedPrompt(3, oneHour, "q"), `{"model":"claude-haiku-4-5","max_tokens":9,"tools":[{"name":"t"}],"messages":[{"role":"user","content":[{"type":"image","source":{}},{"type":"document","source":{"type":"text","data":"é\u6f22"}},{"type":"tool_result","content":[{"type":"text","text":"x"}]}]}]}`,
		`{"model":"claude-opus-4-8","max_tokens":1e3,"messages":[{"role":"user","content":"\ud83d\ude42"}]}`,
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, newer bool) {
		version := versionOld
		if newer {
			version = versionNew
		}
		m := NewModel(unlimited(), 1, epoch)
		a, err := m.Weigh(0, version, body)
		if err != nil {
			return
		}
		if a.Est < 1 || a.MaxTokens < 0 {
			t.Errorf("weighs %+v", a)
		}
		if x := m.Arrive(0, a); !x.Complete() || x.Usage.Output > a.MaxTokens {
			t.Errorf("answered %+v", x)
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, body, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		b, err := m.Weigh(0, version, spaced.Bytes())
		if err != nil {
			t.Fatalf("with white space: %v", err)
		}
		// Tools and blocks of unknown types are weighed by their bytes.
		if b.Hash != a.Hash || b.MaxTokens != a.MaxTokens || b.Est < a.Est {
			t.Errorf("with white space %+v, without %+v", b, a)
		}
	})
}

// Whatever a schema is, a call of its tool has an object for input, and fits.
func FuzzToolSample(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `"x"`, `{"type":"array"}`, `{"type":["object","null"],"required":["a","a",1],"properties":{"a":{"enum":[{"b":[]}]}}}`,
		`{"properties":{"a.b":{"type":"integer","minimum":-2},"c":{"const":"\ud83d"}},"required":["a.b","c","missing"]}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"object","required":["a"],"properties":{"a":{"type":"number"}}}}}`,
	} {
		f.Add([]byte(s), int64(100))
	}
	f.Fuzz(func(t *testing.T, schema []byte, most int64) {
		if !gjson.ValidBytes(schema) || most < 1 {
			return
		}
		c := toolCall("t", string(appendSample(nil, gjson.ParseBytes(schema))), most)
		if !gjson.Valid(c.text) || !gjson.Parse(c.text).IsObject() || c.out < 1 || c.out > most {
			t.Errorf("%s: %+v", schema, c)
		}
	})
}
