package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// bucketFound is what refill found of one bucket.
type bucketFound struct {
	refill   fit     // per second
	slope    fit     // as the readings rise, own use added back
	reset    fit     // as the reset headers tell
	others   float64 // use of others a second; 0: none seen
	scale    float64 // by which the headers exceed what is true; 1: they are true
	capacity fit
	claimed  float64 // limit of the headers, per minute
	drawn    float64 // lowest level over the highest
	why      string  // why the refill is not known
	readings int
}

// report reads everything out of the records.
func (w *watch) report(r *Result) {
	var said []string
	for _, o := range w.env.Syncing() {
		of := slices.DeleteFunc(w.Records(), func(c Record) bool { return c.Org != o.Name || strings.HasPrefix(c.Step, interrupted) })
		slices.SortStableFunc(of, func(a, b Record) int { return int(a.Sent - b.Sent) })
		for d := wire.Requests; d <= wire.Output; d++ {
			f := w.find(of, d)
			r.addBucket(o.Name, w.pool, d, f)
			if d == wire.Input {
				said = append(said, f.say(o.Name))
			}
		}
		w.hidden(r, o, of)
	}
	r.Verdict = "Input tokens refill at " + strings.Join(said, "; ")
	r.Confidence = 0.95
}

func (f *bucketFound) say(org string) string {
	if !f.refill.known() {
		return org + ": not shown (" + f.why + ")"
	}
	s := fmt.Sprintf("%s: %.0f a minute", org, 60*f.refill.value)
	if f.scale != 1 {
		s += fmt.Sprintf(" (headers say %.2f times as much)", f.scale)
	}
	if f.others > 0 {
		s += fmt.Sprintf(" (others use %.0f %%)", 100*f.others/f.refill.value)
	}
	return s
}

// find measures one bucket of one org.
func (w *watch) find(of []Record, d wire.Dim) bucketFound {
	f := bucketFound{scale: 1}
	highest, lowest := 0.0, math.Inf(1)
	for i := range of {
		if l := of[i].Read.Of(d); l != nil {
			f.claimed = float64(l.Limit)
			highest, lowest = max(highest, float64(l.Remaining)), min(lowest, float64(l.Remaining))
			f.readings++
		}
	}
	if f.readings == 0 {
		f.why = "the headers do not show it"
		return f
	}
	f.drawn = lowest / highest
	step := 1.0
	if d != wire.Requests {
		step = 1000 // tokens are rounded to so many
	}
	f.capacity = fit{highest, highest, highest + step/2, f.readings}
	full := highest - 2*step
	f.scale = w.scaleOf(of)
	groups := risings(of, d, full, f.scale)
	var exact bool
	if f.slope, exact = byBand(groups, step*math.Ceil(f.scale)); !exact {
		f.slope = restless(slope(groups), groups)
	}
	f.reset = byReset(w.resets(of, d, full), step/max(1, f.claimed/60)+0.02)
	f.choose(d)
	for _, v := range []*fit{&f.refill, &f.slope, &f.reset, &f.capacity} {
		*v = v.scaled(f.scale)
	}
	f.others /= f.scale
	return f
}

func (r *Result) addBucket(org, pool string, d wire.Dim, f bucketFound) {
	name, unit := DimName(d), "tokens/min"
	if d == wire.Requests {
		unit = "requests/min"
	}
	if !f.refill.known() {
		r.NotShown = append(r.NotShown, fmt.Sprintf("%s %s refill of %s: %s", org, pool, name, f.why))
	} else {
		m := Metric{Name: "refill_" + name, Org: org, Pool: pool, Value: 60 * f.refill.value, Low: 60 * f.refill.low, High: 60 * f.refill.high, Unit: unit, N: f.refill.n}
		m.Provisional = (m.High-m.Low)/2 > 0.03*m.Value // the target of facts/control.md E.1
		m.Note = fmt.Sprintf("headers claim %.0f", f.claimed)
		r.Metrics = append(r.Metrics, m)
	}
	if f.readings > 0 {
		r.Metrics = append(r.Metrics, Metric{Name: "capacity_" + name, Org: org, Pool: pool, Value: f.capacity.value, Low: f.capacity.low, High: f.capacity.high, Unit: strings.TrimSuffix(unit, "/min"), N: f.readings})
	}
	if f.others > 0 {
		r.Metrics = append(r.Metrics, Metric{Name: "others_" + name, Org: org, Pool: pool, Value: 60 * f.others, Low: 60 * max(0, f.reset.low-f.slope.high), High: 60 * (f.reset.high - f.slope.low), Unit: unit, N: f.slope.n, Note: "used by others meanwhile"})
	}
	if f.scale != 1 && d == wire.Input {
		r.Metrics = append(r.Metrics, Metric{Name: "header_scale", Org: org, Pool: pool, Value: f.scale, Low: f.scale, High: f.scale, Unit: "ratio", N: len(refillDips), Note: "headers show so many times what there is"})
	}
}

// hidden looks for refusals that the headers do not explain.
func (w *watch) hidden(r *Result, o *Org, of []Record) {
	passed, most := map[string]int{}, 0
	var refusedStep string
	var refusedBy Record
	for i := range of {
		rec := &of[i]
		if !strings.HasPrefix(rec.Step, stageBurst) {
			continue
		}
		if rec.Refused() && refusedStep == "" {
			refusedStep, refusedBy = rec.Step, *rec
		}
		if rec.Status == 200 && refusedStep != rec.Step {
			passed[rec.Step]++
		}
		var n int
		if _, err := fmt.Sscanf(rec.Step, stageBurst+"%d", &n); err == nil && !rec.Refused() {
			most = max(most, n)
		}
	}
	m := Metric{Org: o.Name, Pool: w.pool, Unit: "calls", N: most}
	switch {
	case refusedStep == "":
		m.Name, m.Value, m.Bound, m.Note = "burst", float64(most), ">=", "so many at one moment are taken: nothing is enforced below a minute up to that, nor fewer at once"
		m.Low, m.High = m.Value, m.Value
	case refusedBy.Is(wire.Concurrency):
		m.Name, m.Value, m.Note = "concurrency_limit", float64(passed[refusedStep]), refusedBy.Err
		m.Low, m.High = m.Value, m.Value+1
	default:
		m.Name, m.Value = "hidden_burst", float64(passed[refusedStep])
		m.Low, m.High = m.Value, m.Value+1
		m.Note = "more at one moment are refused although the headers show room: " + refusedBy.Err
	}
	r.Metrics = append(r.Metrics, m)
}
