package judge

import (
	"encoding/json"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/internal/job"
)

// verdictLine is the member of a line that says what a judge made of a row
// (interface.md, "Judge line").
type verdictLine struct {
	Status   string          `json:"status"`
	Score    json.RawMessage `json:"score"`
	Label    *string         `json:"label"`
	Raw      string          `json:"raw"`
	Why      string          `json:"why,omitempty"` // there is no verdict
	Rubric   string          `json:"rubric"`
	Version  string          `json:"rubric_version"`
	SHA256   string          `json:"rubric_sha256"`
	Model    string          `json:"model"`
	Params   json.RawMessage `json:"params"`
	Attempts int             `json:"attempts"` // requests to the judge; 0: none was needed
	Repeat   int             `json:"repeat"`
	Swapped  bool            `json:"swapped,omitempty"` // the two completions stood in each other's place
}

// lineOf is the verdict of a settled call.
func (p *Panel) lineOf(d *job.Done) verdictLine {
	s, swapped := p.seat(d.Ask)
	g := p.reading(d.Ask, d.Answer, d.Told)
	v := verdictLine{
		Status: g.Status, Score: json.RawMessage("null"), Label: g.Label, Raw: g.Raw, Why: g.Why,
		Rubric: s.rubric.Name, Version: s.rubric.Version, SHA256: s.rubric.SHA256, Model: s.rubric.Model, Params: s.params,
		Attempts: 1 + len(d.Tried), Repeat: d.Repeat, Swapped: swapped,
	}
	if g.Score != nil {
		v.Score = json.RawMessage(number(*g.Score))
	}
	if d.Told {
		v.Attempts = 0
	}
	return v
}

// AppendMember implements job.Craft.
func (p *Panel) AppendMember(dst []byte, d *job.Done) ([]byte, error) {
	v := p.lineOf(d)
	dst = append(dst, `"verdict":`...)
	return appendPlain(dst, &v)
}

// appendPlain appends a value as JSON without the escapes that only HTML needs.
func appendPlain(dst []byte, v any) ([]byte, error) {
	w := &appendWriter{dst}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return w.b[:len(w.b)-1], nil // without its line break
}

type appendWriter struct{ b []byte }

func (w *appendWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

// Whose implements job.Craft.
func (p *Panel) Whose(line []byte) (job.Whose, bool) {
	v := gjson.GetBytes(line, "verdict")
	if !v.IsObject() {
		return job.Whose{}, false
	}
	return p.whose(v)
}

// whose finds the judge that members of a line or cells of a table name.
func (p *Panel) whose(v gjson.Result) (w job.Whose, ok bool) {
	rubric, model, hash := v.Get("rubric").Str, v.Get("model").Str, v.Get("rubric_sha256").Str
	for i := range p.judges {
		r := p.judges[i].rubric
		if r.Name != rubric || r.Model != model || r.SHA256 != hash {
			continue
		}
		w.Ask = i * p.orders()
		if truth(v.Get("swapped")) {
			w.Ask++
			ok = p.set.Swap
		} else {
			ok = true
		}
		w.Repeat, w.Failed = int(v.Get("repeat").Int()), v.Get("status").Str == Failed
		return w, ok
	}
	return w, false
}

// truth reads a boolean, as tables may spell it.
func truth(v gjson.Result) bool {
	t, err := strconv.ParseBool(v.String())
	return err == nil && t
}
