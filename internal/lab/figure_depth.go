package lab

import (
	"fmt"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

const hoursToExpiry = 24 // facts/claude-api.md 5: batches expire after so many

// drawDepth shows the time to the end by rows in the queue, and how each level
// was worked off.
func drawDepth(r *Result) *plot.Figure {
	return drawPaced(r, "depth ", fmt.Sprintf("batches of %v rows", r.Config["chunk"]), func(at string) string {
		return group(intOf(at)) + " queued"
	})
}

// drawSize is the same by rows in a batch.
func drawSize(r *Result) *plot.Figure {
	return drawPaced(r, "chunk ", group(intOf(fmt.Sprint(r.Config["depth"])))+" rows queued each time", func(at string) string {
		return "batches of " + group(intOf(at))
	})
}

// drawPaced draws the line of ends beside the curves whose names begin with a
// word.
func drawPaced(r *Result, word, what string, name func(at string) string) *plot.Figure {
	f := &plot.Figure{
		Subtitle: fmt.Sprintf("%s, %s%s; on the left bars reach over the repeats, hollow: given up before its end", modelName(modelOf(r)), what, shapeOf(r)),
		Columns:  2, Width: 1000, PanelHeight: 330,
	}
	line := r.series("time to end")
	if len(line) == 0 {
		return f
	}
	f.Panels = []plot.Panel{endsPanel(r, &line[0], word)}
	p := plot.Panel{
		X: plot.Axis{Label: "time since the first was sent", Unit: plot.Seconds, Log: true},
		Y: plot.Axis{Label: "rows answered", Unit: plot.Percent, Zero: true, Max: 1.08},
	}
	inks := map[string]plot.Ink{}
	for _, s := range r.Series {
		at, ok := strings.CutPrefix(s.Name, word)
		if !ok || len(s.Points) == 0 {
			continue
		}
		key, _, _ := strings.Cut(at, ",") // repeats have one ink, and one name
		ink, again := inks[key]
		label := name(at)
		if !again {
			ink = plot.Series(len(inks))
			inks[key] = ink
		} else {
			label = ""
		}
		p.Layers = append(p.Layers, curve(&s, ink, label))
	}
	if len(p.Layers) > 0 {
		f.Panels = append(f.Panels, p)
	}
	return f
}

// curve is how the rows of a level came in; minutes become seconds.
func curve(s *Series, ink plot.Ink, label string) plot.Layer {
	var points []plot.Point
	for i, v := range s.readings() {
		if i == 0 && len(s.Points) > 1 {
			points = append(points, plot.Point{X: 60 * v.X})
		}
		points = append(points, plot.Point{X: 60 * v.X, Y: v.Y})
	}
	if len(points) == 1 {
		return plot.Dots{Readings: []plot.Reading{{X: points[0].X, Y: points[0].Y}}, Ink: ink, Label: label}
	}
	return plot.Line{Points: points, Ink: ink, Step: true, Label: label}
}

// endsPanel is the time to the end, by what was varied.
func endsPanel(r *Result, s *Series, word string) plot.Panel {
	p := plot.Panel{
		X: plot.Axis{Label: s.X, Log: true},
		Y: plot.Axis{Label: "time until all have ended", Unit: plot.Seconds, Log: true},
	}
	var ended, cut []plot.Reading
	longest := 0.0
	for _, d := range s.readings() {
		longest = max(longest, d.Y)
		if atLeastAt(r, fmt.Sprintf("%s%.0f", word, d.X)) {
			cut = append(cut, d)
		} else {
			ended = append(ended, d)
		}
	}
	if longest > hoursToExpiry*3600/6 {
		p.Layers = append(p.Layers, plot.Rule{At: hoursToExpiry * 3600, Ink: plot.Grey, Dashed: true, Label: "batches expire after 24 h"})
	}
	p.Layers = append(
		p.Layers,
		plot.Dots{Readings: ended, Ink: plot.Blue, Joined: len(ended) > 1},
		plot.Dots{Readings: cut, Ink: plot.Blue, Hollow: true, Label: "given up: at least"},
	)
	for _, d := range append(ended, cut...) {
		p.Layers = append(p.Layers, plot.Note{X: d.X, Y: d.Y, Text: plot.Seconds.Format(d.Y), Ink: plot.Blue})
	}
	return p
}

// atLeastAt says that the time to the end of a level is a lower bound in any of
// its repeats.
func atLeastAt(r *Result, at string) bool {
	for _, m := range r.metrics("batch_time_to_end") {
		if m.Bound == ">=" && (m.At == at || strings.HasPrefix(m.At, at+",")) {
			return true
		}
	}
	return false
}

// modelOf is the model that a result's numbers are of.
func modelOf(r *Result) string {
	for _, m := range r.Metrics {
		if m.Model != "" {
			return m.Model
		}
	}
	return ""
}
