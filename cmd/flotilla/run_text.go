package main

import (
	"fmt"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
)

// tell says how a run went and why it ended, for people.
func (r *runner) tell(s *job.Summary, report *flotilla.Report) {
	_, _ = fmt.Fprint(r.err, s.Text())
	for _, line := range s.Ending(report) {
		if line.Kind == "" {
			_, _ = fmt.Fprintln(r.err, "flotilla: "+line.Text)
			continue
		}
		say(r.err, line.Kind, line.Text)
	}
}
