package lab

import (
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
	dots := rates[0].readings()
	p := plot.Panel{
		Title: "pace", X: plot.Axis{Label: rates[0].X, Log: true},
		Y:      plot.Axis{Label: "rows a second, the overhead left out", Log: true},
		Layers: []plot.Layer{plot.Dots{Readings: dots, Ink: plot.Blue, Joined: len(dots) > 1}},
	}
	if len(dots) > 1 && dots[0].Y > 0 {
		p.Layers = append(
			p.Layers,
			plot.Rule{At: dots[0].Y, Ink: plot.Grey, Label: "as the smallest"},
			plot.Rule{At: dots[0].Y / math.Exp(threshold), Dashed: true, Label: "slow: 2.5 times below"},
		)
	}
	f.Panels = append(f.Panels, p)
	return f
}
