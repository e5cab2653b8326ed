package lab

import (
	"fmt"
	"math"
	"slices"

	"github.com/flotilla-llm/flotilla/internal/plot"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// drawKnee shows calls a minute by calls in flight for each org and model, and
// below what a call took: where latency stays and calls do not grow, a limit
// binds.
func drawKnee(r *Result) *plot.Figure {
	f := &plot.Figure{Title: kneeFinding(r), Subtitle: "calls answered" + shapeOf(r) + "; bars are 95 % intervals; thin: the fitted line", Columns: 3, Width: 1080, SameX: true, PanelHeight: 250}
	main := mainModel(r)
	var below []plot.Panel
	for _, s := range r.series("throughput") {
		if s.Model != main {
			continue
		}
		f.Panels = append(f.Panels, kneePanel(r, &s, s.Org))
		below = append(below, kneeLatency(r, &s))
	}
	sameHeight(f.Panels)
	sameHeight(below)
	f.Columns = max(1, min(3, len(f.Panels)))
	if f.Columns == len(f.Panels) {
		f.Panels = append(f.Panels, below...)
	}
	return f
}

// mainModel is the one that most orgs were measured with.
func mainModel(r *Result) string {
	best, most := "", 0
	count := map[string]int{}
	for _, s := range r.series("throughput") {
		if count[s.Model]++; count[s.Model] > most {
			best, most = s.Model, count[s.Model]
		}
	}
	return best
}

// kneePanel is one org and model: levels, fitted line, knee and limit.
func kneePanel(r *Result, s *Series, title string) plot.Panel {
	p := plot.Panel{Title: title, X: plot.Axis{Label: "calls in flight", Zero: true}, Y: plot.Axis{Label: "calls a minute", Zero: true}}
	dots := s.readings()
	top, ok := r.Metric("knee_calls_per_min", s.Org, s.Model)
	conc, ok2 := r.Metric("knee_concurrency", s.Org, s.Model)
	if ok && ok2 && conc.Value > 0 {
		p.Layers = append(p.Layers, kneeMarks(r, s, top, conc)...)
	}
	p.Layers = append(p.Layers, plot.Dots{Readings: dots, Ink: plot.Blue, Hollow: top.Provisional})
	if len(dots) > 0 && top.Bound != "" && !heldByRise(r, s) {
		last := dots[len(dots)-1]
		p.Layers = append(p.Layers, plot.Note{X: last.X, Y: last.Y, Text: "≥ " + plot.Plain.Format(top.Value) + " at the cap"})
	}
	return p
}

// kneeMarks are the fitted line, the knee and the limit that the headers show,
// if it is near.
func kneeMarks(r *Result, s *Series, top, conc Metric) []plot.Layer {
	last := conc.Value
	for _, d := range s.Points {
		if len(d) > 0 {
			last = max(last, d[0])
		}
	}
	if heldByRise(r, s) {
		return []plot.Layer{plot.Rule{At: top.Value, Label: "acceleration refuses more than " + plot.Plain.Format(top.Value)}}
	}
	fit := []plot.Point{{}, {X: conc.Value, Y: top.Value}}
	var layers []plot.Layer
	if top.Bound == "" {
		fit = append(fit, plot.Point{X: last, Y: top.Value})
		text := fmt.Sprintf("knee %.0f", conc.Value)
		if conc.Low < conc.High {
			text += fmt.Sprintf(" (%.0f–%.0f)", conc.Low, conc.High)
		}
		layers = append(layers, plot.Rule{At: conc.Value, Low: conc.Low, High: conc.High, Upright: true, Label: text})
	}
	if limit, name := shownLimit(r, s.Org, s.Model); limit > 0 && limit < 1.7*top.Value {
		layers = append(layers, plot.Rule{At: limit, Ink: plot.Grey, Dashed: true, Label: name + " by header"})
	}
	return append(layers, plot.Line{Points: fit, Ink: plot.Blue, Fine: true})
}

// shownLimit is the lowest of the limits that headers showed, in calls a minute
// of the experiment's shape.
func shownLimit(r *Result, org, model string) (perMin float64, name string) {
	perMin = math.Inf(1)
	var input, output, n float64
	limits := map[wire.Dim]float64{}
	for i := range r.Raw {
		rec := &r.Raw[i]
		if rec.Org != org || rec.Model != model || rec.Canary || !rec.OK() || rec.Usage.Output < 2 {
			continue
		}
		input, output, n = input+float64(rec.Usage.Input), output+float64(rec.Usage.Output), n+1
		for d := wire.Requests; d <= wire.Output; d++ {
			if l := rec.Read.Of(d); l != nil {
				limits[d] = float64(l.Limit)
			}
		}
	}
	for d, use := range map[wire.Dim]float64{wire.Requests: 1, wire.Input: safeRatio(input, n), wire.Output: safeRatio(output, n)} {
		if v := safeRatio(limits[d], use); v > 0 && v < perMin {
			perMin, name = v, plot.Plain.Format(limits[d])+" "+DimName(d)
		}
	}
	if math.IsInf(perMin, 1) {
		return 0, ""
	}
	return perMin, name
}

// heldByRise says that acceleration ended the measurement before the knee.
func heldByRise(r *Result, s *Series) bool {
	b, ok := r.binding(s.Org, s.Model)
	return ok && b.Limit == "acceleration"
}

// binding is what bound an org and model.
func (r *Result) binding(org, model string) (Bound, bool) {
	pool := ""
	if m, ok := r.Metric("knee_calls_per_min", org, model); ok {
		pool = m.Pool
	}
	i := slices.IndexFunc(r.Binding, func(b Bound) bool { return b.Org == org && b.Pool == pool })
	if i < 0 {
		return Bound{}, false
	}
	return r.Binding[i], true
}

// kneeLatency is what a call took by calls in flight.
func kneeLatency(r *Result, s *Series) plot.Panel {
	p := plot.Panel{X: plot.Axis{Label: "calls in flight", Zero: true}, Y: plot.Axis{Label: "time of a call, mean", Unit: plot.Seconds, Zero: true}}
	var dots []plot.Reading
	for _, m := range r.metrics("latency") {
		var at, step int
		if _, err := fmt.Sscanf(m.At, "concurrency %d, step %d", &at, &step); err == nil && m.Org == s.Org && m.Model == s.Model {
			dots = append(dots, plot.Reading{X: float64(at), Y: m.Value, Low: m.Low, High: m.High})
		}
	}
	slices.SortStableFunc(dots, func(a, b plot.Reading) int { return int(a.X - b.X) })
	p.Layers = []plot.Layer{plot.Dots{Readings: dots, Ink: plot.Violet}}
	return p
}

// shapeOf names the token shape that is in a result's config.
func shapeOf(r *Result) string {
	var in, out float64
	switch s := r.Config["shape"].(type) {
	case Shape:
		in, out = float64(s.In), float64(s.MaxTokens)
	case map[string]any: // as it is read from a file
		in, _ = s["prompt_tokens"].(float64)
		out, _ = s["max_tokens"].(float64)
	}
	if in <= 0 {
		return ""
	}
	return fmt.Sprintf(", %.0f tokens in and at most %.0f out", in, out)
}

// sameHeight gives panels from 0 on one vertical range, so that they can be
// compared at a glance.
func sameHeight(panels []plot.Panel) {
	most := 0.0
	for _, p := range panels {
		for _, l := range p.Layers {
			switch l := l.(type) {
			case plot.Dots:
				for _, d := range l.Readings {
					most = max(most, d.Y, d.High)
				}
			case plot.Rule:
				if !l.Upright {
					most = max(most, l.At)
				}
			}
		}
	}
	if most <= 0 || math.IsNaN(most) || math.IsInf(most, 0) {
		return
	}
	for i := range panels {
		panels[i].Y.Max = 1.1 * most
	}
}
