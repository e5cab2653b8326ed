package lab

import (
	"fmt"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// KneeSheet is one sheet of every knee there is: small multiples by org, model
// and window, on the same axes.
func KneeSheet(results []*Result) *plot.Figure {
	results = newestFirst(results)
	f := &plot.Figure{Subtitle: "calls answered a minute by calls in flight; bars are 95 % intervals; hollow: provisional", Columns: 3, SameX: true, Width: 1000, Foot: footOf(results)}
	bent, open := 0, 0
	for _, r := range results {
		for _, s := range r.series("throughput") {
			title := s.Org + " · " + modelName(s.Model)
			if len(results) > 1 {
				title += " · " + r.Window
			}
			f.Panels = append(f.Panels, kneePanel(r, &s, title))
			if m, ok := r.Metric("knee_calls_per_min", s.Org, s.Model); ok && m.Bound == "" {
				bent++
			} else {
				open++
			}
		}
	}
	f.Title = kneesFinding(bent, open)
	if len(f.Panels) == 0 {
		f.Panels = []plot.Panel{blank("nothing to draw: no knee was measured")}
	}
	sound(f)
	return f
}

func kneesFinding(bent, open int) string {
	switch {
	case bent+open == 0:
		return "No knee was measured"
	case open == 0:
		return fmt.Sprintf("All %d pairs of org and model bend under the etiquette cap", bent)
	case bent == 0:
		return fmt.Sprintf("None of %d pairs of org and model bends under the etiquette cap", open)
	}
	if bent == 1 {
		return fmt.Sprintf("One of %d pairs of org and model bends under the etiquette cap", bent+open)
	}
	return fmt.Sprintf("%d of %d pairs of org and model bend under the etiquette cap", bent, bent+open)
}

// kneeFinding words what the orgs carry of the main model, in one sentence where
// they agree.
func kneeFinding(r *Result) string {
	model := mainModel(r)
	var orgs []string
	low, high, limit, at := 0.0, 0.0, "", ""
	for _, s := range r.series("throughput") {
		if s.Model != model {
			continue
		}
		m, ok := r.Metric("knee_calls_per_min", s.Org, s.Model)
		b, ok2 := r.binding(s.Org, s.Model)
		if !ok || !ok2 || len(orgs) > 0 && (b.Limit != limit || m.Bound != at) {
			return sentence(r.Verdict)
		}
		if len(orgs) == 0 {
			low, high = m.Value, m.Value
		}
		low, high, limit, at = min(low, m.Value), max(high, m.Value), b.Limit, m.Bound
		orgs = append(orgs, s.Org)
	}
	if len(orgs) == 0 {
		return sentence(r.Verdict)
	}
	range_ := plot.Plain.Format(low)
	if high > 1.01*low {
		range_ += " to " + plot.Plain.Format(high)
	}
	carry := "carries"
	if len(orgs) > 1 {
		carry = "carry"
	}
	said := fmt.Sprintf("%s %s %s%s calls a minute of %s", listed(orgs), carry, map[bool]string{true: "at least "}[at != ""], range_, modelName(model))
	if len(orgs) > 1 {
		said += " each"
	}
	switch {
	case at == "":
		said += ": " + limitName(limit) + " bind"
	case limit == "acceleration":
		said += ": acceleration refuses more so soon"
	default:
		said += ": latency binds, no limit came near"
	}
	return strings.TrimSpace(said)
}
