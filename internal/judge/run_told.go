package judge

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/internal/job"
)

// Told implements job.Craft: rows that run marked truncated, refused or failed
// keep that status, and no judge is asked about them.
func (p *Panel) Told(row job.Row, ask int) *job.Told {
	if ask == 0 {
		p.see(row)
	}
	if !row.Carried() {
		return nil
	}
	s, _ := p.seat(ask)
	text := func(name string) string { v, _ := row.Get(name); return v.Str }
	if status := text("status"); status != job.Succeeded.String() {
		return &job.Told{Model: s.rubric.Model, Body: toldError(status, text("error"))}
	}
	switch stop := text("stop_reason"); stop {
	case "max_tokens", "model_context_window_exceeded", "refusal":
		return &job.Told{Model: s.rubric.Model, StopReason: stop, Body: toldMessage(s.rubric.Model, stop)}
	}
	return nil
}

// rowError is the type of an error that is not of the judge's call.
const rowError = "flotilla_row_error"

func toldError(status, fault string) []byte {
	why := "the row has no completion: it was " + status
	if fault != "" {
		why += ": " + fault
	}
	text, err := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": rowError, "message": why}})
	if err != nil {
		panic("judge: an envelope of strings: " + err.Error())
	}
	return text
}

// toldMessage stands in the journal for the answer of a judge that was not asked.
func toldMessage(model, stop string) []byte {
	return fmt.Appendf(nil, `{"id":"","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}`, model, stop)
}

// reading is what a settled call comes to.
func (p *Panel) reading(ask int, a *job.Answer, told bool) Reading {
	s, _ := p.seat(ask)
	if a.Outcome != job.Succeeded {
		return Fail(whyFailed(a))
	}
	g := s.rubric.Read(a.Body)
	if told {
		g.Raw = ""
		g.Why = "the row's completion is " + g.Status + ": stop_reason " + a.StopReason
	}
	return g
}

func whyFailed(a *job.Answer) string {
	if a.Outcome != job.Errored {
		return a.Outcome.String()
	}
	e := gjson.GetBytes(a.Body, "error")
	kind, message := e.Get("type").Str, e.Get("message").Str
	switch {
	case kind == rowError:
		return strings.Clone(message)
	case kind == "":
		return "no answer"
	}
	return kind + ": " + message
}
