package lab

import (
	"fmt"
	"math"
)

// fanoutFull is the share of the sum of the parts from which on it counts as the
// whole sum.
const fanoutFull = 0.97

// fromFanout compares the whole with the sum of its parts.
func (r *Result) fromFanout(e *Env, parts []*part) {
	var alone, whole interval
	var spreadA, spreadW float64
	series := Series{Name: "parts and whole", X: "org, in the order of orgs", Y: "calls/min"}
	n := 0
	for i, p := range parts {
		if p.closed != "" || p.whole == nil || len(p.alone) == 0 {
			r.NotShown = append(r.NotShown, fmt.Sprintf("%s: %s", p.org.Name, orWhy(p.closed, "not driven together with the others")))
			continue
		}
		n++
		a, w := p.expected(), p.together()
		alone.value, whole.value = alone.value+a.value, whole.value+w.value
		spreadA, spreadW = spreadA+squareHalf(a), spreadW+squareHalf(w)
		whole.n += w.n
		r.addPart(p, a, w)
		series.Points = append(series.Points, []float64{float64(i), a.value, a.low, a.high}, []float64{float64(i), w.value, w.low, w.high})
		f := kneeFound{level: p.whole}
		if p.pace > 0 { // nothing held it back but the pace it was given
			f.level = &p.alone[0]
		}
		r.Binding = append(r.Binding, p.bound(&f))
	}
	if n < 2 || alone.value <= 0 {
		r.Verdict, r.Confidence = "Fewer than two orgs could be driven together", 0
		r.Config["class"] = "not told"
		return
	}
	r.Series = append(r.Series, series)
	whole.low, whole.high = whole.value-math.Sqrt(spreadW), whole.value+math.Sqrt(spreadW)
	r.addWhole(n, alone.value, math.Sqrt(spreadA), whole)
}

func squareHalf(i interval) float64 {
	if math.IsInf(i.high, 0) {
		return 0
	}
	return math.Pow((i.high-i.low)/2, 2)
}

// together is what an org did beside the others: by its limits as for a knee,
// where it was paced as counted.
func (p *part) together() interval {
	if p.pace == 0 {
		return p.whole.rate.interval
	}
	d := &p.whole.drive
	records := p.s.sentFrom(d.Full)
	n := 0
	for i := range records {
		if r := &records[i]; r.Sent <= d.To && r.OK() {
			n++
		}
	}
	span := (d.To - d.Full).Minutes()
	rate, se := float64(n)/span, 1/span
	return interval{rate, rate - 2*se, rate + 2*se, n}
}

func (r *Result) addPart(p *part, alone, whole interval) {
	for _, m := range []struct {
		name string
		of   interval
	}{{"alone_calls_per_min", alone}, {"together_calls_per_min", whole}} {
		r.Metrics = append(r.Metrics, Metric{
			Name: m.name, Org: p.org.Name, Pool: p.model.Pool, Model: p.model.ID, Unit: "calls/min",
			Value: m.of.value, Low: m.of.low, High: m.of.high, N: m.of.n, Provisional: m.of.half() > 0.03,
		})
	}
}

func (r *Result) addWhole(n int, alone, spread float64, whole interval) {
	ratio := whole.value / alone
	half := ratio * math.Hypot(whole.half(), spread/alone)
	share := Metric{Name: "fanout_sum", Model: kneeModel, Unit: "share of the sum of the parts", Value: ratio, Low: ratio - half, High: ratio + half, N: n, Provisional: half > 0.03}
	r.Metrics = append(r.Metrics, share, Metric{
		Name: "fanout_calls_per_min", Model: kneeModel, Unit: "calls/min", Value: whole.value, Low: whole.low, High: whole.high, N: whole.n, Provisional: share.Provisional,
	})
	if ratio >= fanoutFull || share.High >= 1 && ratio >= 0.9 {
		r.Config["class"] = "sum"
		r.Verdict = fmt.Sprintf("%d orgs together carry %.0f calls/min, the sum of the parts (%.0f): %.1f %% ± %.1f", n, whole.value, alone, 100*ratio, 100*half)
		r.Confidence = 0.95
		return
	}
	r.Config["class"] = "less"
	r.Verdict = fmt.Sprintf("%d orgs together carry %.0f calls/min, %.1f %% ± %.1f of the sum of the parts (%.0f)", n, whole.value, 100*ratio, 100*half, alone)
	r.Confidence = 0.95
}
