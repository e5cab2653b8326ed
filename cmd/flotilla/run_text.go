package main

import (
	"fmt"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
)

// tell says how a run ended, for people.
func (r *runner) tell(s *job.Summary, report *flotilla.Report) {
	_, _ = fmt.Fprintf(r.err, "%+v %v\n", s, report.Closed)
}
