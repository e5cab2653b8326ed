package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/judge"
)

// verdictDetail is a verdict with what it is about: the row, what the judge was
// asked, and what it answered.
type verdictDetail struct {
	verdictJSON
	Fields      []fieldJSON     `json:"fields"` // of the row; empty: it cannot be read
	Body        json.RawMessage `json:"body"`
	BodyMissing *string         `json:"body_missing"`
	Message     json.RawMessage `json:"message"`
	Error       json.RawMessage `json:"error"`
	Others      []verdictJSON   `json:"others"` // all verdicts on the row, this one too
}

// fieldJSON is a field of a row. Its role is judged for what the judge is to
// judge, shown for what it is shown beside that, and empty for the rest.
type fieldJSON struct {
	Name  string          `json:"name"`
	Role  string          `json:"role"`
	Value json.RawMessage `json:"value"`
}

// mostOthers bounds how many verdicts on one row are told: thirty judges of ten
// repeats.
const mostOthers = 300

// verdict is one call with its answer, as its judge's rubric reads it.
func (d *Dashboard) verdict(ctx context.Context, v *jobView, call int, words [][]byte) (*verdictDetail, error) {
	row, err := d.row(ctx, v, call, words)
	if err != nil {
		return nil, err
	}
	out := &verdictDetail{verdictJSON: verdictJSON{rowJSON: row.rowJSON}, Body: row.Body, BodyMissing: row.BodyMissing, Message: row.Message, Error: row.Error}
	out.Status = "pending"
	b := v.book.place(&out.verdictJSON)
	if b == nil || row.Status == "pending" {
		return out, nil
	}
	outcome, _, _ := v.tally.standing(call)
	answer := job.Answer{Outcome: job.Outcome(outcome), Body: row.Message, StopReason: text(row.StopReason)}
	if row.Message == nil {
		answer.Body = row.Error
	}
	_, ask, _ := b.place(call)
	out.say(b.panel.ReadCall(ask, &answer, told(v, call)))
	return out, nil
}

// place says what a call is about, as far as the book knows it; nil: there is no
// book.
func (k *verdictBook) place(out *verdictJSON) *bench {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.bench == nil {
		return nil
	}
	row, ask, repeat := k.bench.place(out.Row)
	out.Record, out.Repeat = row, repeat
	out.Judge, out.Swapped = k.bench.seat(ask)
	if row < len(k.facts) {
		f := &k.facts[row]
		out.ID, out.Group, out.Truth = some(f.id), some(k.words.all[f.group]), some(k.words.all[f.label])
	}
	return k.bench
}

// say takes in what an answer comes to.
func (out *verdictJSON) say(g judge.Reading) {
	out.Status, out.Score, out.Label, out.Why = g.Status, g.Score, g.Label, some(g.Why)
}

// told says that the row of a call brought its outcome with it.
func told(v *jobView, call int) bool {
	rows, _ := v.text.rows()
	calls, ok := rows.(job.CallReader)
	if !ok {
		return false
	}
	c, err := calls.Call(call)
	return err == nil && c.Told
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (d *Dashboard) serveVerdict(w http.ResponseWriter, r *http.Request) {
	info, ok := d.find(w, r)
	if !ok {
		return
	}
	v, ok := d.judged(w, r, &info, false)
	if !ok {
		return
	}
	call, err := strconv.Atoi(r.PathValue("call"))
	if err != nil || call < 0 || call >= info.N {
		writeError(w, http.StatusNotFound, "the job has no such call; they count from 0")
		return
	}
	out, err := d.verdict(r.Context(), v, call, nil)
	if err == nil {
		out.Others, err = d.others(r.Context(), v, call, info.N)
	}
	if err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	out.Fields = fieldsOf(v, call)
	writeJSON(w, out)
}

// others are the verdicts on the row of a call.
func (d *Dashboard) others(ctx context.Context, v *jobView, call, n int) ([]verdictJSON, error) {
	v.book.mu.RLock()
	b := v.book.bench
	v.book.mu.RUnlock()
	out := []verdictJSON{}
	if b == nil {
		return out, nil
	}
	per := b.perRow()
	first := call / per * per
	for i := first; i < min(n, first+min(per, mostOthers)); i++ {
		one, err := d.verdict(ctx, v, i, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, one.verdictJSON)
	}
	return out, nil
}

// fieldsOf are the fields of the row of a call, in the row's order.
func fieldsOf(v *jobView, call int) []fieldJSON {
	out := []fieldJSON{}
	rows, _ := v.text.rows()
	calls, ok := rows.(job.CallReader)
	if !ok {
		return out
	}
	c, err := calls.Call(call)
	if err != nil {
		return out
	}
	v.book.mu.RLock()
	b := v.book.bench
	v.book.mu.RUnlock()
	if b == nil {
		return out
	}
	of, _ := b.seat(c.Ask)
	judged, shown := fieldRoles(b.judges[of])
	for _, name := range c.Row.Fields() {
		value, _ := c.Row.Get(name)
		f := fieldJSON{Name: name, Value: valueOf(value)}
		switch {
		case slices.Contains(judged, name):
			f.Role = "judged"
		case slices.Contains(shown, name):
			f.Role = "shown"
		}
		out = append(out, f)
	}
	return out
}

// valueOf is a field's value as JSON; a table's cell may be none as it stands.
func valueOf(v gjson.Result) json.RawMessage {
	if v.Type == gjson.JSON && json.Valid([]byte(v.Raw)) {
		return json.RawMessage(v.Raw)
	}
	if v.Type == gjson.Number && json.Valid([]byte(v.Raw)) {
		return json.RawMessage(v.Raw)
	}
	value, err := json.Marshal(v.Value())
	if err != nil {
		value, _ = json.Marshal(v.String())
	}
	return value
}

// used finds the names of a template: {{.name}} and {{field "A name"}}.
var used = regexp.MustCompile(`\{\{-?\s*(?:\.(\w+)|field\s+"([^"]+)")`)

// fieldRoles are the fields of a row that a rubric's judge is to judge, and those
// it is shown besides: the two of a pair or the completion, and all others that
// its templates name.
func fieldRoles(r *judge.Rubric) (judged, shown []string) {
	what := []string{"completion"}
	if r.Pair != nil {
		what = r.Pair.Fields[:]
	}
	for _, m := range used.FindAllStringSubmatch(r.System+"\n"+r.Prompt, -1) {
		name := m[1] + m[2]
		field := name
		if other, ok := r.Fields[name]; ok {
			field = other
		}
		if slices.Contains(what, name) {
			judged = append(judged, field)
		} else {
			shown = append(shown, field)
		}
	}
	return judged, shown
}
