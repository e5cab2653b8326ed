package judge

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/price"
)

// Settings say who is to judge what.
type Settings struct {
	Rubrics []*Rubric // at least one, of different names
	Models  []string  // judges that go by each of the rubrics; none: the one that a rubric names itself

	Params    string            // JSON object whose members win over those of a rubric; empty: none
	MaxTokens int               // in place of the rubrics'; 0: theirs
	Fields    map[string]string // as [Rubric.Fields]; they win over a rubric's
	Swap      bool              // every row again with its two completions in each other's place

	By    string // field to group by; empty: none
	Label string // field that says what is true; empty: none
	Draw  Bootstrap

	Prices *price.Table // nil: the published one
	Warn   func(string) // told lines for people, from any goroutine; nil: nobody
}

// Panel is every rubric by every model that goes by it: a job asks it about each
// row. It is a job.Craft.
type Panel struct {
	set    Settings
	judges []*seat

	mu      sync.Mutex
	seen    map[string]bool // of By and Label: a row has it
	fields  []string        // of the first row
	rows    bool
	summary *Summary
	lacking map[string]int // judges' answers that are no verdict, by status
}

// seat is one judge of a panel.
type seat struct {
	rubric *Rubric // with its model, room and parameters
	bodies *Bodies
	params json.RawMessage // as lines say them

	read, scored atomic.Int64 // answers
}

var _ job.Craft = (*Panel)(nil)

// NewPanel puts a panel together.
func NewPanel(s Settings) (*Panel, error) {
	if s.Prices == nil {
		s.Prices = price.Published()
	}
	p := &Panel{set: s, seen: map[string]bool{}}
	if len(s.Rubrics) == 0 {
		return nil, job.WithHint(errors.New("no rubric was given"), "--rubric NAME|FILE; built in are "+strings.Join(Builtins(), ", "))
	}
	names := map[string]string{}
	for _, r := range s.Rubrics {
		if other, ok := names[r.Name]; ok {
			return nil, job.WithHint(fmt.Errorf("two rubrics are named %q%s", r.Name, sameText(other, r.SHA256)), "a line says its rubric by name: give one of them another")
		}
		names[r.Name] = r.SHA256
		models := s.Models
		if len(models) == 0 {
			models = []string{r.Model}
		}
		for _, model := range models {
			if err := p.add(r, model); err != nil {
				return nil, err
			}
		}
	}
	if err := s.idleField(); err != nil {
		return nil, err
	}
	return p, nil
}

// idleField is an error where a field is given for a name that no template has: a
// misspelling would leave the rubric with the rows' field of its own name.
func (s *Settings) idleField() error {
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		if !slices.ContainsFunc(s.Rubrics, func(r *Rubric) bool { return strings.Contains(r.Prompt+r.System, name) }) {
			return job.WithHint(fmt.Errorf("--field %s=%s: no rubric uses {{.%s}}", name, s.Fields[name], name), "NAME=FIELD: the name is the rubric's, the field that of the rows")
		}
	}
	return nil
}

func sameText(a, b string) string {
	if a == b {
		return ", with one text"
	}
	return ""
}

// add adds the judge that goes by a rubric.
func (p *Panel) add(r *Rubric, model string) error {
	if model == "" {
		return job.WithHint(fmt.Errorf("rubric %s names no model, and none was given", r.Name), "--model NAME, or model: NAME in the rubric")
	}
	if slices.ContainsFunc(p.judges, func(s *seat) bool { return s.rubric.Name == r.Name && s.rubric.Model == model }) {
		return fmt.Errorf("model %s was given twice", model)
	}
	if p.set.Swap && r.Pair == nil {
		return job.WithHint(fmt.Errorf("rubric %s compares no two completions, so nothing can change places", r.Name),
			"pair: {fields: [a, b], labels: [A, B]} in the rubric says which fields do; the built-in preference has it")
	}
	one := r.For(model)
	if p.set.MaxTokens > 0 {
		one.MaxTokens = p.set.MaxTokens
	}
	if len(p.set.Fields) > 0 {
		one.Fields = maps.Clone(r.Fields)
		if one.Fields == nil {
			one.Fields = map[string]string{}
		}
		maps.Copy(one.Fields, p.set.Fields)
	}
	s := &seat{rubric: one}
	var err error
	if one.Params, err = merged(r.Params, p.set.Params); err != nil {
		return err
	}
	if err := overruled(one); err != nil {
		return fmt.Errorf("rubric %s: %w", r.Name, err)
	}
	if s.bodies, err = one.Bodies(); err != nil {
		return fmt.Errorf("rubric %s: %w", r.Name, err)
	}
	if !s.bodies.made.UsesRow() {
		return job.WithHint(fmt.Errorf("rubric %s: its prompt uses no field of the rows, so that all would be judged alike", r.Name), placeHint(r.Prompt))
	}
	s.params = p.paramsOf(one)
	p.judges = append(p.judges, s)
	return nil
}

var singleBraces = regexp.MustCompile(`\{([\pL_][\pL\pN_]*)\}`)

// placeHint says how a prompt names a field.
func placeHint(prompt string) string {
	if m := singleBraces.FindStringSubmatch(prompt); m != nil {
		return fmt.Sprintf("{%s} is not ours; write {{.%s}}", m[1], m[1])
	}
	return "{{.completion}} is the field of that name"
}

// paramsOf are the parameters that lines name: those of the rubric and of
// --params, and the room where it is not the rubric's.
func (p *Panel) paramsOf(r *Rubric) json.RawMessage {
	out := map[string]json.RawMessage{}
	if len(r.Params) > 0 {
		if json.Unmarshal([]byte(job.WithoutSecrets(string(r.Params))), &out) != nil {
			return json.RawMessage("{}") // Bodies has said what is wrong with it
		}
	}
	if p.set.MaxTokens > 0 {
		out["max_tokens"] = json.RawMessage(strconv.Itoa(p.set.MaxTokens))
	}
	text, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage("{}")
	}
	return text
}

// merged is an object with the members of another over its own.
func merged(params json.RawMessage, over string) (json.RawMessage, error) {
	if over == "" {
		return params, nil
	}
	out := map[string]json.RawMessage{}
	for _, text := range []string{string(params), over} {
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			return nil, fmt.Errorf("--params: a JSON object is needed: %w", err)
		}
	}
	return json.Marshal(out)
}

// Judges are the rubrics of the panel, each with its model, in the order of
// Mark.Pair.
func (p *Panel) Judges() []*Rubric {
	out := make([]*Rubric, len(p.judges))
	for i := range p.judges {
		out[i] = p.judges[i].rubric
	}
	return out
}

// orders is how many requests each judge is sent about a row.
func (p *Panel) orders() int {
	if p.set.Swap {
		return 2
	}
	return 1
}

// Asks implements job.Craft.
func (p *Panel) Asks() int { return len(p.judges) * p.orders() }

// seat is who a request of a row goes to, and in which order the completions
// stand.
func (p *Panel) seat(ask int) (s *seat, swapped bool) {
	return p.judges[ask/p.orders()], ask%p.orders() == 1
}

// Identity implements job.Craft: what makes the requests. Groups and labels are
// no part of it.
func (p *Panel) Identity() []byte {
	h := sha256.New()
	part := func(s string) {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		_, _ = h.Write([]byte(s))
	}
	part("flotilla judge 1")
	part(strconv.FormatBool(p.set.Swap))
	for i := range p.judges {
		r := p.judges[i].rubric
		for _, s := range []string{r.SHA256, r.Model, strconv.Itoa(r.MaxTokens), string(r.Params)} {
			part(s)
		}
		for _, to := range slices.Sorted(maps.Keys(r.Fields)) {
			part(to)
			part(r.Fields[to])
		}
	}
	return h.Sum(nil)
}

// Body implements job.Craft.
func (p *Panel) Body(dst []byte, row job.Row, ask int) ([]byte, error) {
	s, swapped := p.seat(ask)
	if ask == 0 {
		p.see(row)
	}
	names := s.rubric.Fields
	if swapped {
		names = s.rubric.swappedNames()
	}
	dst, err := s.bodies.made.AppendRow(dst, row, names)
	if err != nil {
		return nil, p.explain(err, s.rubric, row)
	}
	return dst, nil
}

// explain says whose field a row lacks.
func (p *Panel) explain(err error, r *Rubric, row job.Row) error {
	err = &rubricError{r.Name, err}
	var missing *job.FieldError
	switch {
	case !errors.As(err, &missing) || missing.Null:
		return err
	case row.Carried() && !row.KeptInput():
		return job.WithHint(err, "run wrote these lines without the fields of its input: with --keep all, or as .parquet, it keeps them")
	}
	return job.WithHint(err, fmt.Sprintf("fields are %s; --field %s=NAME says which of them it is", strings.Join(missing.Fields, ", "), missing.Missing))
}

// rubricError is an error of a row by one rubric. It is worded when it is asked
// for: what a field of the row is called is known to the reader of the input.
type rubricError struct {
	rubric string
	err    error
}

func (e *rubricError) Error() string { return fmt.Sprintf("rubric %s: %v", e.rubric, e.err) }
func (e *rubricError) Unwrap() error { return e.err }

// see notes which of the fields that statistics go by rows have.
func (p *Panel) see(row job.Row) {
	if p.set.By == "" && p.set.Label == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.rows {
		p.rows, p.fields = true, slices.Clone(row.Fields())
	}
	for _, name := range []string{p.set.By, p.set.Label} {
		if name != "" && !p.seen[name] {
			if _, ok := row.Get(name); ok {
				p.seen[strings.Clone(name)] = true
			}
		}
	}
}

// Check refuses a field to group by, or of labels, that no row has: once all
// rows are read, before anything is sent.
func (p *Panel) Check() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range []struct{ flag, name string }{{"--by", p.set.By}, {"--label", p.set.Label}} {
		if f.name != "" && p.rows && !p.seen[f.name] {
			return job.WithHint(fmt.Errorf("%s %s: no row has such a field", f.flag, f.name), "fields are "+strings.Join(p.fields, ", "))
		}
	}
	return nil
}
