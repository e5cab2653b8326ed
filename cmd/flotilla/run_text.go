package main

import (
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
)

// tell says how a run went and why it ended, for people.
func (r *runner) tell(s *job.Summary, report *flotilla.Report) {
	_, _ = fmt.Fprint(r.err, s.Text())
	if line := r.furtherText(report); line != "" {
		_, _ = fmt.Fprintln(r.err, line)
	}
	r.tellVerdicts()
	for _, line := range s.Ending(report) {
		if line.Kind == "" {
			_, _ = fmt.Fprintln(r.err, "flotilla: "+line.Text)
			continue
		}
		say(r.err, line.Kind, line.Text)
	}
}

// tellNoKey says of every org that its key was not accepted.
func (r *runner) tellNoKey(s *job.Summary, report *flotilla.Report) {
	_, _ = fmt.Fprint(r.err, s.Text())
	said := map[string]bool{}
	for _, c := range report.Closed {
		if !said[c.Org] {
			said[c.Org] = true
			_, _ = fmt.Fprintf(r.err, "flotilla: %s: %s\n", title(c.Org), job.ClosedWords(c.Class))
		}
	}
}

// furtherText says below the table of what was waited for what keys and orgs
// that one may get would save (interface.md, "Texts"); empty: nothing was sent,
// so nothing is known.
func (r *runner) furtherText(report *flotilla.Report) string {
	if report.PoliteBound == 0 || len(report.Binding) == 0 {
		return ""
	}
	key := ""
	if orgs := r.usable(); len(orgs) == 1 {
		key = fmt.Sprintf("a second key of %s: nothing (limits are per org)", title(orgs[0].Name))
	}
	return joined(" · ", key, "a further org: "+savedText(report.FurtherOrg))
}

// savedText is a time saved, "−3.8 min".
func savedText(d time.Duration) string {
	switch {
	case d < 500*time.Millisecond:
		return "nothing"
	case d < time.Minute:
		return fmt.Sprintf("−%.0f s", d.Seconds())
	}
	return fmt.Sprintf("−%.1f min", d.Minutes())
}
