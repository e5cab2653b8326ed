package main

import (
	"fmt"
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
	if kinds := lackingVerdicts(s); len(kinds) > 0 {
		say(r.err, "hint", fmt.Sprintf("--retry %s asks again about those rows alone; rows that run itself left so stay as they are", strings.Join(kinds, ",")))
	}
}

// lackingVerdicts are the words of --retry for verdicts that are none.
func lackingVerdicts(s *judge.Summary) (kinds []string) {
	var truncated, refused, unparsable int
	for i := range s.Judges {
		c := &s.Judges[i].Total.Counts
		truncated, refused, unparsable = truncated+c.Truncated, refused+c.Refused, unparsable+c.Unparsable
	}
	for _, k := range []struct {
		n    int
		word string
	}{{truncated, judge.Truncated}, {refused, judge.Refused}, {unparsable, judge.Unparsable}} {
		if k.n > 0 {
			kinds = append(kinds, k.word)
		}
	}
	return kinds
}
