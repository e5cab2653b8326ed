package lab

import (
	"strings"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// drawAdditivity shows what part of a spending on one org each other felt.
func drawAdditivity(r *Result) *plot.Figure {
	f := &plot.Figure{
		Subtitle: "share of the input tokens spent on one org by which the level of each fell meanwhile, what it falls by without a spending taken out; bars are 95 % intervals",
	}
	var names []string
	var other, own []plot.Reading
	for _, self := range []bool{false, true} {
		for _, m := range r.metrics("felt") {
			on := strings.TrimPrefix(m.At, "spending on ")
			if (on == m.Org) != self {
				continue
			}
			dot := plot.Reading{X: m.Value, Y: float64(len(names)), Low: m.Low, High: m.High}
			if self {
				names, own = append(names, on+" itself"), append(own, dot)
			} else {
				names, other = append(names, m.Org+", while "+on+" spends"), append(other, dot)
			}
		}
	}
	if len(names) == 0 {
		return f
	}
	p := plot.Panel{X: plot.Axis{Label: "share of the spending that was felt", Unit: plot.Percent, Zero: true}, Y: plot.Axis{Names: names}}
	p.Layers = []plot.Layer{
		plot.Rule{At: 0, Upright: true, Ink: plot.Grey, Label: "untouched"},
		plot.Rule{At: addUntouched, Upright: true, Ink: plot.Grey, Dashed: true, Label: "below: apart"},
		plot.Rule{At: addTouched, Upright: true, Ink: plot.Black, Dashed: true, Label: "above: shared"},
		plot.Dots{Readings: other, Ink: plot.Blue, Label: "another org"},
		plot.Dots{Readings: own, Ink: plot.Grey, Hollow: true, Label: "the org that spends"},
	}
	f.Panels = []plot.Panel{p}
	return f
}
