package judge

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// english words the faults that the schema library finds.
var english = message.NewPrinter(language.English)

// structuredModels are the models whose documentation says that they take
// output_config.format (platform.claude.com, "Structured outputs"). Others may:
// an answer without it is read as text, which is no worse than a refused request.
var structuredModels = regexp.MustCompile(`^claude-(opus-4-[5-8]|sonnet-4-[56]|haiku-4-5)(-\d{8})?$`)

// HasStructured says whether a model is known to take output_config.format.
func HasStructured(model string) bool { return structuredModels.MatchString(model) }

// Shape is what makes requests of rows: the rubric's templates with its model,
// room and parameters, and the form of the answer where the rubric asks for one
// and the model has it.
func (r *Rubric) Shape() (job.Shape, error) {
	room := r.MaxTokens
	s := job.Shape{Model: r.Model, MaxTokens: &room, System: r.System, Prompt: r.Prompt, Params: string(r.Params)}
	if !r.Verdict.Structured || !HasStructured(r.Model) || gjson.GetBytes(r.Params, "output_config.format").Exists() {
		return s, nil
	}
	if s.Params == "" {
		s.Params = "{}"
	}
	var err error
	s.Params, err = sjson.SetRaw(s.Params, "output_config.format", `{"type":"json_schema","schema":`+string(r.answerSchema())+`}`)
	if err != nil {
		return s, fmt.Errorf("rubric %s: params: %w", r.Name, err)
	}
	return s, nil
}

// answerSchema is the schema of an answer. The API takes no bounds of numbers
// there, so a score's range stands in its description and is held by Read.
func (r *Rubric) answerSchema() json.RawMessage {
	if r.Verdict.Form == FormJSON {
		return r.Verdict.Schema
	}
	kind := map[string]any{"type": "number", "description": "from " + number(r.Verdict.Min) + " to " + number(r.Verdict.Max)}
	if r.Verdict.Form == FormLabel {
		kind = map[string]any{"type": "string", "enum": r.Verdict.Labels}
	}
	text, err := json.Marshal(map[string]any{
		"type": "object", "properties": map[string]any{r.Verdict.Field: kind},
		"required": []string{r.Verdict.Field}, "additionalProperties": false,
	})
	if err != nil {
		panic("judge: a schema of strings and numbers: " + err.Error())
	}
	return text
}

// Bodies makes the Messages bodies of this rubric.
type Bodies struct {
	rubric *Rubric
	made   *job.Bodies
}

// Bodies prepares the rubric's templates. A rubric without a model has bodies
// for the sake of checking them; they are not to be sent.
func (r *Rubric) Bodies() (*Bodies, error) {
	s, err := r.Shape()
	if err != nil {
		return nil, err
	}
	if s.Model == "" {
		s.Model = "none"
	}
	made, err := job.NewBodies(&s)
	if err != nil {
		return nil, err
	}
	return &Bodies{r, made}, nil
}

// Append appends the body that asks about a row, which is a JSON object. A field
// that the row lacks is a *job.FieldError, which names those it has.
func (b *Bodies) Append(dst, row []byte) ([]byte, error) {
	return b.made.Append(dst, row, b.rubric.Fields)
}

// AppendSwapped is Append with the two completions of a pair in each other's
// place.
func (b *Bodies) AppendSwapped(dst, row []byte) ([]byte, error) {
	if b.rubric.Pair == nil {
		return nil, job.WithHint(fmt.Errorf("rubric %s compares no two completions", b.rubric.Name),
			"pair: {fields: [a, b], labels: [A, B]} in the rubric says which fields change places")
	}
	return b.made.Append(dst, row, b.rubric.swappedNames())
}

// swappedNames is Fields with the two completions of a pair in each other's place.
func (r *Rubric) swappedNames() map[string]string {
	names := map[string]string{}
	for to, from := range r.Fields {
		names[to] = from
	}
	first, second := r.Pair.Fields[0], r.Pair.Fields[1]
	names[first], names[second] = r.named(second), r.named(first)
	return names
}

// named is what rows call a field of the templates.
func (r *Rubric) named(field string) string {
	if from, ok := r.Fields[field]; ok {
		return from
	}
	return field
}
