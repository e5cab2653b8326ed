package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t testing.TB, body string) Facts {
	t.Helper()
	f, err := Parse([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return f
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       Facts // compared without Shape and text
	}{
		{
			"plain", `{"model":"claude-sonnet-4-6","max_tokens":120,"messages":[{"role":"user","content":"hi"}]}`,
			Facts{Model: "claude-sonnet-4-6", MaxTokens: 120, Has: HasModel | HasMaxTokens | HasMessages, Messages: 1},
		},
		{
			"all parameters", ` { "model" : "m" , "max_tokens":1e3, "stream":true,"temperature":0.5,"top_p":0.9,"top_k":40,
			"thinking":{"budget_tokens":9,"type":"enabled"},"tool_choice":{"type":"any"},"inference_geo":"us","speed":"fast",
			"service_tier":"auto","system":"s","cache_control":{"type":"ephemeral"},"messages":[] }`,
			Facts{
				Model: "m", MaxTokens: 1000, Stream: true, Temperature: 0.5, TopP: 0.9, TopK: 40, Thinking: "enabled",
				ToolChoice: "any", Geo: "us", Speed: "fast", ServiceTier: "auto", Cache5m: true, Alone: true,
				Has: HasModel | HasMaxTokens | HasStream | HasTemperature | HasTopP | HasTopK | HasThinking | HasToolChoice |
					HasGeo | HasSpeed | HasServiceTier | HasSystem | HasCacheControl | HasMessages,
			},
		},
		{"nothing", `{}`, Facts{MaxTokens: -1}},
		{
			"nulls are absent", `{"model":null,"max_tokens":null,"stream":null,"temperature":null,"messages":null,"top_k":null}`,
			Facts{MaxTokens: -1},
		},
		{"escaped name and value", `{"mod\u0065l":"a\u0062","max_tokens":0}`, Facts{Model: "ab", Has: HasModel | HasMaxTokens, Alone: true}},
		{
			"prefill", `{"messages":[{"role":"user","content":"a"},{"content":[{"type":"text","text":"b"}],"role":"assistant"}]}`,
			Facts{MaxTokens: -1, Has: HasMessages, Messages: 2, Prefill: true},
		},
		{
			"media, type after source", `{"messages":[{"role":"user","content":[
				{"source":{"data":"QUJD","media_type":"image/png","type":"base64"},"type":"image"},
				{"type":"document","source":{"type":"url","url":"https://x/y.pdf"},"cache_control":{"type":"ephemeral","ttl":"1h"}},
				{"type":"document","source":{"type":"text","media_type":"text/plain","data":"words"}},
				{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"file","file_id":"f"}}]}},
				{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"base64","data":"QQ=="}}]}]}]}`,
			Facts{MaxTokens: -1, Has: HasMessages, Messages: 1, Images: 3, Documents: 1, Cache1h: true},
		},
		{
			"assistant's document", `{"messages":[{"content":[{"type":"document","source":{"type":"base64","data":""}}],"role":"assistant"},{"role":"user","content":"x"}]}`,
			Facts{MaxTokens: -1, Has: HasMessages, Messages: 2, Documents: 1, AssistantDocument: true},
		},
		{
			"tools", `{"tools":[{"name":"a","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},{"type":"bash_20250124","name":"bash"},{"type":"custom","name":"c"}]}`,
			Facts{MaxTokens: -1, Has: HasTools, Tools: 3, Cache5m: true},
		},
		{
			"metered tool", `{"tools":[{"name":"a"},{"type":"web_search_20260209","name":"web_search"},{"type":"code_execution_20260120"}]}`,
			Facts{MaxTokens: -1, Has: HasTools, Tools: 3, Metered: "web_search_20260209"},
		},
		{"metered field", `{"mcp_servers":[{"url":"u"}],"container":null}`, Facts{MaxTokens: -1, Metered: "mcp_servers"}},
		{"empty metered field", `{"mcp_servers":[],"container":null}`, Facts{MaxTokens: -1}},
		{"compaction", `{"context_management":{"edits":[{"type":"compact_20260112"}]}}`, Facts{MaxTokens: -1, Metered: "context_management"}},
		{"editing", `{"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}}`, Facts{MaxTokens: -1}},
	} {
		got := mustParse(t, c.body)
		got.Shape, got.text = 0, load{}
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(Facts{}, load{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"a","x":1,"model":"b"}`:      "model: occurs twice",
		`{"model":"a","x":1,"mo\u0064el":"b"}`: "model: occurs twice",
		`{"model":1}`:                          "model: is not a string",
		`{"max_tokens":"5"}`:                   "max_tokens: is not a whole number",
		`{"max_tokens":1.5}`:                   "max_tokens: is not a whole number",
		`{"max_tokens":-1}`:                    "max_tokens: is negative",
		`{"stream":1}`:                         "stream: is not true or false",
		`{"temperature":"hot"}`:                "temperature: is not a number",
		`{"messages":{}}`:                      "messages: is not a list",
		`{"messages":["hi"]}`:                  "messages: holds something that is not an object",
		`[]`:                                   "a request body is a JSON object",
		`{"a":1,}`:                             "not valid JSON: expected a field name in quotes at byte 8",
		`{"messages":[],"` + strings.Repeat("a", 30): "not valid JSON: unexpected end at byte 47",
	} {
		if _, err := Parse([]byte(body)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	var many strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, `"f%d":0,`, i)
	}
	_, err := Parse([]byte("{" + many.String() + `"f39":1}`))
	if b := (*BodyError)(nil); !errors.As(err, &b) || b.Field != "f39" {
		t.Errorf("a double among 41 fields: %v", err)
	}
}

func TestMissing(t *testing.T) {
	for body, want := range map[string]string{
		`{}`: "model", `{"model":"m"}`: "max_tokens", `{"model":"m","max_tokens":1}`: "messages",
		`{"model":"m","max_tokens":1,"messages":[]}`: "",
	} {
		f := mustParse(t, body)
		if got := f.Missing(); got != want {
			t.Errorf("%s lacks %q, want %q", body, got, want)
		}
	}
}

func TestShape(t *testing.T) {
	a := mustParse(t, `{"model":"a","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`).Shape
	for name, c := range map[string]struct {
		body string
		same bool
	}{
		"order, values":     {`{"messages":[{"role":"user","content":"longer"},{"role":"user","content":"y"}],"max_tokens":9,"model":"b"}`, true},
		"text as blocks":    {`{"model":"a","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}]}`, true},
		"another field":     {`{"model":"a","max_tokens":1,"top_k":1,"messages":[{"role":"user","content":"x"}]}`, false},
		"an image":          {`{"model":"a","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image"},{"type":"text","text":"x"}]}]}`, false},
		"a field's name":    {`{"model":"a","max_tokens":1,"text":1,"messages":[]}`, false},
		"nothing to it":     {`{}`, false},
		"block type, field": {`{"model":"a","max_tokens":1,"image":0,"messages":[{"role":"user","content":"x"}]}`, false},
	} {
		if got := mustParse(t, c.body).Shape == a; got != c.same {
			t.Errorf("%s: same shape is %v, want %v", name, got, c.same)
		}
	}
	on := mustParse(t, `{"thinking":{"type":"adaptive"}}`).Shape
	if off := mustParse(t, `{"thinking":{"type":"disabled"}}`).Shape; on == off {
		t.Error("thinking.type makes no difference")
	}
}

func TestTokens(t *testing.T) {
	body := func(text string) string {
		s, _ := json.Marshal(text)
		return `{"messages":[{"role":"user","content":` + string(s) + `}]}`
	}
	for _, c := range []struct {
		name, text string
		text4      int64 // estimated tokens of the text alone
	}{
		{"ASCII", strings.Repeat("a", 400), 100},
		{"digits", strings.Repeat("7", 300), 100},
		{"Cyrillic", strings.Repeat("ж", 100), 100},
		{"Greek", strings.Repeat("λ", 100), 100},
		{"CJK", strings.Repeat("漢", 50), 100},
		{"emoji", strings.Repeat("😀", 3), 8},
		{"line breaks", strings.Repeat("\n", 4), 1},
	} {
		f := mustParse(t, body(c.text))
		if got := f.In(1) - baseTokens - messageTokens; got != c.text4 {
			t.Errorf("%s: %d tokens of text, want %d", c.name, got, c.text4)
		}
		if got := f.In(1.3) - baseTokens - messageTokens; got != (c.text4*13+9)/10 {
			t.Errorf("%s: %d tokens by the newer tokenizer, want %d", c.name, got, (c.text4*13+9)/10)
		}
		if got := f.InUpper() - baseMax - messageMax; got != int64(len(c.text)) {
			t.Errorf("%s: at most %d tokens of text, want its %d bytes", c.name, got, len(c.text))
		}
	}
}

// A text weighs the same whether its characters are escaped or not.
func TestEscapesWeighNothing(t *testing.T) {
	plain := mustParse(t, `{"messages":[{"role":"user","content":"жλ漢😀a1"}]}`)
	escaped := mustParse(t, `{"messages":[{"role":"user","content":"\u0436\u03bb\u6f22\ud83d\ude00\u0061\u0031"}]}`)
	if plain.text != escaped.text {
		t.Errorf("%+v, escaped %+v", plain.text, escaped.text)
	}
}

// The size of base64 data is no text: an image counts by its published maximum.
func TestImagesCountByMaximum(t *testing.T) {
	body := func(n int) string {
		return `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` +
			strings.Repeat("A", n) + `"}}]}]}`
	}
	small, large := mustParse(t, body(4)), mustParse(t, body(4<<20))
	if small.In(1) != large.In(1) || small.InUpper() != large.InUpper() {
		t.Errorf("4 B: %d to %d tokens; 4 MiB: %d to %d", small.In(1), small.InUpper(), large.In(1), large.InUpper())
	}
	if small.InUpper() < imageMax {
		t.Errorf("an image counts at most %d tokens, its maximum is %d", small.InUpper(), imageMax)
	}
}

// Facts cost one allocation, the model's name, however long the body is.
func TestParseAllocates(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _, _ = Parse(benchBody) }); n > 1 {
		t.Errorf("%.0f allocations a body, want at most 1", n)
	}
}
