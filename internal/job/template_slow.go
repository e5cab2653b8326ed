package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	"github.com/tidwall/gjson"
)

// slowTemplate runs a template by text/template. Every action that prints gets
// a last command that turns its value into text, so that numbers keep their
// spelling and lists and objects come out as JSON; html/template places its
// escapers the same way.
type slowTemplate struct {
	pool sync.Pool // of *slowRun
}

// slowRun is one goroutine's copy: its functions look at the row being run.
type slowRun struct {
	t   *template.Template
	out bytes.Buffer
	row *record
	raw map[reflectID]string // the JSON of every list and object of the row
}

// reflectID tells lists and objects apart by where they are.
type reflectID struct {
	p uintptr
	n int
}

// stubFuncs are the functions by name and type, for parsing.
var stubFuncs = template.FuncMap{
	"field":  func(string) (any, error) { return nil, nil },
	"has":    func(string) bool { return false },
	"_print": func(string, any) (string, error) { return "", nil },
}

func newSlowTemplate(t *template.Template) *slowTemplate {
	for _, one := range t.Templates() {
		addPrint(one.Root)
	}
	s := &slowTemplate{}
	s.pool.New = func() any {
		run := &slowRun{}
		run.t = template.Must(t.Clone()).Funcs(template.FuncMap{
			"field": run.field, "has": run.has, "_print": run.print,
		}).Funcs(comparisons)
		return run
	}
	return s
}

func (s *slowTemplate) appendTo(dst []byte, name string, r *record) ([]byte, error) {
	run := s.pool.Get().(*slowRun)
	defer s.pool.Put(run)
	run.out.Reset()
	run.row, run.raw = r, map[reflectID]string{}
	data := make(map[string]any, len(r.fields))
	for _, f := range r.fields {
		data[f.key] = run.decode(f.val)
	}
	if err := run.t.Execute(&run.out, data); err != nil {
		return nil, run.explain(name, err)
	}
	return append(dst, run.out.Bytes()...), nil
}

// decode makes Go values of JSON, remembering the text of lists and objects.
func (s *slowRun) decode(v gjson.Result) any {
	switch {
	case v.IsObject():
		m := map[string]any{}
		v.ForEach(func(k, e gjson.Result) bool { m[k.Str] = s.decode(e); return true })
		s.raw[reflectID{reflect.ValueOf(m).Pointer(), -1}] = compact(v.Raw)
		return m
	case v.IsArray():
		l := []any{}
		v.ForEach(func(_, e gjson.Result) bool { l = append(l, s.decode(e)); return true })
		if len(l) > 0 {
			s.raw[reflectID{reflect.ValueOf(l).Pointer(), len(l)}] = compact(v.Raw)
		}
		return l
	case v.Type == gjson.String:
		return v.Str
	case v.Type == gjson.Number:
		return number(v.Raw)
	case v.Type == gjson.Null:
		return nil
	}
	return v.Bool()
}

func (s *slowRun) field(name string) (any, error) {
	v, ok := s.row.get(name)
	if !ok {
		return nil, &FieldError{Place: fmt.Sprintf("{{field %q}}", name), Missing: name, Fields: s.row.keys()}
	}
	return s.decode(v), nil
}

func (s *slowRun) has(name string) bool {
	v, ok := s.row.get(name)
	return ok && v.Type != gjson.Null
}

func (s *slowRun) print(place string, v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", &FieldError{Place: place, Null: true, Fields: s.row.keys()}
	case string:
		return v, nil
	case number:
		return string(v), nil
	case map[string]any:
		return s.json(v, reflectID{reflect.ValueOf(v).Pointer(), -1})
	case []any:
		return s.json(v, reflectID{reflect.ValueOf(v).Pointer(), len(v)})
	}
	return fmt.Sprint(v), nil
}

func (s *slowRun) json(v any, id reflectID) (string, error) {
	if raw, ok := s.raw[id]; ok {
		return raw, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// explain words an execution error as the row's.
func (s *slowRun) explain(name string, err error) error {
	var missing *FieldError
	if errors.As(err, &missing) {
		missing.Template = name
		return missing
	}
	text := err.Error()
	if _, after, ok := strings.Cut(text, "map has no entry for key "); ok {
		key := strings.Trim(after, `"`)
		place := "{{." + key + "}}"
		if _, rest, ok := strings.Cut(text, "at <"); ok {
			place, _, _ = strings.Cut(rest, ">")
			place = "{{" + place + "}}"
		}
		e := &FieldError{Template: name, Place: place, Missing: key, Fields: s.row.keys()}
		if _, there := s.row.get(key); there {
			e.Inside = "a value inside the row"
		}
		return e
	}
	return fmt.Errorf("%s cannot be filled: %s", titleOf(name), strings.TrimPrefix(text, "template: "))
}

// addPrint gives every action that prints its last command.
func addPrint(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, c := range n.Nodes {
				addPrint(c)
			}
		}
	case *parse.ActionNode:
		if len(n.Pipe.Decl) == 0 {
			addPrintTo(n.Pipe)
		}
	case *parse.IfNode:
		addTruth(n.Pipe)
		addPrint(n.List)
		addPrint(n.ElseList)
	case *parse.RangeNode:
		addPrint(n.List)
		addPrint(n.ElseList)
	case *parse.WithNode:
		addPrint(n.List)
		addPrint(n.ElseList)
	}
}

// addTruth lets a condition see numbers as numbers: 0 is false.
func addTruth(p *parse.PipeNode) {
	if len(p.Decl) > 0 {
		return // the variable is the value
	}
	p.Cmds = append(p.Cmds, &parse.CommandNode{
		NodeType: parse.NodeCommand, Pos: p.Pos,
		Args: []parse.Node{parse.NewIdentifier("_true").SetPos(p.Pos)},
	})
}

func addPrintTo(p *parse.PipeNode) {
	place := "{{" + p.String() + "}}"
	p.Cmds = append(p.Cmds, &parse.CommandNode{
		NodeType: parse.NodeCommand,
		Pos:      p.Pos,
		Args: []parse.Node{
			parse.NewIdentifier("_print").SetPos(p.Pos),
			&parse.StringNode{NodeType: parse.NodeString, Pos: p.Pos, Quoted: fmt.Sprintf("%q", place), Text: place},
		},
	})
}
