package judge

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/internal/job"
)

// DefaultMaxTokens is the room of an answer where a rubric names none: a verdict
// is short, and a judge that says a sentence before it still ends.
const DefaultMaxTokens = 256

var plainName = regexp.MustCompile(`^[\pL\pN][\pL\pN._-]*$`)

// errorf is an error about a value of the file.
func (f *rubricFile) errorf(s scalar, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if !s.set() {
		return fmt.Errorf("%s: %s", f.where, msg)
	}
	return &lineError{f.where, s.line, msg}
}

// rubric is what the file means.
func (f *rubricFile) rubric() (*Rubric, error) {
	r := &Rubric{
		Name: f.Name.text, Version: f.Version.text, Model: strings.TrimSpace(f.Model.text),
		System: strings.TrimSuffix(f.System.text, "\n"), Prompt: strings.TrimSuffix(f.Prompt.text, "\n"),
		Params: f.Params.json,
	}
	switch {
	case r.Name == "":
		return nil, f.errorf(f.Name, "the rubric has no name")
	case !plainName.MatchString(r.Name):
		return nil, f.errorf(f.Name, "a name has letters, digits and . _ -; this is %q", r.Name)
	case r.Version == "":
		return nil, f.errorf(f.Version, "the rubric has no version")
	case strings.TrimSpace(r.Prompt) == "":
		return nil, f.errorf(f.Prompt, "the rubric has no prompt")
	}
	for _, step := range []func(*Rubric) error{f.room, f.names, f.verdict, f.pair, f.refusals, f.templates} {
		if err := step(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (f *rubricFile) room(r *Rubric) error {
	r.MaxTokens = DefaultMaxTokens
	if !f.MaxTokens.set() {
		return nil
	}
	n, err := strconv.Atoi(strings.ReplaceAll(f.MaxTokens.text, "_", ""))
	if err != nil || n < 1 {
		return f.errorf(f.MaxTokens, "max_tokens is a whole number from 1, this is %q", f.MaxTokens.text)
	}
	r.MaxTokens = n
	return nil
}

func (f *rubricFile) names(r *Rubric) error {
	for to, from := range f.Fields {
		if to == "" || from.text == "" {
			return f.errorf(from, "fields: %q has an empty name", to)
		}
		if r.Fields == nil {
			r.Fields = map[string]string{}
		}
		r.Fields[to] = from.text
	}
	return nil
}

func (f *rubricFile) verdict(r *Rubric) error {
	v := &f.Verdict
	r.Verdict = Verdict{Form: v.Form.text, Field: v.Field.text, Schema: v.Schema.json}
	switch v.Structured.text {
	case "", "false":
	case "true":
		r.Verdict.Structured = true
	default:
		return f.errorf(v.Structured, "structured is true or false, this is %q", v.Structured.text)
	}
	switch r.Verdict.Form {
	case FormScore:
		return f.scoreForm(r)
	case FormLabel:
		return f.labelForm(r)
	case FormJSON:
		return f.jsonForm(r)
	case "":
		return f.errorf(v.Form, "verdict has no form: score, label or json")
	}
	return f.errorf(v.Form, "form is score, label or json, this is %q", v.Form.text)
}

func (f *rubricFile) scoreForm(r *Rubric) error {
	v := &f.Verdict
	if len(v.Labels) > 0 || v.Schema.set() {
		return f.errorf(v.Form, "a score has min and max, no labels and no schema")
	}
	if r.Verdict.Field == "" {
		r.Verdict.Field = "score"
	}
	if !v.Min.set() && !v.Max.set() {
		r.Verdict.Min, r.Verdict.Max = 0, 100
		return nil
	}
	return f.scale(r)
}

// scale reads min and max.
func (f *rubricFile) scale(r *Rubric) error {
	v := &f.Verdict
	for _, end := range []struct {
		name string
		from scalar
		to   *float64
	}{{"min", v.Min, &r.Verdict.Min}, {"max", v.Max, &r.Verdict.Max}} {
		n, err := strconv.ParseFloat(end.from.text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return f.errorf(end.from, "%s is a number, this is %q", end.name, end.from.text)
		}
		*end.to = n
	}
	if r.Verdict.Min >= r.Verdict.Max {
		return f.errorf(v.Max, "the scale goes from min to max; %s is not below %s", v.Min.text, v.Max.text)
	}
	return nil
}

func (f *rubricFile) labelForm(r *Rubric) error {
	v := &f.Verdict
	if v.Min.set() || v.Max.set() || v.Schema.set() {
		return f.errorf(v.Form, "a label is one of labels, with no min, max or schema")
	}
	if len(v.Labels) < 2 {
		return f.errorf(v.Form, "a label is one of at least two; labels names %d", len(v.Labels))
	}
	if r.Verdict.Field == "" {
		r.Verdict.Field = "label"
	}
	return f.labels(r)
}

// labels refuses two that a reader could not tell apart.
func (f *rubricFile) labels(r *Rubric) error {
	seen := map[string]bool{}
	for _, l := range f.Verdict.Labels {
		plain := plainLabel(l.text)
		if plain == "" {
			return f.errorf(l, "a label has letters or digits, this is %q", l.text)
		}
		if seen[plain] {
			return f.errorf(l, "label %q stands twice: case and punctuation make no difference", l.text)
		}
		seen[plain] = true
		r.plain = append(r.plain, plain)
		r.Verdict.Labels = append(r.Verdict.Labels, l.text)
	}
	return nil
}

func (f *rubricFile) jsonForm(r *Rubric) error {
	v := &f.Verdict
	if v.Min.set() || v.Max.set() {
		if err := f.scale(r); err != nil {
			return err
		}
	}
	if err := f.labels(r); err != nil {
		return err
	}
	scale, labels := v.Min.set() || v.Max.set(), len(v.Labels) > 0
	switch {
	case r.Verdict.Field == "" && (scale || labels):
		return f.errorf(v.Form, "min, max and labels are of a field; field does not name it")
	case r.Verdict.Field != "" && scale == labels:
		return f.errorf(v.Field, "field %s is a score with min and max, or a label of labels: one of the two", v.Field.text)
	}
	if r.Verdict.Structured && !v.Schema.set() {
		return f.errorf(v.Structured, "structured needs the schema")
	}
	if !v.Schema.set() {
		return nil
	}
	schema, err := compileSchema(v.Schema.json)
	if err != nil {
		return &lineError{f.where, v.Schema.line, "schema: " + err.Error()}
	}
	r.schema = schema
	return nil
}

func (f *rubricFile) pair(r *Rubric) error {
	p := &f.Pair
	if len(p.Fields) == 0 && len(p.Labels) == 0 {
		return nil
	}
	if len(p.Fields) != 2 || p.Fields[0].text == p.Fields[1].text {
		return f.errorf(f.Name, "pair has two fields, the first and the second that are shown")
	}
	r.Pair = &Pair{Fields: [2]string{p.Fields[0].text, p.Fields[1].text}}
	if r.Verdict.Form == FormScore && len(p.Labels) == 0 {
		return nil
	}
	if r.Verdict.Form != FormLabel || len(p.Labels) != 2 || p.Labels[0].text == p.Labels[1].text {
		return f.errorf(p.Fields[0], "pair has two labels of the verdict, for the first and for the second that are shown")
	}
	for i, l := range p.Labels {
		if !slices.Contains(r.Verdict.Labels, l.text) {
			return f.errorf(l, "pair: %q is none of the verdict's labels", l.text)
		}
		r.Pair.Labels[i] = l.text
	}
	return nil
}

func (f *rubricFile) refusals(r *Rubric) error {
	r.Refusal = DefaultRefusal
	if f.Refusal != nil {
		r.Refusal = nil
		for _, s := range *f.Refusal {
			r.Refusal = append(r.Refusal, s.text)
		}
	}
	for i, pattern := range r.Refusal {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return f.errorf((*f.Refusal)[i], "refusal: %s", err)
		}
		r.refusal = append(r.refusal, re)
	}
	return nil
}

// templates holds prompt, system and params to what templates can be.
func (f *rubricFile) templates(r *Rubric) error {
	for _, field := range [][2]string{{"the prompt", r.Prompt}, {"system", r.System}} { // Bodies would name flags of run
		if _, err := job.ParseTemplate(field[0], field[1]); err != nil {
			return fmt.Errorf("%s: %w", f.where, err)
		}
	}
	if _, err := r.Bodies(); err != nil {
		return fmt.Errorf("%s: %w", f.where, err)
	}
	if r.Params != nil && !json.Valid(r.Params) {
		return &lineError{f.where, f.Params.line, "params is no JSON"}
	}
	if err := overruled(r); err != nil {
		return &lineError{f.where, f.Params.line, err.Error()}
	}
	if job.WithoutSecrets(string(r.Params)) != string(r.Params) {
		return job.WithHint(&lineError{f.where, f.Params.line, "params has a token, key or password: a journal keeps the text of rubrics"},
			"--params @FILE says it: what is secret of that is not kept")
	}
	return nil
}

// overruled refuses parameters that a body would not have, since the rubric or a
// flag has the word on them: lines would name a judge or a room that was not so.
func overruled(r *Rubric) error {
	for _, o := range []struct {
		key, of string
		is      bool
	}{
		{"model", "model of the rubric, or --model", true},
		{"max_tokens", "max_tokens of the rubric, or --max-tokens", true},
		{"system", "system of the rubric", r.System != ""},
	} {
		if o.is && gjson.GetBytes(r.Params, o.key).Exists() {
			return fmt.Errorf("params has %s, which the %s says", o.key, o.of)
		}
	}
	return nil
}
