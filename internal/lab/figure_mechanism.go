package lab

import (
	"fmt"
	"math"
	"slices"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// drawMechanism shows the effects of depth, size and hour beside the threshold,
// and the pace of each arm by hour.
func drawMechanism(r *Result) *plot.Figure {
	f := &plot.Figure{
		Subtitle: fmt.Sprintf("%s; left: how many times slower, 95 %% intervals over paired cells; right: the pace of each arm; confidence %s", modelName(modelOf(r)), plot.Percent.Format(r.Confidence)),
		Columns:  2, Width: 1040, PanelHeight: 340,
	}
	if p, ok := effectPanel(r); ok {
		f.Panels = append(f.Panels, p)
	}
	if p, ok := hoursPanel(r); ok {
		f.Panels = append(f.Panels, p)
	}
	return f
}

func effectPanel(r *Result) (plot.Panel, bool) {
	p := plot.Panel{X: plot.Axis{Label: "times slower", Log: true}}
	var dots, alone []plot.Reading
	for _, e := range []struct{ name, words string }{
		{"batch_effect_depth", "depth: behind 8,000 rows, against an idle queue"},
		{"batch_effect_size", "size: one batch of 8,000, against 16 of 500"},
		{"batch_effect_hour", "hour: the slowest, against the fastest"},
		{"batch_effect_beyond_big", "one batch of 30,000"},
		{"batch_effect_beyond_behind", "behind 30,000 rows"},
		{"past_effect_depth", "depth, by earlier batches"},
		{"past_effect_size", "size, by earlier batches"},
		{"past_effect_hour", "hour, by earlier batches"},
	} {
		m, ok := r.Metric(e.name, "", "")
		if !ok {
			continue
		}
		dot := plot.Reading{X: m.Value, Y: float64(len(p.Y.Names)), Low: m.Low, High: m.High}
		if p.Y.Names = append(p.Y.Names, e.words); m.Provisional {
			alone = append(alone, dot)
		} else {
			dots = append(dots, dot)
		}
	}
	for _, d := range dots {
		if d.X >= 100 { // as batch-mechanism words it
			p.Layers = append(p.Layers, plot.Note{X: d.X, Y: d.Y, Text: "to a standstill", Ink: plot.Blue})
		}
	}
	p.Layers = append(
		p.Layers,
		plot.Rule{At: 1, Upright: true, Ink: plot.Grey},
		plot.Rule{At: math.Exp(threshold), Upright: true, Dashed: true, Label: "an effect from 2.5 on"},
		plot.Dots{Readings: dots, Ink: plot.Blue},
		plot.Dots{Readings: alone, Ink: plot.Blue, Hollow: true, Label: "seen once"},
	)
	return p, len(dots)+len(alone) > 0
}

func hoursPanel(r *Result) (plot.Panel, bool) {
	p := plot.Panel{X: plot.Axis{Label: "hour of the day (UTC)"}, Y: plot.Axis{Label: "rows a second of one batch", Log: true}}
	hours := hoursIn(r)
	for _, h := range hours {
		p.X.Names = append(p.X.Names, fmt.Sprintf("%02.0f", h))
	}
	for i, s := range r.Series {
		if s.Y != pacePerHour {
			continue
		}
		var dots []plot.Reading
		for _, d := range s.readings() {
			dots = append(dots, plot.Reading{X: float64(slices.Index(hours, d.X)) + .14*(float64(i)-1.5), Y: d.Y})
		}
		p.Layers = append(p.Layers, plot.Dots{Readings: dots, Ink: plot.Series(i), Label: s.Name})
	}
	return p, len(p.Layers) > 0
}

// pacePerHour is what the lines of the arms are called on their vertical axis.
const pacePerHour = "rows a second of one batch"

// hoursIn are the hours at which arms were measured, in order.
func hoursIn(r *Result) []float64 {
	var hours []float64
	for _, s := range r.Series {
		for _, d := range s.readings() {
			if s.Y == pacePerHour && !slices.Contains(hours, d.X) {
				hours = append(hours, d.X)
			}
		}
	}
	slices.Sort(hours)
	return hours
}
