package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/price"
)

// print is the finding for people.
func (l *measuredLine) print(w io.Writer) error {
	text := ""
	switch {
	case l.Refused != "":
		text = fmt.Sprintf("%s: cannot run: %s", l.Experiment, l.Refused)
		if l.Hint != "" {
			text += "\n  " + l.Hint
		}
	case l.Stopped != "":
		text = fmt.Sprintf("%s: stopped: %s\n  so far: %s", l.Experiment, l.Stopped, l.Verdict)
	default:
		text = fmt.Sprintf("%s: %s (confidence %.0f %%)", l.Experiment, l.Verdict, 100*l.Confidence)
	}
	switch {
	case l.Before:
		text += fmt.Sprintf("\n  measured within a day: %s; --again repeats it", l.File)
	case l.File != "":
		doubt := ""
		if l.InDoubt > 0 {
			doubt = fmt.Sprintf(" (up to %s more may have been billed unseen)", l.InDoubt)
		}
		text += fmt.Sprintf("\n  %s%s in %s: %s", l.USD, doubt, span(seconds(l.WallS)), l.File)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// consent asks, where there is anybody to ask, before much money goes and before
// a cap of ours is passed.
func (m *measuring) consent(ctx context.Context, xs []lab.Experiment) error {
	p := m.estimates(xs)
	if m.flags.overCap > 0 {
		if err := m.consentOverCap(ctx, p); err != nil {
			return err
		}
	}
	in, out := terminalOf(m.in), terminalOf(m.err.(*lockedWriter).w)
	real := m.scenario == nil && !m.settings.Loopback()
	if in == nil || out == nil || m.flags.yes || !real || m.base.MaxSpend > 0 || p.Total.USD <= m.settings.Confirm {
		return nil
	}
	return ask(ctx, m.in, m.err, p.Total.USD-p.Total.Reserve, p.Total.USD)
}

// consentOverCap says whom more calls than our caps may hurt.
func (m *measuring) consentOverCap(ctx context.Context, p *estimateReport) error {
	var caps []string
	for _, family := range familiesOf(p) {
		if n := m.settings.capOf(family); n < m.flags.overCap {
			caps = append(caps, fmt.Sprintf("%d (%s)", n, family))
		}
	}
	if len(caps) == 0 {
		return nil
	}
	fmt.Fprintf(m.err, "flotilla: --over-cap %d: up to so many calls at once on each of %s, in the place of %s. Whoever else uses these orgs may be refused (429)\n"+
		"  or slowed while it lasts; their owners should know. The experiments still stop where levels stay low or refusals are many.\n",
		m.flags.overCap, strings.Join(titles(p.Orgs), ", "), strings.Join(caps, ", "))
	if m.flags.yes || m.scenario != nil || m.settings.Loopback() {
		return nil
	}
	if terminalOf(m.in) == nil {
		return withHint(errors.New("--over-cap needs a yes, and there is no terminal to ask on"), "-y says that the owners of the orgs agree")
	}
	fmt.Fprint(m.err, "Do they agree? [y/N] ")
	return answered(ctx, m.in, m.err, "without --over-cap nobody is asked")
}

func familiesOf(p *estimateReport) []string {
	var out []string
	for i := range p.Experiments {
		for _, l := range p.Experiments[i].Lines {
			if f := price.FamilyOf(l.Model); l.Tier == lab.Sync && !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}
