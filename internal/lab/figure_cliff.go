package lab

import (
	"fmt"
	"math"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// drawCliff shows single batches by their size: when they ended, and how fast a
// row went.
func drawCliff(r *Result) *plot.Figure {
	f := &plot.Figure{
		Subtitle: modelName(modelOf(r)) + ", single batches of different sizes sent at the same moment" + shapeOf(r) + "; hollow: canceled before its end; bars are 95 % intervals",
		Columns:  2, Width: 1000, PanelHeight: 320,
	}
	rates := r.series("rate")
	if len(rates) == 0 {
		return f
	}
	if ends := r.series("time to end"); len(ends) > 0 {
		p := endsPanel(r, &ends[0], "size ")
		p.Title = "to its end"
		p.Y.Label = "time since it was sent"
		f.Panels = append(f.Panels, p)
	}
	f.Panels = append(f.Panels, pacePanel(r, &rates[0]))
	return f
}

// pacePanel is the pace of a row by size. Where not a row was answered the number
// is the most that it may have been.
func pacePanel(r *Result, rates *Series) plot.Panel {
	p := plot.Panel{
		Title: "pace", X: plot.Axis{Label: rates.X, Log: true},
		Y: plot.Axis{Label: "rows a second, the overhead left out", Log: true},
	}
	all := rates.readings()
	var dots, none []plot.Reading
	for _, d := range all {
		if answeredNone(r, fmt.Sprintf("size %.0f", d.X)) {
			none = append(none, plot.Reading{X: d.X, Y: d.Y})
		} else {
			dots = append(dots, d)
		}
	}
	p.Layers = []plot.Layer{
		plot.Dots{Readings: dots, Ink: plot.Blue, Joined: len(dots) > 1},
		plot.Dots{Readings: none, Ink: plot.Blue, Hollow: true, Label: "not a row: less than"},
	}
	if len(dots) > 0 && len(all) > 1 && dots[0].Y > 0 && dots[0].X == all[0].X {
		p.Layers = append(
			p.Layers,
			plot.Rule{At: dots[0].Y, Ink: plot.Grey, Label: "as the smallest"},
			plot.Rule{At: dots[0].Y / math.Exp(threshold), Dashed: true, Label: "slow: 2.5 times below"},
		)
	}
	return p
}

// answeredNone says that not a row of a batch was answered.
func answeredNone(r *Result, at string) bool {
	for _, m := range r.metrics("batch_succeeded") {
		if m.At == at {
			return m.Value == 0
		}
	}
	return false
}
