package job

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/tidwall/gjson"
)

// A Template is text with places that a row fills: Go's text/template, strict.
// A field that the row lacks is an error wherever it is used, a null one where
// it would print. Numbers print as spelled in the file, lists and objects as
// JSON, and nothing is escaped for HTML (interface.md, "Templates").
//
// Nearly all templates only name fields; those are run as a list of segments,
// without text/template, at a tenth of the cost. The tests hold both ways to
// each other.
type Template struct {
	name string // what the user calls it: --prompt
	segs []segment
	slow *slowTemplate // nil when segs say it all
	uses bool          // some of it depends on the row
}

// segment is text followed by the value at path, if there is one.
type segment struct {
	text string
	path []string
	src  string // as the user wrote the place
}

// ParseTemplate reads a template; name is how errors call it.
func ParseTemplate(name, text string) (*Template, error) {
	t := &Template{name: name}
	if !strings.Contains(text, "{{") {
		t.segs = []segment{{text: text}}
		return t, nil
	}
	parsed, err := template.New(name).Funcs(stubFuncs).Funcs(comparisons).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, templateSyntax(name, text, err)
	}
	if parsed.Tree == nil || parsed.Root == nil {
		return t, nil
	}
	t.uses = usesRow(parsed.Root)
	if segs, ok := segmentsOf(parsed.Root); ok && len(parsed.Templates()) == 1 {
		t.segs = segs
		return t, nil
	}
	t.slow = newSlowTemplate(parsed)
	return t, nil
}

// UsesRow says whether the text depends on the row at all.
func (t *Template) UsesRow() bool { return t.uses }

// appendTo appends the text that the row makes of the template.
func (t *Template) appendTo(dst []byte, r *record) ([]byte, error) {
	if t.slow != nil {
		return t.slow.appendTo(dst, t.name, r)
	}
	for i := range t.segs {
		s := &t.segs[i]
		dst = append(dst, s.text...)
		if s.path == nil {
			continue
		}
		v, err := t.value(s, r)
		if err != nil {
			return nil, err
		}
		if v.Type == gjson.String {
			dst = append(dst, v.Str...)
		} else {
			dst = append(dst, plainJSON(v)...)
		}
	}
	return dst, nil
}

// appendQuoted is appendTo for the inside of a JSON string.
func (t *Template) appendQuoted(dst []byte, r *record) ([]byte, error) {
	if t.slow != nil {
		text, err := t.slow.appendTo(nil, t.name, r)
		if err != nil {
			return nil, err
		}
		return appendQuoted(dst, string(text)), nil
	}
	for i := range t.segs {
		s := &t.segs[i]
		dst = appendQuoted(dst, s.text)
		if s.path == nil {
			continue
		}
		v, err := t.value(s, r)
		if err != nil {
			return nil, err
		}
		if v.Type == gjson.String {
			dst = appendQuoted(dst, v.Str)
		} else {
			dst = appendQuoted(dst, plainJSON(v))
		}
	}
	return dst, nil
}

// value finds what a place names, and refuses what is not there.
func (t *Template) value(s *segment, r *record) (gjson.Result, error) {
	v, ok := r.get(s.path[0])
	for depth := 1; ok && depth < len(s.path); depth++ {
		if v, ok = member(v, s.path[depth]); !ok {
			return v, &FieldError{Template: t.name, Place: s.src, Missing: s.path[depth], Inside: s.path[depth-1]}
		}
	}
	if !ok {
		return v, &FieldError{Template: t.name, Place: s.src, Missing: s.path[0], Fields: r.keys()}
	}
	if v.Type == gjson.Null {
		return v, &FieldError{Template: t.name, Place: s.src, Null: true, Fields: r.keys()}
	}
	return v, nil
}

func member(v gjson.Result, key string) (found gjson.Result, ok bool) {
	if !v.IsObject() {
		return gjson.Result{}, false
	}
	v.ForEach(func(k, m gjson.Result) bool {
		if k.Str == key {
			found, ok = m, true // the last one wins, as for whole rows
		}
		return true
	})
	return found, ok
}

// plainJSON is a number, boolean, list or object as text.
func plainJSON(v gjson.Result) string {
	if v.IsObject() || v.IsArray() {
		return compact(v.Raw)
	}
	return v.Raw
}

// compact is JSON without white space between its parts.
func compact(raw string) string {
	if !strings.ContainsAny(raw, " \t\r\n") {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw))
	inside := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case inside && c == '\\':
			b.WriteByte(c)
			i++
			c = raw[i]
		case c == '"':
			inside = !inside
		case !inside && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// segmentsOf turns a template that only names fields into segments.
func segmentsOf(root *parse.ListNode) ([]segment, bool) {
	var segs []segment
	text := ""
	for _, n := range root.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			text += string(n.Text)
		case *parse.CommentNode:
		case *parse.ActionNode:
			path, ok := fieldPath(n.Pipe)
			if !ok {
				return nil, false
			}
			segs = append(segs, segment{text, path, n.String()})
			text = ""
		default:
			return nil, false
		}
	}
	return append(segs, segment{text: text}), true
}

// fieldPath reads {{.a.b}} and {{field "a b"}}.
func fieldPath(p *parse.PipeNode) ([]string, bool) {
	if len(p.Decl) > 0 || len(p.Cmds) != 1 {
		return nil, false
	}
	args := p.Cmds[0].Args
	switch first := args[0].(type) {
	case *parse.FieldNode:
		return first.Ident, len(args) == 1
	case *parse.IdentifierNode:
		if first.Ident != "field" || len(args) != 2 {
			return nil, false
		}
		if name, ok := args[1].(*parse.StringNode); ok {
			return []string{name.Text}, true
		}
	}
	return nil, false
}

// usesRow looks for anything that reads the row.
func usesRow(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return false
		}
		for _, c := range n.Nodes {
			if usesRow(c) {
				return true
			}
		}
	case *parse.TextNode, *parse.CommentNode:
	case *parse.ActionNode:
		return rowWord.MatchString(withoutStrings(n.String()))
	default: // if, range, with, template: they are there to look at the row
		return rowWord.MatchString(withoutStrings(n.String()))
	}
	return false
}

// rowWord finds a field, a dot, the root or a call of field in an action.
var rowWord = regexp.MustCompile(`(^|[\s({|=,])(\.|\$\.|\$[\s)}|]|field\b|has\b)`)

var quoted = regexp.MustCompile("\"(\\\\.|[^\"\\\\])*\"|`[^`]*`")

func withoutStrings(s string) string { return quoted.ReplaceAllString(s, `""`) }

// FieldError is a template that names what a row does not have.
type FieldError struct {
	Template string // --prompt
	Place    string // {{.question}}
	Missing  string // the name that is not there
	Inside   string // the field that lacks it; empty: the row itself
	Null     bool   // it is there and null
	Fields   []string
	column   bool // the row is one of a table
}

func (e *FieldError) Error() string {
	word := "field"
	if e.column {
		word = "column"
	}
	uses := fmt.Sprintf("%s uses %s", titleOf(e.Template), e.Place)
	switch {
	case e.Null:
		return uses + ", which is null there"
	case e.Inside != "":
		return fmt.Sprintf("%s; %s has no %q", uses, e.Inside, e.Missing)
	}
	return fmt.Sprintf("%s; there is no such %s", uses, word)
}

// titleOf is how a sentence calls the template of a flag.
func titleOf(flag string) string {
	switch flag {
	case "--prompt":
		return "the prompt"
	case "--system":
		return "the system prompt"
	}
	return flag
}

// Hint names the fields that there are.
func (e *FieldError) Hint() string {
	word := "fields"
	if e.column {
		word = "columns"
	}
	if len(e.Fields) == 0 {
		return ""
	}
	if other := otherSeparator(e.Fields); other != "" && e.column {
		return "the table has one column, and " + other + ": columns are separated by commas; convert the file"
	}
	names := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		names[i] = f
		if !plainName.MatchString(f) {
			names[i] = string(appendString(nil, f))
		}
	}
	hint := fmt.Sprintf("%s are %s", word, strings.Join(names, ", "))
	for i, f := range e.Fields {
		if names[i] != f {
			return hint + "; " + fieldHint(f)
		}
	}
	return hint
}

// fieldHint tells how a name is written that is none of Go's.
func fieldHint(name string) string {
	what := "a name with spaces"
	if !strings.Contains(name, " ") {
		what = "such a name"
	}
	return fmt.Sprintf("%s is {{field %s}}", what, appendString(nil, name))
}

var plainName = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// templateSyntax words a parse error, with the slip that most often causes it.
func templateSyntax(name, source string, err error) error {
	text := strings.TrimPrefix(err.Error(), "template: "+name+":")
	fault := fmt.Errorf("%s is not a template: line %s", name, text)
	for _, m := range oddField.FindAllStringSubmatch(source, -1) {
		if !plainPath.MatchString(m[1]) {
			return WithHint(fault, fieldHint(m[1]))
		}
	}
	if m := undefined.FindStringSubmatch(text); m != nil {
		if regexp.MustCompile(`\{\{-?\s*` + regexp.QuoteMeta(m[1]) + `\s*-?\}\}`).MatchString(source) {
			return WithHint(fault, fmt.Sprintf("a field is named with a dot: {{.%s}}", m[1]))
		}
		return WithHint(fault, "functions are "+TemplateFunctions)
	}
	if strings.Contains(text, "bad character") || strings.Contains(text, "unexpected <") {
		return WithHint(fault, `a name with spaces or dashes is {{field "Prompt text"}}`)
	}
	return fault
}

// TemplateFunctions are the functions that a template may call.
const TemplateFunctions = "field, has, eq, ne, lt, le, gt, ge, and, or, not, len, index, slice, print, println, printf"

var (
	// oddField finds {{.Prompt text}}: a field's name as it stands in a table's head.
	oddField  = regexp.MustCompile(`\{\{-?\s*\.([^{}|"$]*[^{}|"$\s])\s*-?\}\}`)
	plainPath = regexp.MustCompile(`^[\pL_][\pL\pN_]*(\.[\pL_][\pL\pN_]*)*$`)
)

var undefined = regexp.MustCompile(`function "([^"]+)" not defined`)

// errNoPlace is a prompt that would send every row the same text.
var errNoPlace = errors.New("names no field, so every row would send the same text")

// singleBraces finds {question}: other tools' way to name a field.
var singleBraces = regexp.MustCompile(`\{([\pL_][\pL\pN_]*)\}`)

// noPlaceError refuses a template without a place over more than one row.
func noPlaceError(name, text string, rows int) error {
	err := fmt.Errorf("%s %w (%d rows)", name, errNoPlace, rows)
	if m := singleBraces.FindStringSubmatch(text); m != nil {
		return WithHint(err, fmt.Sprintf("{%s} is not ours; write {{.%s}}", m[1], m[1]))
	}
	return WithHint(err, "name a field as {{.question}}; --repeats is for equal prompts")
}
