package lab

import (
	"fmt"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// drawBatchAdditivity shows the pace of a set of batches on one org and split
// over all.
func drawBatchAdditivity(r *Result) *plot.Figure {
	f := &plot.Figure{
		Subtitle: fmt.Sprintf("%s, %v batches of %v rows, sent to one org or split over all in turn%s; hollow: each pair; bars: mean and 95 %% interval", modelName(modelOf(r)), r.Config["batches"], r.Config["chunk"], shapeOf(r)),
	}
	speeds := r.metrics("batch_rows_per_s")
	if len(speeds) < 2 || len(r.Series) < 2 {
		return f
	}
	p := plot.Panel{X: plot.Axis{Label: "rows answered a second", Zero: true}}
	var bars []plot.Bar
	var dots []plot.Reading
	for i, m := range speeds[:2] {
		p.Y.Names = append(p.Y.Names, r.Series[i].Name)
		text := fmt.Sprintf("%s (%s–%s)", plot.Plain.Format(m.Value), plot.Plain.Format(m.Low), plot.Plain.Format(m.High))
		if m.Value < standstill {
			text = "hardly any"
		}
		bars = append(bars, plot.Bar{At: float64(i), To: m.Value, Low: m.Low, High: m.High, Ink: plot.Series(i), Label: text})
		for k, d := range r.Series[i].readings() {
			dots = append(dots, plot.Reading{X: d.Y, Y: float64(i) + .12*(float64(k)-1)})
		}
	}
	var orgs int
	if _, err := fmt.Sscanf(speeds[1].At, "%d orgs", &orgs); err == nil && orgs > 1 && speeds[0].Value >= standstill {
		p.Layers = append(p.Layers, plot.Rule{At: float64(orgs) * speeds[0].Value, Upright: true, Dashed: true, Label: fmt.Sprintf("%d times one org", orgs)})
	}
	p.Layers = append(p.Layers, plot.Bars{Bars: bars, Width: .5}, plot.Dots{Readings: dots, Ink: plot.Black, Hollow: true})
	f.Panels = []plot.Panel{p}
	return f
}

// standstill is the pace, in rows a second, below which a set of batches does not
// proceed.
const standstill = 0.01
