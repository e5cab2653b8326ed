package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/judge"
)

// judgesText says who judges by what; empty: nobody does.
func (r *runner) judgesText() []string {
	if r.panel == nil {
		return nil
	}
	var lines []string
	for _, j := range r.panel.Judges() {
		lines = append(lines, fmt.Sprintf("rubric %s, version %s (%.8s), by %s", j.Name, j.Version, j.SHA256, j.Model))
	}
	return lines
}

// tellVerdicts says what the verdicts amount to, and what may be asked again.
func (r *runner) tellVerdicts() {
	if r.panel == nil {
		return
	}
	s := r.panel.Summary()
	if s == nil || s.Rows == 0 {
		return
	}
	_, _ = fmt.Fprintf(r.err, "\n%s\n", s.Text())
	kinds := strings.Join(r.panel.Retry(), ",")
	switch {
	case kinds == "":
	case noneScored(s):
		say(r.err, "hint", fmt.Sprintf("raw and why in the lines say what was answered; --retry %s asks the same once more", kinds))
	default:
		say(r.err, "hint", fmt.Sprintf("--retry %s asks again about those rows alone", kinds))
	}
}

// noneScored says that no judge gave a verdict: then it is most often the rubric that
// does not fit, and asking again costs the same for nothing.
func noneScored(s *judge.Summary) bool {
	return !slices.ContainsFunc(s.Judges, func(j judge.JudgeSummary) bool { return j.Total.ScoredRows > 0 })
}
