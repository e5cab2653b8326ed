package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// drawCallable is the table of models by orgs.
func drawCallable(r *Result) *plot.Figure {
	var orgs, models []string
	yes := map[string]int{}
	for _, m := range r.metrics("callable") {
		if !slices.Contains(orgs, m.Org) {
			orgs = append(orgs, m.Org)
		}
		if !slices.Contains(models, m.Model) {
			models = append(models, m.Model)
		}
		if m.Value > 0 {
			yes[m.Model]++
		}
	}
	f := &plot.Figure{Subtitle: "one call of one token each; where it was refused, the error", Width: 720}
	if len(models) == 0 {
		return f
	}
	f.Title = calledBy(sentence(r.Verdict), models, yes)
	var cells []plot.Cell
	for _, m := range r.metrics("callable") {
		c := plot.Cell{X: slices.Index(orgs, m.Org), Y: slices.Index(models, m.Model), Text: refusalWord(m.Note), Shade: .06}
		if m.Value > 0 {
			c.Text, c.Shade = "yes", .6
		}
		cells = append(cells, c)
	}
	f.Panels = []plot.Panel{{X: plot.Axis{Names: orgs}, Y: plot.Axis{Names: models}, Layers: []plot.Layer{plot.Cells{Cells: cells, Ink: plot.Blue}}}}
	return f
}

// calledBy adds to the verdict which models nobody can call.
func calledBy(verdict string, models []string, yes map[string]int) string {
	var none []string
	for _, m := range models {
		if yes[m] == 0 {
			none = append(none, modelName(m))
		}
	}
	if len(none) == 0 || len(none) == len(models) {
		return verdict
	}
	if len(none) > 5 {
		return fmt.Sprintf("%s; nobody can call %d models", verdict, len(none))
	}
	return verdict + "; nobody can call " + listed(none)
}

// refusalWord is an error in two words: its type, before the colon.
func refusalWord(note string) string {
	kind, _, _ := strings.Cut(note, ":")
	switch kind {
	case "permission_error":
		return "no permission"
	case "not_found_error":
		return "not found"
	case "":
		return "no answer"
	}
	if len(kind) > 30 {
		kind = kind[:30] + "…"
	}
	return strings.ReplaceAll(strings.TrimSuffix(kind, "_error"), "_", " ")
}
