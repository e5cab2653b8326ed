package job

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"text/template"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"
)

func recordOf(t interface{ Fatal(...any) }, raw string) *record {
	if !gjson.Valid(raw) {
		t.Fatal("test row is not JSON: " + raw)
	}
	var r record
	if err := r.read(raw); err != nil {
		t.Fatal(err)
	}
	return &r
}

func TestTemplateFills(t *testing.T) {
	row := `{"question":"Janet’s <eggs> & \"ducks\"?","n":1.50,"big":12345678901234567890,"ok":true,
		"tags":["a", "b" , {"c" : 1e3}],"meta":{"k" : "v w"},"Prompt text":"x","nothing":null,"empty":"","zero":-0.0,"nums":[1,2.50]}`
	for _, c := range []struct{ template, want string }{
		{"plain text", "plain text"},
		{"{{.question}}", `Janet’s <eggs> & "ducks"?`},
		{"Q: {{ .question }}\nA:", "Q: Janet’s <eggs> & \"ducks\"?\nA:"},
		{"{{.n}} {{.big}} {{.ok}}", "1.50 12345678901234567890 true"},
		{"{{.tags}}", `["a","b",{"c":1e3}]`},
		{"{{.meta}}", `{"k":"v w"}`},
		{"{{.meta.k}}", "v w"},
		{`{{field "Prompt text"}}`, "x"},
		{"{{.empty}}", ""},
		{"a {{- .ok -}} b", "atrueb"},
		{"{{/* said */}}{{.ok}}", "true"},
		{"{{if .nothing}}yes{{else}}no{{end}}", "no"},
		{`{{if has "absent"}}yes{{else}}no{{end}}`, "no"},
		{"{{range .tags}}<{{.}}>{{end}}", `<a><b><{"c":1e3}>`},
		{"{{with .meta}}{{.k}} {{$.n}}{{end}}", "v w 1.50"},
		{`{{.question | printf "%.5s"}}`, "Janet"},
		{"{{len .tags}}", "3"},
		{"{{.}}x", ""},
		{`{{range .tags}}{{field "n"}};{{end}}`, "1.50;1.50;1.50;"},
		{"{{$x := .n}}{{$x}}", "1.50"},
		{"{{if gt .n 1}}more{{end}}{{if gt .n 1.5}} still{{end}}{{if le .big 3}}never{{end}}", "more"},
		{`{{if and (eq .n 1.5) (ne .question "x") (eq .ok true) (lt "a" "b") (eq .zero 1 0)}}all{{end}}`, "all"},
		{"{{if .zero}}never{{else}}zero{{end}}{{if not .zero}} is false{{end}}", "zero is false"},
		{`{{printf "%.1f %s %v %d %5.2f" .n .n .n .big .zero}}`, "1.5 1.50 1.50 12345678901234567890  0.00"},
		{"{{slice .tags 1 2}}{{range .nums}}{{if ge . 2}}{{.}}{{end}}{{end}}{{slice .nums 0 1}}", `["b"]2.50[1]`},
		{`{{define "d"}}[{{.}}]{{end}}{{template "d" .tags}}`, `[["a","b",{"c":1e3}]]`},
	} {
		r := recordOf(t, row)
		tm, err := ParseTemplate("--prompt", c.template)
		if err != nil {
			t.Errorf("%s: %v", c.template, err)
			continue
		}
		got, err := tm.appendTo(nil, r)
		if err != nil {
			t.Errorf("%s: %v", c.template, err)
			continue
		}
		if c.want != "" || c.template == "{{.empty}}" {
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.template, diff)
			}
		}
		quoted, err := tm.appendQuoted([]byte{'"'}, r)
		var back string
		if err != nil || json.Unmarshal(append(quoted, '"'), &back) != nil || back != string(got) {
			t.Errorf("%s: quoted %q does not read back as %q (%v)", c.template, quoted, got, err)
		}
	}
}

func TestTemplateIsStrict(t *testing.T) {
	for _, c := range []struct{ template, wantErr, wantHint string }{
		{"{{.promt}}", "the prompt uses {{.promt}}; there is no such field", `fields are prompt, "Prompt text", nothing, meta; a name with spaces is {{field "Prompt text"}}`},
		{`{{field "Promt"}}`, `the prompt uses {{field "Promt"}}; there is no such field`, "fields are"},
		{"{{.nothing}}", "the prompt uses {{.nothing}}, which is null there", "fields are"},
		{"{{.meta.x}}", `the prompt uses {{.meta.x}}; meta has no "x"`, ""},
		{"{{.meta.null}}", "the prompt uses {{.meta.null}}, which is null there", ""},
		{"{{if .promt}}x{{end}}", "the prompt uses {{.promt}}; there is no such field", "fields are"},
		{"{{if true}}{{.nothing}}{{end}}", "the prompt uses {{.nothing}}, which is null there", "fields are"},
		{`{{if true}}{{field "Promt"}}{{end}}`, `the prompt uses {{field "Promt"}}; there is no such field`, "fields are"},
	} {
		tm, err := ParseTemplate("--prompt", c.template)
		if err != nil {
			t.Errorf("%s: %v", c.template, err)
			continue
		}
		_, err = tm.appendTo(nil, recordOf(t, `{"prompt":"a","Prompt text":"b","nothing":null,"meta":{"k":1,"null":null}}`))
		var fe *FieldError
		if !errors.As(err, &fe) {
			t.Errorf("%s: got %v, want a FieldError", c.template, err)
			continue
		}
		if err.Error() != c.wantErr {
			t.Errorf("%s: got %q, want %q", c.template, err, c.wantErr)
		}
		if !strings.HasPrefix(HintOf(err), c.wantHint) {
			t.Errorf("%s: hint %q, want %q", c.template, HintOf(err), c.wantHint)
		}
	}
}

// Every function that hints and help name is there, and takes a row's value.
func TestTemplateFunctionsAreThere(t *testing.T) {
	args := map[string]string{
		"field": ` "n"`, "has": ` "n"`, "not": " .n", "len": " .l", "index": " .l 0", "slice": " .s 0 1", "print": " .n", "println": " .n", "printf": ` "%v" .n`,
	}
	for name := range strings.SplitSeq(TemplateFunctions, ", ") {
		text := "{{" + name + " .n 1}}"
		if a, ok := args[name]; ok {
			text = "{{" + name + a + "}}"
		}
		tm, err := ParseTemplate("--prompt", text)
		if err == nil {
			_, err = tm.appendTo(nil, recordOf(t, `{"n":1,"l":[1],"s":"ab"}`))
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A table whose columns are separated by something else has one column.
func TestOtherSeparatorIsNamed(t *testing.T) {
	for head, want := range map[string]string{
		"a;b":  "the table has one column, and semicolons for commas: columns are separated by commas; convert the file",
		"a\tb": "the table has one column, and tabs for commas: columns are separated by commas; convert the file",
		"a":    "columns are a",
	} {
		if got := (&FieldError{Missing: "b", Fields: []string{head}, column: true}).Hint(); got != want {
			t.Errorf("%q: %q", head, got)
		}
	}
}

func TestTemplateSyntaxHasHint(t *testing.T) {
	for template, hint := range map[string]string{
		"{{question}}":   "a field is named with a dot: {{.question}}",
		"{{.a-b}}":       `such a name is {{field "a-b"}}`,
		"{{.Text (en)}}": `a name with spaces is {{field "Text (en)"}}`,
		"{{upper .x}}":   "functions are " + TemplateFunctions,
		"{{.question":    "",
		"{{if .x}}never": "",

		"a {{.Prompt text}}":      `a name with spaces is {{field "Prompt text"}}`,
		"{{ .Prompt text nr 2 }}": `a name with spaces is {{field "Prompt text nr 2"}}`,
	} {
		_, err := ParseTemplate("--prompt", template)
		if err == nil {
			t.Errorf("%s: no error", template)
			continue
		}
		if !strings.HasPrefix(err.Error(), "--prompt is not a template: line 1:") {
			t.Errorf("%s: %v", template, err)
		}
		if HintOf(err) != hint {
			t.Errorf("%s: hint %q, want %q", template, HintOf(err), hint)
		}
	}
}

func TestTemplateUsesRow(t *testing.T) {
	for text, want := range map[string]bool{
		"What is {question}?":           false,
		"{{.x}}":                        true,
		"{{field \"x\"}}":               true,
		"{{if .x}}a{{end}}":             true,
		"{{range $i, $e := .x}}{{end}}": true,
		`{{"a .b"}}`:                    false,
		`{{printf "%s" "field x"}}`:     false,
		"{{.}}":                         true,
		"{{$.x}}":                       true,
	} {
		tm, err := ParseTemplate("--prompt", text)
		if err != nil {
			t.Fatal(err)
		}
		if tm.UsesRow() != want {
			t.Errorf("%s: UsesRow is %v", text, tm.UsesRow())
		}
	}
}

// slowly is the slow obvious way: everything through text/template.
func slowly(t *rapid.T, text string) *Template {
	parsed, err := template.New("--prompt").Funcs(stubFuncs).Option("missingkey=error").Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return &Template{name: "--prompt", slow: newSlowTemplate(parsed)}
}

// The segments and text/template make the same text of any row, and refuse the same.
func TestTemplateTwin(t *testing.T) {
	values := rapid.SampledFrom([]string{
		`"plain"`, `"q\"u\\o\u0000te\u2028\ud83d\ude00"`, `"\ud800 lone"`, `""`, "1.50", "-0", "1e400", "true", "null",
		`[]`, `{}`, `[1, "a b", null]`, `{"k" : "v", "l":[ ]}`, `{"k":null}`, `"<&>"`,
	})
	place := rapid.SampledFrom([]string{"{{.a}}", "{{ .b -}}", `{{field "c d"}}`, "{{.a.k}}", "{{.b.l}}", "{{.missing}}", "{{/* c */}}"})
	text := rapid.SampledFrom([]string{"", " ", "x\n", "\"q\"", "é", "<b>"})
	rapid.Check(t, func(t *rapid.T) {
		row := `{"a":` + values.Draw(t, "a") + `, "b":` + values.Draw(t, "b") + `,"c d":` + values.Draw(t, "c") + `}`
		src := ""
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			src += text.Draw(t, "text") + place.Draw(t, "place")
		}
		fast, err := ParseTemplate("--prompt", src)
		if err != nil {
			t.Fatal(err)
		}
		if fast.slow != nil {
			t.Fatalf("%q was not taken apart", src)
		}
		r := recordOf(t, row)
		got, err := fast.appendTo(nil, r)
		want, wantErr := slowly(t, src).appendTo(nil, r)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q over %s: fast %v, slow %v", src, row, err, wantErr)
		}
		if err == nil && string(got) != string(want) {
			t.Fatalf("%q over %s: fast %q, slow %q", src, row, got, want)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{{.a}}", "{{field \"a b\"}}", "{{if .a}}{{range .b}}{{.}}{{end}}{{end}}", "{question}", "{{", "{{.a | printf \"%d\"}}", "{{define \"x\"}}{{end}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, "range") || strings.Contains(src, "template") {
			return // loops and recursion may run long; they are text/template's own
		}
		tm, err := ParseTemplate("--prompt", src)
		if err != nil {
			return
		}
		r := recordOf(t, `{"a":"x\"y","b":[1,{"c":null}],"a b":2}`)
		text, err := tm.appendTo(nil, r)
		if err != nil {
			return
		}
		quoted, err := tm.appendQuoted([]byte{'"'}, r)
		if err != nil {
			t.Fatal(err)
		}
		var back string
		if err := json.Unmarshal(append(quoted, '"'), &back); err != nil {
			t.Fatalf("%q: quoted text does not read: %v", src, err)
		}
		if utf8.Valid(text) && back != string(text) {
			t.Fatalf("%q: %q became %q", src, text, back)
		}
	})
}

func BenchmarkTemplate(b *testing.B) {
	tm, err := ParseTemplate("--prompt", "Does this show {{.trait}}?\n\n{{.statement}}\n\nAnswer 0-100.")
	if err != nil {
		b.Fatal(err)
	}
	r := recordOf(b, `{"id":"p/1","trait":"agreeableness","statement":"I \"like\" helping people, really — a lot."}`)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = tm.appendQuoted(buf[:0], r)
	}
}
