package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/plot"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// drawRefill shows each bucket's refill beside what its headers claim, and the
// input level of each org in the last dip.
func drawRefill(r *Result) *plot.Figure {
	f := &plot.Figure{
		Subtitle:    "refill of each bucket as a share of the limit that its headers show, from the slope of remaining + own use; bars are 95 % intervals",
		PanelHeight: 300, Columns: 1,
	}
	if s := burstsOf(r); s != "" {
		f.Subtitle += ". " + s
	}
	shares := refillShares(r)
	if len(shares) > 0 {
		f.Title = refillFinding(r, shares)
		f.Panels = append(f.Panels, refillPanel(r, shares))
	}
	if p, ok := dipPanel(r); ok {
		f.Panels = append(f.Panels, p)
	}
	return f
}

// refillShare is one bucket's refill over its claim.
type refillShare struct {
	org, limit       string
	value, low, high float64 // shares; 0: the refill is not known
	perMin           float64
}

func refillShares(r *Result) []refillShare {
	var out []refillShare
	for _, held := range r.Metrics { // each bucket that a header shows has a capacity
		limit, ok := strings.CutPrefix(held.Name, "capacity_")
		if !ok {
			continue
		}
		s := refillShare{org: held.Org, limit: limit}
		m, ok := r.Metric("refill_"+limit, held.Org, held.Pool)
		claimed := 0.0
		if _, err := fmt.Sscanf(m.Note, "headers claim %f", &claimed); ok && err == nil && claimed > 0 {
			s.perMin, s.value, s.low, s.high = m.Value, m.Value/claimed, m.Low/claimed, m.High/claimed
		}
		out = append(out, s)
	}
	return out
}

func refillPanel(r *Result, shares []refillShare) plot.Panel {
	p := plot.Panel{X: plot.Axis{Label: "measured refill as a share of what the headers say", Unit: plot.Percent}}
	p.Layers = []plot.Layer{plot.Rule{At: 1, Upright: true, Dashed: true, Label: "as the headers say"}}
	var dots []plot.Reading
	for i, s := range shares {
		name := s.org + ", " + limitName(s.limit)
		if s.value > 0 {
			name += ": " + plot.Plain.Format(s.perMin)
			dots = append(dots, plot.Reading{X: s.value, Y: float64(i), Low: s.low, High: s.high})
		} else {
			p.Layers = append(p.Layers, plot.Note{X: 1, Y: float64(i), Text: "not shown: hardly drawn down", Ink: plot.Grey})
		}
		p.Y.Names = append(p.Y.Names, name)
	}
	p.Layers = append(p.Layers, plot.Dots{Readings: dots, Ink: plot.Blue})
	if len(dots) == 0 {
		p.X.Min, p.X.Max = .9, 1.1
	}
	return p
}

// refillFinding words what the shares say.
func refillFinding(r *Result, shares []refillShare) string {
	const truthful = 0.03
	worst, known := 0.0, 0
	for _, s := range shares {
		if s.value == 0 {
			continue
		}
		if known++; math.Abs(s.value-1) <= truthful {
			worst = max(worst, math.Abs(s.value-1))
		}
	}
	off := untrue(shares, truthful)
	var said string
	switch {
	case known == 0:
		return sentence(r.Verdict)
	case len(off) == 0:
		said = fmt.Sprintf("Buckets refill as their headers say, to %.1g %%", 100*worst)
	default:
		said = "Not all buckets refill as their headers say: " + listed(off) + " of that"
	}
	for _, s := range hiddenLimits(r) {
		said += "; " + s
	}
	if who := othersAtWork(r); len(who) > 0 {
		said += "; others are at work on " + listed(who)
	}
	return said
}

// untrue names the buckets that do not refill as their headers say; orgs of which
// that holds for all of them as a whole.
func untrue(shares []refillShare, truthful float64) []string {
	var said []string
	var orgs []string
	for _, s := range shares {
		if !slices.Contains(orgs, s.org) {
			orgs = append(orgs, s.org)
		}
	}
	for _, org := range orgs {
		var each []string
		var all []float64
		known := 0
		for _, s := range shares {
			if s.org != org || s.value == 0 {
				continue
			}
			if known++; math.Abs(s.value-1) > truthful {
				all = append(all, s.value)
				each = append(each, fmt.Sprintf("%s's %s at %s", org, limitName(s.limit), plot.Percent.Format(s.value)))
			}
		}
		if len(each) > 1 && len(each) == known {
			each = []string{fmt.Sprintf("those of %s at about %.0f %%", org, 100*middle(all))}
		}
		said = append(said, each...)
	}
	return said
}

// hiddenLimits says who refuses calls at one moment that no header forbids; orgs
// that do so alike together.
func hiddenLimits(r *Result) []string {
	var order []float64
	orgs := map[float64][]string{}
	for _, m := range r.Metrics {
		if m.Name == "hidden_burst" || m.Name == "concurrency_limit" {
			if len(orgs[m.Value]) == 0 {
				order = append(order, m.Value)
			}
			orgs[m.Value] = append(orgs[m.Value], m.Org)
		}
	}
	var said []string
	for _, n := range order {
		said = append(said, fmt.Sprintf("at one moment only %.0f calls pass on %s, which no header says", n, listed(orgs[n])))
	}
	return said
}

func othersAtWork(r *Result) []string {
	var who []string
	for _, m := range r.Metrics {
		if strings.HasPrefix(m.Name, "others_") && !slices.Contains(who, m.Org) {
			who = append(who, m.Org)
		}
	}
	return who
}

// burstsOf says which bursts were taken.
func burstsOf(r *Result) string {
	var said []string
	for _, m := range r.metrics("burst") {
		said = append(said, fmt.Sprintf("%s %.0f", m.Org, m.Value))
	}
	if len(said) == 0 {
		return ""
	}
	return "Calls at one moment that were all taken: " + strings.Join(said, ", ")
}

// dipPanel is the input level of each org in the last stage that drew it down.
func dipPanel(r *Result) (plot.Panel, bool) {
	p := plot.Panel{
		Title: "The last dip: input tokens that are left; dashed: the measured refill, less what others use",
		X:     plot.Axis{Label: "time since its first call", Unit: plot.Seconds}, Y: plot.Axis{Label: "share of the limit that the headers show", Unit: plot.Percent},
	}
	orgs, _ := placesOf(r.Metrics)
	for i, org := range orgs {
		dots, from := dipOf(r, org)
		if len(dots) < 3 {
			continue
		}
		p.Layers = append(p.Layers, plot.Dots{Readings: dots, Ink: plot.Series(i), Label: org})
		if m, ok := r.Metric("refill_itpm", org, ""); ok {
			scale := 1.0
			if shown, ok := r.Metric("header_scale", org, ""); ok {
				scale = shown.Value
			}
			if others, ok := r.Metric("others_itpm", org, ""); ok {
				m.Value -= others.Value
			}
			if line := refillLine(m, scale, dots, from); len(line) > 0 {
				p.Layers = append(p.Layers, plot.Line{Points: line, Ink: plot.Series(i), Dashed: true, Fine: true})
			}
		}
	}
	return p, len(p.Layers) > 0
}

// dipOf are the readings of an org's last dip, as shares of the limit that they
// show, and which of them is the lowest.
func dipOf(r *Result, org string) (dots []plot.Reading, lowest int) {
	step := ""
	for i := range r.Raw {
		if rec := &r.Raw[i]; rec.Org == org && strings.HasPrefix(rec.Step, stageDip) && rec.Read.Of(wire.Input) != nil {
			step = max(step, rec.Step)
		}
	}
	var of []*Record
	for i := range r.Raw {
		if rec := &r.Raw[i]; step != "" && rec.Org == org && rec.Step == step {
			of = append(of, rec)
		}
	}
	slices.SortStableFunc(of, func(a, b *Record) int { return int(a.Sent - b.Sent) })
	every := max(1, len(of)/80)
	for i, rec := range of {
		l := rec.Read.Of(wire.Input)
		if l == nil || l.Limit == 0 || i%every != 0 && i > 20 {
			continue
		}
		dots = append(dots, plot.Reading{X: (rec.Sent - of[0].Sent).Seconds(), Y: float64(l.Remaining) / float64(l.Limit)})
		if dots[len(dots)-1].Y <= dots[lowest].Y {
			lowest = len(dots) - 1
		}
	}
	return dots, lowest
}

// refillLine is the measured refill through the readings after the lowest, from
// the lowest on until it is full again. Headers that show scale times what there
// is rise so many times as fast.
func refillLine(m Metric, scale float64, dots []plot.Reading, lowest int) []plot.Point {
	claimed := 0.0
	if _, err := fmt.Sscanf(m.Note, "headers claim %f", &claimed); err != nil || claimed <= 0 {
		return nil
	}
	rate, top := scale*m.Value/claimed/60, 0.0
	var starts []float64
	for i, d := range dots {
		if top = max(top, d.Y); i > (lowest+len(dots))/2 {
			starts = append(starts, d.Y-rate*d.X)
		}
	}
	if len(starts) == 0 || rate <= 0 {
		return nil
	}
	from := middle(starts)
	return []plot.Point{{X: dots[lowest].X, Y: from + rate*dots[lowest].X}, {X: (top - from) / rate, Y: top}}
}
