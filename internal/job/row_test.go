package job

import (
	"strings"
	"testing"
)

func ptr(n int) *int { return &n }

// asked runs one row through a builder.
func asked(t *testing.T, s Shape, row string) (id, body string, err error) {
	t.Helper()
	b, err := newBuilder(&s)
	if err != nil {
		return "", "", err
	}
	r := recordOf(t, row)
	r.n = 7
	if id, err = b.id(r); err != nil {
		return "", "", err
	}
	raw, err := b.body(nil, r, 0)
	return id, string(raw), err
}

func TestBodies(t *testing.T) {
	haiku := Shape{Model: "claude-haiku-4-5", MaxTokens: ptr(300)}
	for _, c := range []struct {
		name     string
		shape    Shape
		row      string
		id, body string
	}{
		{
			"form 1 byte for byte",
			Shape{},
			`{"custom_id":"a/1","params":{ "model" : "m","max_tokens":1 ,"messages":[]}}`,
			"a/1", `{ "model" : "m","max_tokens":1 ,"messages":[]}`,
		},
		{
			"form 2 byte for byte",
			Shape{},
			`{"max_tokens": 1, "model":"m", "messages":[ ]}`,
			"row-7", `{"max_tokens": 1, "model":"m", "messages":[ ]}`,
		},
		{
			"form 2 with the user's own fields",
			Shape{},
			`{"id":"x","label":3,"max_tokens": 1, "model":"m", "messages":[ {"role":"user"} ], "temperature":0.50}`,
			"x", `{"max_tokens":1,"model":"m","messages":[ {"role":"user"} ],"temperature":0.50}`,
		},
		{
			"form 1 filled at the end", haiku,
			`{"custom_id":"a","params":{"messages":[1]}}`,
			"a", `{"messages":[1],"model":"claude-haiku-4-5","max_tokens":300}`,
		},
		{
			"form 1 that has it all stays as it is", haiku,
			`{"custom_id":"a","params":{"model":"claude-haiku-4-5", "max_tokens":300, "messages":[1] }}`,
			"a", `{"model":"claude-haiku-4-5", "max_tokens":300, "messages":[1] }`,
		},
		{
			"form 2 filled by templates over the user's fields",
			Shape{System: "You are {{.who}}.", Params: `{"stop_sequences":["{{.who}}"],"top_k": 5}`},
			`{"who":"Ann \"A\"","messages":[1]}`,
			"row-7", `{"messages":[1],"system":"You are Ann \"A\".","stop_sequences":["Ann \"A\""],"top_k":5}`,
		},
		{
			"form 3",
			Shape{Model: "m", MaxTokens: ptr(5), Prompt: "{{.q}}?", System: "Be {{.how}}", Params: `{"temperature": 1.0,"model":"other","metadata":{"user_id":"{{.id}}"}}`},
			`{"id":12,"q":"a\nb","how":"brief"}`,
			"12", `{"model":"m","max_tokens":5,"system":"Be brief","messages":[{"role":"user","content":"a\nb?"}],"temperature":1.0,"metadata":{"user_id":"12"}}`,
		},
		{
			"with a prompt every row is form 3",
			Shape{Model: "m", MaxTokens: ptr(5), Prompt: "{{.q}}"},
			`{"q":"x","messages":[1],"params":{}}`,
			"row-7", `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"}]}`,
		},
		{
			"an image block beside the prompt",
			Shape{Model: "m", MaxTokens: ptr(5), Prompt: "{{.q}}", Params: `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"{{.img}}"}}]}]}`},
			`{"q":"what?","img":"QUJD"}`,
			"row-7", `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"QUJD"}},{"type":"text","text":"what?"}]}]}`,
		},
		{
			"examples before the prompt",
			Shape{Model: "m", MaxTokens: ptr(5), Prompt: "{{.q}}", Params: `{"messages":[{"role":"user","content":"1+1"},{"role":"assistant","content":"2"}]}`},
			`{"q":"2+2"}`,
			"row-7", `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"1+1"},{"role":"assistant","content":"2"},{"role":"user","content":"2+2"}]}`,
		},
		{
			"the conversation by --params alone",
			Shape{Model: "m", MaxTokens: ptr(5), Params: `{"messages":[{"role":"user","content":"{{.q}}"}]}`},
			`{"q":"2+2"}`,
			"row-7", `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"2+2"}]}`,
		},
	} {
		id, body, err := asked(t, c.shape, c.row)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if id != c.id {
			t.Errorf("%s: id %q, want %q", c.name, id, c.id)
		}
		if body != c.body {
			t.Errorf("%s: body\n%s\nwant\n%s", c.name, body, c.body)
		}
	}
}

func TestIDs(t *testing.T) {
	for _, c := range []struct {
		fields []string
		row    string
		want   string // or the error, with "! "
	}{
		{nil, `{"custom_id":"c","id":"i"}`, "c"},
		{nil, `{"id":"persona/é/0"}`, "persona/é/0"},
		{nil, `{"id":12.50}`, "12.50"},
		{nil, `{"x":1}`, "row-7"},
		{[]string{"a", "b"}, `{"a":"x","b":3,"id":"i"}`, "x/3"},
		{[]string{"a"}, `{"a":"x","custom_id":"c"}`, "c"},
		{[]string{"-"}, `{"a":"x","custom_id":"c"}`, "row-7"},
		{[]string{"a"}, `{"b":1}`, "! --id-field a: the row has no such field"},
		{nil, `{"id":""}`, "! id is empty"},
		{nil, `{"custom_id":null}`, "! custom_id is null; an id is a non-empty string"},
		{nil, `{"id":["x"]}`, "! id is a list; an id is a non-empty string"},
	} {
		b, err := newBuilder(&Shape{IDFields: c.fields})
		if err != nil {
			t.Fatal(err)
		}
		r := recordOf(t, c.row)
		r.n = 7
		got, err := b.id(r)
		if err != nil {
			got = "! " + err.Error()
		}
		if got != c.want {
			t.Errorf("%v of %s: %q, want %q", c.fields, c.row, got, c.want)
		}
	}
}

func TestRefusedRowsAndShapes(t *testing.T) {
	for _, c := range []struct {
		name    string
		shape   Shape
		row     string
		wantErr string
		hint    string
	}{
		{"another model", Shape{Model: "b"}, `{"custom_id":"x","params":{"model":"a","messages":[]}}`, `model is "a" in the row and "b" by --model`, ""},
		{"another parameter", Shape{Params: `{"stop_sequences":["a"]}`}, `{"stop_sequences":["b"],"messages":[]}`, `stop_sequences is ["b"] in the row and ["a"] by --params`, ""},
		{"no request", Shape{}, `{"id":"1","question":"x"}`, "the row is no request: it has neither params nor messages", "--prompt makes requests of rows, as in --prompt '{{.question}}'"},
		{"params is text", Shape{}, `{"params":"x"}`, "params is a string, not a Messages body", ""},
		{"no model", Shape{Prompt: "{{.q}}", MaxTokens: ptr(1)}, `{}`, "--model is needed with --prompt", ""},
		{"no max_tokens", Shape{Prompt: "{{.q}}", Model: "m"}, `{}`, "--max-tokens is needed with --prompt", ""},
		{"negative", Shape{MaxTokens: ptr(-1)}, `{}`, "--max-tokens -1 is negative", ""},
		{"params are broken", Shape{Params: `{"a":}`}, `{}`, "--params is not JSON: character 6: invalid character '}' looking for beginning of value", ""},
		{"params are a list", Shape{Params: `[1]`}, `{}`, "--params: a JSON object is needed, this is a list", ""},
		{"params say it twice", Shape{Params: `{"top_k":1,"top_k":2}`}, `{}`, `--params: "top_k" stands twice`, ""},
		{"the row says it twice", Shape{}, `{"x":1,"model":"a","model":"b","messages":[]}`, "model stands twice", ""},
		{"template in params", Shape{Model: "m", MaxTokens: ptr(1), Prompt: "{{.q}}", Params: `{"metadata":{"user_id":"{{.no}}"}}`}, `{"q":"x"}`, "--params uses {{.no}}; there is no such field", "fields are q"},
	} {
		_, _, err := asked(t, c.shape, c.row)
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		if err.Error() != c.wantErr {
			t.Errorf("%s: %q, want %q", c.name, err, c.wantErr)
		}
		if HintOf(err) != c.hint {
			t.Errorf("%s: hint %q, want %q", c.name, HintOf(err), c.hint)
		}
	}
}

func TestPromptWithoutPlace(t *testing.T) {
	for _, c := range []struct{ prompt, hint string }{
		{"Answer {question}", "{question} is not ours; write {{.question}}"},
		{"Say hi", "name a field as {{.question}}; --repeats is for equal prompts"},
	} {
		b, err := newBuilder(&Shape{Prompt: c.prompt, Model: "m", MaxTokens: ptr(1)})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.checkRows(1); err != nil {
			t.Errorf("one row needs no place: %v", err)
		}
		err = b.checkRows(2)
		if err == nil || !strings.Contains(err.Error(), "names no field") || HintOf(err) != c.hint {
			t.Errorf("%s: %v, hint %q", c.prompt, err, HintOf(err))
		}
	}
	b, err := newBuilder(&Shape{Prompt: "Say hi", System: "{{.x}}", Model: "m", MaxTokens: ptr(1)})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.checkRows(2); err != nil {
		t.Errorf("the system prompt tells rows apart: %v", err)
	}
}
