package wire

import "testing"

// What the batch API refuses, by facts/claude-api.md 4.3.
func TestBatchable(t *testing.T) {
	for _, c := range []struct{ members, why string }{
		{`"max_tokens":1`, ""},
		{`"max_tokens":1,"stream":true`, "stream"},
		{`"max_tokens":1,"stream":false`, ""},
		{`"max_tokens":1,"stream":null`, ""},
		{`"max_tokens":1,"speed":"fast"`, "speed"},
		{`"max_tokens":1,"speed":null`, ""},
		{`"max_tokens":0`, "max_tokens"},
		{`"max_tokens":null`, ""}, // absent: the API's own error, in either tier
		{`"max_tokens":1,"store":true`, "store"},
		{`"max_tokens":1,"store":null`, ""},
		{`"max_tokens":1,"previous_thread_event_id":"e"`, "previous_thread_event_id"},
		{`"max_tokens":1,"cache_hint":{}`, "cache_hint"},
		{`"max_tokens":1,"context_hint":{}`, "context_hint"},
		{`"max_tokens":1,"research_preview_2026_02":"active"`, "research_preview_2026_02"},
		{`"max_tokens":1,"research_preview_2026_02":"off"`, ""},
		{`"max_tokens":1,"tools":[{"name":"store"}],"metadata":{"stream":true,"speed":"fast"}`, ""},
	} {
		f := mustParse(t, `{"model":"m",`+c.members+`,"messages":[]}`)
		ok, why := Batchable(&f)
		if ok != (c.why == "") || why != c.why || f.Alone == ok {
			t.Errorf("%s: batchable %v, for %q, alone %v; want for %q", c.members, ok, why, f.Alone, c.why)
		}
	}
}
