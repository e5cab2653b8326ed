package lab

import (
	"fmt"
	"slices"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// drawLatency shows the time to the first token by model, and to the last by
// length.
func drawLatency(r *Result) *plot.Figure {
	f := &plot.Figure{
		Title:    latencyFinding(r),
		Subtitle: "boxes hold the middle half of the answers, their line is the median, whiskers reach from 5 to 95 %",
		Columns:  2, Width: 1000, PanelHeight: 330,
	}
	var models []string
	for _, s := range r.series("latency") {
		models = append(models, s.Model)
	}
	if len(models) == 0 {
		return f
	}
	f.Panels = []plot.Panel{firstTokens(r, models), wholeAnswers(r, models)}
	return f
}

func latencyFinding(r *Result) string {
	var first, per []string
	for _, m := range r.metrics("ttft") {
		first = append(first, modelName(m.Model)+" after "+plot.Seconds.Format(m.Value))
		if rate, ok := r.Metric("output_rate", m.Org, m.Model); ok && rate.Value > 0 {
			per = append(per, fmt.Sprintf("%.0f", rate.Value))
		}
	}
	if len(first) == 0 {
		return sentence(r.Verdict)
	}
	return "The first token comes from " + listed(first) + "; then " + listed(per) + " tokens a second"
}

// boxOf sums a distribution up; ok is false where there are too few.
func boxOf(at float64, values []float64) (plot.Box, bool) {
	if len(values) < 5 {
		return plot.Box{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	q := func(p float64) float64 { return quantile(sorted, p) }
	return plot.Box{At: at, Low: q(.05), Q1: q(.25), Median: q(.5), Q3: q(.75), High: q(.95)}, true
}

// answersOf are a model's answers, by the class of their length.
func answersOf(r *Result, model string) (first []float64, whole map[int64][]float64) {
	whole = map[int64][]float64{}
	for i := range r.Raw {
		rec := &r.Raw[i]
		if rec.Model != model || !rec.OK() {
			continue
		}
		first = append(first, (rec.FirstByte - rec.Sent).Seconds())
		n := lengthClass(rec.Usage.Output)
		whole[n] = append(whole[n], rec.Latency().Seconds())
	}
	return first, whole
}

func firstTokens(r *Result, models []string) plot.Panel {
	p := plot.Panel{Title: "to the first token", X: plot.Axis{Label: "time", Unit: plot.Seconds, Zero: true}}
	for i, model := range models {
		p.Y.Names = append(p.Y.Names, modelName(model))
		first, _ := answersOf(r, model)
		if b, ok := boxOf(float64(i), first); ok {
			p.Layers = append(p.Layers, plot.Boxes{Boxes: []plot.Box{b}, Ink: plot.Series(i)})
			continue
		}
		if m, ok := r.Metric("ttft", "", model); ok {
			p.Layers = append(p.Layers, plot.Dots{Readings: []plot.Reading{{X: m.Value, Y: float64(i), Low: m.Low, High: m.High}}, Ink: plot.Series(i)})
		}
	}
	return p
}

func wholeAnswers(r *Result, models []string) plot.Panel {
	p := plot.Panel{
		Title: "to the last, by length",
		X:     plot.Axis{Label: "tokens of the answer, about", Log: true}, Y: plot.Axis{Label: "time", Unit: plot.Seconds, Log: true},
	}
	for i, model := range models {
		_, whole := answersOf(r, model)
		shift := 16 * (float64(i) - float64(len(models)-1)/2)
		var boxes []plot.Box
		for _, n := range sortedLengths(whole) {
			if b, ok := boxOf(float64(n), whole[n]); ok {
				boxes = append(boxes, b)
			}
		}
		if len(boxes) > 0 {
			p.Layers = append(p.Layers, plot.Boxes{Boxes: boxes, Label: modelName(model), Ink: plot.Series(i), Shift: shift})
			continue
		}
		for _, s := range r.series("latency") {
			if s.Model == model {
				p.Layers = append(p.Layers, plot.Dots{Readings: s.readings(), Label: modelName(model), Ink: plot.Series(i)})
			}
		}
	}
	return p
}
