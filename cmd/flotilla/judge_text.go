package main

import (
	"fmt"
	"strings"
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
	if kinds := r.panel.Retry(); len(kinds) > 0 {
		say(r.err, "hint", fmt.Sprintf("--retry %s asks again about those rows alone", strings.Join(kinds, ",")))
	}
}
