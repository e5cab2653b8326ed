package lab

import (
	"fmt"
	"slices"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// drawAcceleration shows what was asked for, what was let pass and what the rule
// that fits best allows, for the ladder and for the jump.
func drawAcceleration(r *Result) *plot.Figure {
	f := &plot.Figure{
		Subtitle:    "input tokens a minute in stretches of 10 s (the first and the last may be cut short), after a rest of " + plot.Seconds.Format(accelRest.Seconds()) + "; the jump follows another of " + plot.Seconds.Format(accelBetween.Seconds()),
		PanelHeight: 320, Columns: 2, SameY: true, Width: 1000,
	}
	asked := r.series("asked")
	if len(asked) == 0 {
		return f
	}
	panel := accelPanel
	if r.Config["rule"] == ruleAdditive && len(r.Raw) > 0 {
		panel = minutePanel
		f.Subtitle = "input tokens that passed since each full minute of the clock, after a rest of " + plot.Seconds.Format(accelRest.Seconds()) + "; the jump follows another of " + plot.Seconds.Format(accelBetween.Seconds())
	}
	for i, part := range apartBy(asked[0].Points, accelBetween.Minutes()/2) {
		f.Panels = append(f.Panels, panel(r, []string{"in steps", "at once", "again"}[min(i, 2)], part))
	}
	return f
}

// apartBy cuts a line where its points lie further apart, and gives the stretches.
func apartBy(points [][]float64, gap float64) [][2]float64 {
	var out [][2]float64
	for _, p := range points {
		if len(p) == 0 {
			continue
		}
		if n := len(out); n == 0 || p[0]-out[n-1][1] > gap {
			out = append(out, [2]float64{p[0], p[0]})
		}
		out[len(out)-1][1] = p[0]
	}
	return out
}

// minutePanel shows what passed since each full minute of the clock, beside the
// ceiling of the additive rule, which is for a minute.
func minutePanel(r *Result, title string, part [2]float64) plot.Panel {
	p := plot.Panel{
		Title: title, X: plot.Axis{Label: "time since the first call of it", Unit: plot.Seconds},
		Y: plot.Axis{Label: "input tokens in the minute so far", Zero: true},
	}
	from, to := 60*part[0], 60*part[1]+10
	calls := slices.DeleteFunc(slices.Clone(r.Raw), func(c Record) bool {
		at := c.Sent.Seconds()
		return at < from || at > to || c.Org != r.Config["org"] || !c.OK() && !c.Refused()
	})
	slices.SortStableFunc(calls, func(a, b Record) int { return int(a.Sent - b.Sent) })
	var passed []plot.Point
	var refused []plot.Reading
	sum, minute := 0.0, int64(-1)
	for i := range calls {
		c, at := &calls[i], calls[i].Sent.Seconds()-from
		if m := r.Started.Add(c.Sent).Unix() / 60; m != minute {
			if minute >= 0 {
				passed = append(passed, plot.Point{X: at, Y: sum})
			}
			sum, minute = 0, m
		}
		if c.OK() {
			sum += float64(c.Usage.Input)
			passed = append(passed, plot.Point{X: at, Y: sum})
		} else {
			refused = append(refused, plot.Reading{X: at, Y: sum + accelPrompt})
		}
	}
	var ceiling []plot.Point
	for _, s := range r.series("allowed") {
		for _, v := range s.readings() {
			if v.X >= part[0] && v.X <= part[1] {
				ceiling = append(ceiling, plot.Point{X: 60 * (v.X - part[0]), Y: v.Y})
			}
		}
	}
	p.Layers = []plot.Layer{
		plot.Line{Points: ceiling, Ink: plot.Orange, Dashed: true, Step: true, Label: "ceiling by the additive rule"},
		plot.Line{Points: passed, Ink: plot.Blue, Label: "passed"},
		plot.Dots{Readings: refused, Ink: plot.Black, Mark: plot.Cross, Label: "refused"},
	}
	return p
}

func accelPanel(r *Result, title string, part [2]float64) plot.Panel {
	p := plot.Panel{
		Title: title, X: plot.Axis{Label: "time since the first call of it", Unit: plot.Seconds},
		Y: plot.Axis{Label: "input tokens a minute", Zero: true},
	}
	within := func(name string) []plot.Point {
		var out []plot.Point
		for _, s := range r.series(name) {
			for _, v := range s.readings() {
				if v.X >= part[0] && v.X <= part[1] {
					out = append(out, plot.Point{X: 60 * (v.X - part[0]), Y: v.Y})
				}
			}
		}
		return out
	}
	hold := func(of []plot.Point) []plot.Point { // the last stretch has a length too
		if n := len(of); n > 0 {
			of = append(of, plot.Point{X: of[n-1].X + 10, Y: of[n-1].Y})
		}
		return of
	}
	asked, passed, allowed := within("asked"), within("passed"), within("allowed")
	if len(allowed) > 0 && r.Config["rule"] != ruleNone {
		p.Layers = append(p.Layers, plot.Line{Points: hold(allowed), Ink: plot.Orange, Dashed: true, Step: true, Label: fmt.Sprintf("ceiling by the %v rule", r.Config["rule"])})
	}
	refused := refusedAt(asked, passed)
	label := "asked for, all of it passed"
	if len(refused) > 0 {
		label = "passed"
		p.Layers = append(p.Layers, plot.Line{Points: hold(asked), Ink: plot.Grey, Step: true, Fine: true, Label: "asked for"})
	}
	p.Layers = append(p.Layers, plot.Line{Points: hold(passed), Ink: plot.Blue, Step: true, Label: label})
	if len(refused) > 0 {
		p.Layers = append(p.Layers, plot.Dots{Readings: refused, Ink: plot.Black, Mark: plot.Cross, Label: "some refused"})
	}
	return p
}

// refusedAt are the stretches in which less passed than was asked for.
func refusedAt(asked, passed []plot.Point) []plot.Reading {
	var out []plot.Reading
	for _, a := range asked {
		i := slices.IndexFunc(passed, func(p plot.Point) bool { return p.X == a.X })
		if i < 0 || passed[i].Y < a.Y {
			out = append(out, plot.Reading{X: a.X, Y: a.Y})
		}
	}
	return out
}
