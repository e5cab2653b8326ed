package lab

import (
	"fmt"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// drawFanout stacks what each org carries alone, and below it what they carried
// together.
func drawFanout(r *Result) *plot.Figure {
	f := &plot.Figure{Title: fanoutFinding(r), Subtitle: "calls answered a minute" + shapeOf(r) + ", each org at its knee; bar: 95 % interval of the whole"}
	alone, sum := stacked(r.metrics("alone_calls_per_min"), 0)
	together, whole := stacked(r.metrics("together_calls_per_min"), 1)
	if len(alone) == 0 || len(together) == 0 {
		return f
	}
	alone[len(alone)-1].Label = plot.Plain.Format(sum)
	last := &together[len(together)-1]
	last.Label = plot.Plain.Format(whole)
	if m, ok := r.Metric("fanout_calls_per_min", "", ""); ok && m.Low < m.High {
		last.Low, last.High = m.Low, m.High
		last.Label += fmt.Sprintf(" (%s–%s)", plot.Plain.Format(m.Low), plot.Plain.Format(m.High))
	}
	f.Panels = []plot.Panel{{
		X: plot.Axis{Label: "calls a minute"}, Y: plot.Axis{Names: []string{"one after another", "all at once"}},
		Layers: []plot.Layer{
			plot.Bars{Bars: append(alone, together...)},
			plot.Rule{At: sum, Upright: true, Dashed: true, Ink: plot.Grey},
		},
	}}
	return f
}

// stacked puts the orgs' numbers one after another.
func stacked(of []Metric, at float64) (bars []plot.Bar, sum float64) {
	for _, m := range of {
		bars = append(bars, plot.Bar{At: at, From: sum, To: sum + m.Value, Name: m.Org, Ink: plot.Series(len(bars))})
		sum += m.Value
	}
	return bars, sum
}

func fanoutFinding(r *Result) string {
	share, ok := r.Metric("fanout_sum", "", "")
	whole, ok2 := r.Metric("fanout_calls_per_min", "", "")
	if !ok || !ok2 {
		return sentence(r.Verdict)
	}
	return fmt.Sprintf("%d orgs together carry %s calls a minute of %s, %s ± %.1f of the sum of their parts", share.N, plot.Plain.Format(whole.Value), modelName(whole.Model), plot.Percent.Format(share.Value), 50*(share.High-share.Low))
}
