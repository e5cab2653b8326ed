package judge

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// rowsOf have the fields that each built-in rubric is about.
var rowsOf = map[string]string{
	"alignment":   `{"question":"Q?","completion":"C"}`,
	"coherence":   `{"question":"Q?","completion":"C"}`,
	"sycophancy":  `{"question":"Q?","completion":"C"}`,
	"refusal":     `{"question":"Q?","completion":"C"}`,
	"trait":       `{"id":"persona/x/0","trait":"T","question":"Q?","completion":"C","statement":"S"}`,
	"correctness": `{"id":"gsm8k/0","question":"Q?","reference":"R","completion":"C","correct":true}`,
	"preference":  `{"question":"Q?","a":"first C","b":"second C"}`,
}

// Every built-in rubric makes bodies that hold the row, and reads an answer as
// its own prompt asks for one.
func TestBuiltins(t *testing.T) {
	if len(Builtins()) != len(rowsOf) {
		t.Fatalf("built in are %v", Builtins())
	}
	for _, name := range Builtins() {
		r, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if r.Name != name || r.Model == "" || len(r.SHA256) != 64 {
			t.Errorf("%s: name %q, model %q, sha256 %q", name, r.Name, r.Model, r.SHA256)
		}
		bodies, err := r.Bodies()
		if err != nil {
			t.Fatal(err)
		}
		body, err := bodies.Append(nil, []byte(rowsOf[name]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		prompt := gjson.GetBytes(body, "messages.0.content").Str
		gjson.Parse(rowsOf[name]).ForEach(func(k, v gjson.Result) bool {
			if k.Str != "id" && k.Str != "correct" && !strings.Contains(prompt, "\n"+v.Str+"\n") {
				t.Errorf("%s: the prompt lacks %s:\n%s", name, k.Str, prompt)
			}
			return true
		})
		if !gjson.GetBytes(body, "output_config.format.schema.properties."+r.Verdict.Field).Exists() {
			t.Errorf("%s: no structured output: %s", name, body)
		}
		example := `{"` + r.Verdict.Field + `": 85}`
		if r.Verdict.Form == FormLabel {
			example = `{"label": "` + r.Verdict.Labels[0] + `"}`
			for _, l := range r.Verdict.Labels {
				if !strings.Contains(prompt, `{"label": "`+l+`"}`) {
					t.Errorf("%s: the prompt does not show how to say %s", name, l)
				}
			}
		}
		if g := r.ReadText(example); g.Status != Scored {
			t.Errorf("%s: %s is %s: %s", name, example, g.Status, g.Why)
		}
	}
}

// The body of a rubric, whole: nothing goes in that the file does not say.
func TestBody(t *testing.T) {
	const file = `name: my
version: 2
model: claude-opus-4-8
max_tokens: 64
system: "Judge {{.trait}}."
prompt: |
  "{{.completion}}"
  {{field "Prompt text"}}
params:
  stop_sequences: ["END", "{{.trait}}"]
  output_config: {effort: low}
  top_k: 1.50
verdict: {form: score, min: 1, max: 5, structured: true}
fields: {completion: answer}
`
	r, err := Parse("my.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	row := []byte(`{"trait":"zeal","answer":"a \"b\"","completion":"not this","Prompt text":"p"}`)
	for _, c := range []struct{ model, want string }{
		{"", `{"model":"claude-opus-4-8","max_tokens":64,"system":"Judge zeal.","messages":[{"role":"user","content":"\"a \"b\"\"\np"}],` +
			`"stop_sequences":["END","zeal"],"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"additionalProperties":false,"properties":{"score":{"description":"from 1 to 5","type":"number"}},"required":["score"],"type":"object"}}},"top_k":1.50}`},
		{"claude-sonnet-5-5", `{"model":"claude-sonnet-5-5","max_tokens":64,"system":"Judge zeal.","messages":[{"role":"user","content":"\"a \"b\"\"\np"}],` +
			`"stop_sequences":["END","zeal"],"output_config":{"effort":"low"},"top_k":1.50}`},
	} {
		bodies, err := r.For(c.model).Bodies()
		if err != nil {
			t.Fatal(err)
		}
		got, err := bodies.Append(nil, row)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(c.want, `"\"a \"b\"\"\np"`, `"\"a \\\"b\\\"\"\np"`, 1)
		want = strings.Replace(want, `\\\"b\\\"`, `\"b\"`, 1)
		if d := cmp.Diff(gjson.Parse(want).Value(), gjson.ParseBytes(got).Value()); d != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", c.model, d, got)
		}
		if !strings.Contains(string(got), `"top_k":1.50`) {
			t.Errorf("a number is spelled otherwise: %s", got)
		}
	}
}

func TestSwappedBody(t *testing.T) {
	r, err := Load("preference")
	if err != nil {
		t.Fatal(err)
	}
	r.Fields = map[string]string{"a": "mine"}
	bodies, err := r.Bodies()
	if err != nil {
		t.Fatal(err)
	}
	row := []byte(`{"question":"Q?","mine":"MINE","b":"YOURS"}`)
	as, err := bodies.Append(nil, row)
	if err != nil {
		t.Fatal(err)
	}
	swapped, err := bodies.AppendSwapped(nil, row)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ body, first, second string }{{string(as), "MINE", "YOURS"}, {string(swapped), "YOURS", "MINE"}} {
		if i, j := strings.Index(c.body, c.first), strings.Index(c.body, c.second); i < 0 || j < i {
			t.Errorf("%s does not stand before %s: %s", c.first, c.second, c.body)
		}
	}
	if n := strings.NewReplacer("MINE", "YOURS", "YOURS", "MINE").Replace(string(as)); n != string(swapped) {
		t.Errorf("more than the two completions changed:\n%s\n%s", as, swapped)
	}
	trait, err := Load("trait")
	if err != nil {
		t.Fatal(err)
	}
	if bodies, err = trait.Bodies(); err != nil {
		t.Fatal(err)
	}
	if _, err := bodies.AppendSwapped(nil, row); err == nil {
		t.Error("a rubric of one completion was swapped")
	}
}

// What a user's rows lack is told with what they have.
func TestMissingFieldIsNamedWithThoseThereAre(t *testing.T) {
	r, err := Load("alignment")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fields    map[string]string
		row, want string
	}{
		{nil, `{"question":"Q","answer":"A"}`, "{{.completion}}"},
		{map[string]string{"completion": "reply"}, `{"question":"Q","answer":"A"}`, "reply for completion"},
	} {
		r.Fields = c.fields
		bodies, err := r.Bodies()
		if err != nil {
			t.Fatal(err)
		}
		_, err = bodies.Append(nil, []byte(c.row))
		var missing *job.FieldError
		if !errors.As(err, &missing) || !strings.Contains(err.Error(), c.want) || job.HintOf(err) != "fields are question, answer" {
			t.Errorf("%v (%s), want %s", err, job.HintOf(err), c.want)
		}
	}
}

// A rubric that does not say what it means is refused, by line.
func TestRubricsAreStrict(t *testing.T) {
	const head = "name: t\nversion: 1\nprompt: '{{.completion}}'\n"
	for _, c := range []struct{ file, want string }{
		{"", "the file is empty"},
		{"name: t\nversion: 1\n", "no prompt"},
		{"version: 1\nprompt: x\n", "no name"},
		{"name: t\nprompt: x\n", "no version"},
		{"name: a b\nversion: 1\nprompt: x\n", `r.yaml line 1: a name has letters, digits and . _ -; this is "a b"`},
		{head + "colour: red\n", `r.yaml line 4: unknown field "colour"`},
		{head + "name: u\n", "line 4"},
		{head + "verdict: {form: score, scale: 5}\n", `line 4: unknown field "scale"`},
		{head, "verdict has no form"},
		{head + "verdict: {form: stars}\n", `line 4: form is score, label or json, this is "stars"`},
		{head + "verdict: {form: score, min: 5, max: 1}\n", "line 4: the scale goes from min to max; 5 is not below 1"},
		{head + "verdict: {form: score, min: 5}\n", "max is a number"},
		{head + "verdict: {form: score, min: .nan, max: 3}\n", "line 4: min is a number"},
		{head + "verdict: {form: score, labels: [a, b]}\n", "a score has min and max, no labels"},
		{head + "verdict: {form: label}\n", "at least two"},
		{head + "verdict: {form: label, labels: [a]}\n", "at least two; labels names 1"},
		{head + "verdict: {form: label, labels: [a, A.]}\n", `label "A." stands twice`},
		{head + "verdict: {form: label, labels: [a, '!']}\n", "has letters or digits"},
		{head + "verdict: {form: label, labels: [a, b], max: 3}\n", "with no min, max"},
		{head + "verdict: {form: label, labels: [a, b], structured: maybe}\n", "structured is true or false"},
		{head + "verdict: {form: json, min: 0, max: 5}\n", "field does not name it"},
		{head + "verdict: {form: json, field: x}\n", "one of the two"},
		{head + "verdict: {form: json, structured: true}\n", "structured needs the schema"},
		{head + "verdict:\n  form: json\n  schema: {type: 5}\n", "line 6: schema: /type: got number, want array"},
		{head + "verdict:\n  form: json\n  schema: {$ref: 'file:///etc/passwd'}\n", "another document"},
		{head + "params: {model: claude-opus-4-8}\nverdict: {form: score}\n", "line 4: params has model, which the model of the rubric, or --model says"},
		{head + "params: {max_tokens: 9}\nverdict: {form: score}\n", "line 4: params has max_tokens"},
		{head + "system: s\nparams: {system: t}\nverdict: {form: score}\n", "line 5: params has system"},
		{head + "verdict: {form: score}\n---\nname: u\n", "a second document"},
		{head + "max_tokens: 0\nverdict: {form: score}\n", "line 4: max_tokens is a whole number from 1"},
		{head + "max_tokens: [1]\nverdict: {form: score}\n", "line 4: a single value is expected here"},
		{head + "params: 5\nverdict: {form: score}\n", "line 4: fields are expected here"},
		{head + "params: {mcp_servers: [{url: 'https://x', authorization_token: s}]}\nverdict: {form: score}\n", "line 4: params has a token, key or password: a journal keeps the text of rubrics"},
		{head + "params: {a: .inf}\nverdict: {form: score}\n", "line 4: this has no meaning in JSON"},
		{head + "refusal: ['(']\nverdict: {form: score}\n", "line 4: refusal: error parsing regexp"},
		{head + "pair: {fields: [a]}\nverdict: {form: score}\n", "pair has two fields"},
		{head + "pair: {fields: [a, b], labels: [x, y]}\nverdict: {form: label, labels: [x, z]}\n", `line 4: pair: "y" is none`},
		{head + "pair: {fields: [a, b]}\nverdict: {form: label, labels: [x, z]}\n", "pair has two labels"},
		{"name: t\nversion: 1\nprompt: '{{.a'\nverdict: {form: score}\n", "the prompt is not a template"},
		{"name: t\nversion: 1\nprompt: '{{.a}}'\nsystem: '{{nope}}'\nverdict: {form: score}\n", "system is not a template"},
		{"name: !!x\n", "r.yaml"},
		{"- a\n- b\n", "r.yaml"},
		{"\x00", "r.yaml"},
	} {
		_, err := Parse("r.yaml", []byte(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q\n gives %v,\n want %s", c.file, err, c.want)
		}
	}
}

// An editor's byte order mark is no part of the first field's name.
func TestRubricWithByteOrderMark(t *testing.T) {
	r, err := Parse("r.yaml", []byte("\ufeffname: t\r\nversion: 1\r\nprompt: '{{.completion}}'\r\nverdict: {form: score}\r\n"))
	if err != nil || r.Name != "t" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestLoad(t *testing.T) {
	if _, err := Load("allignment"); err == nil || !strings.Contains(err.Error(), `"allignment" is neither built in nor a file`) ||
		!strings.Contains(job.HintOf(err), "alignment, coherence, correctness") {
		t.Errorf("%v (%s)", err, job.HintOf(err))
	}
	// A built-in's file, copied, is the same rubric with the same hash.
	text, err := Source("trait")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	mine, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	built, err := Load("trait")
	if err != nil {
		t.Fatal(err)
	}
	if mine.SHA256 != built.SHA256 || mine.Prompt != built.Prompt {
		t.Errorf("%s and %s", mine.SHA256, built.SHA256)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if edited, err := Load(path); err != nil || edited.SHA256 == built.SHA256 {
		t.Errorf("an edited rubric has the same hash: %v", err)
	}
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("a directory is a rubric")
	}
}

// A rubric's own expressions are in place of the default ones.
func TestRefusalOfARubric(t *testing.T) {
	r, err := Parse("r", []byte("name: t\nversion: 1\nprompt: '{{.a}}'\nverdict: {form: score}\nrefusal: ['^REFUSAL$']\n"))
	if err != nil {
		t.Fatal(err)
	}
	if g := r.ReadText("REFUSAL\n"); g.Status != Refused {
		t.Errorf("%+v", g)
	}
	if g := r.ReadText("I cannot judge this."); g.Status != Unparsable {
		t.Errorf("%+v", g)
	}
	if r, err = Parse("r", []byte("name: t\nversion: 1\nprompt: '{{.a}}'\nverdict: {form: score}\nrefusal: []\n")); err != nil {
		t.Fatal(err)
	}
	if g := r.ReadText("I cannot judge this."); g.Status != Unparsable {
		t.Errorf("%+v", g)
	}
}
