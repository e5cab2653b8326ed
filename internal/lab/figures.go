package lab

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// drawers draw one result each, by the experiment's name. What a drawer leaves
// empty (title, foot, panels) is filled in by draw.
var drawers = map[string]func(r *Result) *plot.Figure{
	"limits":           drawLimits,
	"callable":         drawCallable,
	"additivity-sync":  drawAdditivity,
	"refill":           drawRefill,
	"acceleration":     drawAcceleration,
	"knee":             drawKnee,
	"fanout":           drawFanout,
	"batch-depth":      drawDepth,
	"batch-size":       drawSize,
	"batch-cliff":      drawCliff,
	"batch-additivity": drawBatchAdditivity,
	"batch-mechanism":  drawMechanism,
	"latency":          drawLatency,
}

// Figures draws what results and forecasts show, by the stem of the file under
// figures/api_throughput: one figure for each experiment, of all windows that it
// was measured in, "knees" with every knee side by side, and "crossover" where
// there are crossings. A result that lacks what its figure is drawn from gets one
// that says so. The error names results of experiments that have no figure; the
// others are drawn all the same.
func Figures(results []*Result, crossings []Crossing) (map[string]*plot.Figure, error) {
	out := map[string]*plot.Figure{}
	var bad []error
	windows := map[string][]*Result{}
	for _, r := range results {
		if drawers[r.Experiment] == nil {
			bad = append(bad, fmt.Errorf("drawing the result of %s in window %s: no figure is known for it", r.Experiment, r.Window))
			continue
		}
		windows[r.Experiment] = append(windows[r.Experiment], r)
	}
	for name, of := range windows {
		out[name] = draw(of)
	}
	if knees := windows["knee"]; len(knees) > 0 {
		out["knees"] = KneeSheet(knees)
	}
	if len(crossings) > 0 {
		out["crossover"] = drawCrossover(crossings, results)
	}
	return out, errors.Join(bad...)
}

// draw makes one figure of an experiment's results, newest window first: its
// title is that of the newest, and the panels of other windows follow.
func draw(windows []*Result) *plot.Figure {
	windows = newestFirst(windows)
	var f *plot.Figure
	for i, r := range windows {
		one := drawers[r.Experiment](r)
		one.Title = cmp.Or(one.Title, sentence(r.Verdict))
		if len(one.Panels) == 0 {
			one.Panels, one.PanelHeight = []plot.Panel{nothingShown(r)}, 0
		}
		if len(windows) > 1 {
			one.Title = inWindow(one.Title, r)
			for k := range one.Panels {
				one.Panels[k].Title = strings.TrimSuffix(r.Window+": "+one.Panels[k].Title, ": ")
			}
		}
		if i == 0 {
			f = one
			continue
		}
		f.Panels = append(f.Panels, one.Panels...)
		f.Subtitle = strings.TrimSuffix(f.Subtitle, ".") + ". Also: " + one.Title + "."
	}
	f.Foot = footOf(windows)
	sound(f)
	return f
}

func newestFirst(results []*Result) []*Result {
	return slices.SortedStableFunc(slices.Values(results), func(a, b *Result) int { return b.Ended.Compare(a.Ended) })
}

// inWindow says when a finding holds.
func inWindow(finding string, r *Result) string { return finding + " (" + r.Window + ")" }

// nothingShown stands where a result lacks what is drawn of it.
func nothingShown(r *Result) plot.Panel {
	text := "nothing to draw: the result has no numbers for this figure"
	if r.Stopped != "" {
		text = "nothing to draw: " + r.Stopped
	}
	return blank(text)
}

// blank is a panel that says why it holds nothing.
func blank(text string) plot.Panel {
	return plot.Panel{
		X: plot.Axis{Names: []string{""}}, Y: plot.Axis{Names: []string{""}},
		Layers: []plot.Layer{plot.Cells{Ink: plot.Grey, Cells: []plot.Cell{{Text: text, Shade: .1}}}},
	}
}
