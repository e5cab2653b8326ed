package lab

import (
	"fmt"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// drawCrossover shows how long jobs take by route and number of calls, for each
// model.
func drawCrossover(crossings []Crossing, results []*Result) *plot.Figure {
	f := &plot.Figure{
		Title:    crossoverFinding(crossings),
		Subtitle: "forecasts of the time to the last answer, by number of calls and route; bands reach from 5 to 95 %; batches cost half",
		Foot:     "Forecast, not measured: " + forecastFrom(results) + ".",
		Columns:  2, SameX: true, SameY: true, Width: 1040, PanelHeight: 340,
	}
	if len(crossings) == 1 {
		f.Columns = 1
	}
	for i := range crossings {
		f.Panels = append(f.Panels, crossingPanel(&crossings[i]))
	}
	sound(f)
	return f
}

func forecastFrom(results []*Result) string {
	if len(results) == 0 {
		return "from limits as configured or assumed, without measurements"
	}
	newest := newestFirst(results)[0]
	who := "the provider at " + newest.BaseURL
	if newest.Emulated != "" {
		who = "the emulator (" + newest.Emulated + "), not the provider"
	}
	return fmt.Sprintf("from %d results of experiments on %s, the newest of %s", len(results), who, newest.Ended.UTC().Format("2006-01-02"))
}

func crossoverFinding(crossings []Crossing) string {
	var at, never []string
	for i := range crossings {
		c := &crossings[i]
		if c.BatchFaster > 0 {
			at = append(at, fmt.Sprintf("%s calls of %s", plot.Plain.Format(float64(c.BatchFaster)), modelName(c.Model)))
		} else {
			never = append(never, modelName(c.Model))
		}
	}
	switch {
	case len(at) == 0:
		return "Sync is faster than batches at every size, for " + listed(never)
	case len(never) == 0:
		return "Batches end before sync calls from " + listed(at) + " on"
	}
	return "Batches end before sync calls from " + listed(at) + " on; for " + listed(never) + " at no size"
}

// routes are drawn in this order, each in its own ink.
var routes = []struct {
	name string
	ink  plot.Ink
}{{"sync", plot.Blue}, {"batch", plot.Orange}, {"hybrid", plot.Violet}}

func crossingPanel(c *Crossing) plot.Panel {
	p := plot.Panel{
		Title: modelName(c.Model),
		X:     plot.Axis{Label: "calls in the job", Log: true}, Y: plot.Axis{Label: "time to the last answer", Log: true, Unit: plot.Seconds},
	}
	var bands, lines []plot.Layer
	var never []string
	for _, route := range routes {
		var points []plot.Point
		var band []plot.Interval
		for _, v := range c.Route(route.name) {
			if v.P50 == Never {
				continue
			}
			points = append(points, plot.Point{X: float64(v.N), Y: v.P50.Seconds()})
			if v.P95 != Never {
				band = append(band, plot.Interval{X: float64(v.N), Low: v.P5.Seconds(), High: v.P95.Seconds()})
			}
		}
		if n := len(c.Route(route.name)); n > 0 && len(points) < n {
			never = append(never, fmt.Sprintf("%s does not end at %d of %d sizes", route.name, n-len(points), n))
		}
		if len(points) == 0 {
			continue
		}
		if route.name != "hybrid" {
			bands = append(bands, plot.Band{Intervals: band, Ink: route.ink})
		}
		lines = append(lines, plot.Line{Points: points, Ink: route.ink, Label: route.name, Dashed: route.name == "hybrid"})
	}
	p.Layers = append(p.Layers, bands...)
	p.Layers = append(p.Layers, crossingRules(c)...)
	p.Layers = append(p.Layers, lines...)
	if len(lines) == 0 {
		p.Layers = nil
	}
	if len(never) > 0 {
		p.Title += ": " + strings.Join(never, "; ")
	}
	return p
}

func crossingRules(c *Crossing) []plot.Layer {
	layers := []plot.Layer{plot.Rule{At: hoursToExpiry * 3600, Ink: plot.Grey, Dashed: true, Label: "batches expire"}}
	if c.BatchFaster > 0 {
		layers = append(layers, plot.Rule{At: float64(c.BatchFaster), Upright: true, Label: "even at " + plot.Plain.Format(float64(c.BatchFaster))})
	}
	if c.Balanced > 0 && c.Balanced != c.BatchFaster {
		layers = append(layers, plot.Rule{At: float64(c.Balanced), Upright: true, Ink: plot.Grey, Dashed: true, Label: "balanced takes batches from " + plot.Plain.Format(float64(c.Balanced))})
	}
	return layers
}
