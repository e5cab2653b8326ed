package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

func joined(said []string) string { return strings.Join(said, "; ") }

// fromKnees reads the metrics out of what was seen.
func (r *Result) fromKnees(e *Env, seen []kneeSeen) {
	var said []string
	sure := 1.0
	for i := range seen {
		k := &seen[i]
		k.drift = k.drifted()
		if k.closed != "" {
			r.NotShown = append(r.NotShown, fmt.Sprintf("%s %s: %s", k.org.Name, k.model.ID, k.closed))
		}
		if k.drift != "" {
			r.NotShown = append(r.NotShown, fmt.Sprintf("%s %s: %s", k.org.Name, k.model.ID, k.drift))
		}
		if k.closed != "" || len(k.levels) == 0 {
			sure = 0.5
			r.addClosed(k)
			continue
		}
		f := k.find(e)
		r.addKnee(k, &f)
		if len(f.bound.Signs) < 2 {
			sure = min(sure, 0.7)
		}
		said = append(said, k.org.Name+" "+strings.TrimPrefix(k.model.ID, "claude-")+": "+f.say())
	}
	r.Verdict, r.Confidence = joined(said), 0.95*sure
	if len(said) == 0 {
		r.Verdict, r.Confidence = "No org could be measured", 0
	}
}

// kneeFound is what the levels of one target say together.
type kneeFound struct {
	hinge   hinge
	perMin  interval // sustained calls a minute
	atLeast bool     // it is a lower bound: the cap came before the knee
	firm    bool
	conc    interval // where it is reached
	level   *levelSeen
	bound   Bound
}

func (k *kneeSeen) find(e *Env) kneeFound {
	f := kneeFound{level: k.highest()}
	f.hinge = fitHinge(k.rates(), e.seedFor("hinge", uint64(len(k.levels))))
	f.perMin, f.firm = f.level.rate.interval, f.level.rate.half() <= 0.03
	f.atLeast = f.level.gate == "" && f.level.drive.Places == 0
	if h := f.level.hidden; h != nil && h.PerMin > 0 {
		f.perMin = interval{h.PerMin, h.PerMin - 1.96*h.SE, h.PerMin + 1.96*h.SE, h.Calls}
		f.atLeast, f.firm = h.Bound, !h.Bound && f.perMin.half() <= 0.03
	}
	if grown(f.level) {
		f.atLeast, f.firm = true, false
		f.perMin = k.below()
	}
	f.conc = interval{value: float64(f.level.conc), low: float64(f.level.conc), high: float64(f.level.conc), n: f.level.drive.Sent}
	if slope := f.hinge.slope; (!f.atLeast || grown(f.level)) && slope.value > 0 && f.level.drive.Places == 0 {
		top := f.perMin
		f.conc = interval{top.value / slope.value, top.value / slope.value, top.value / slope.value, slope.n}
		spread := math.Hypot(top.half(), slope.half()) * f.conc.value
		f.conc.low, f.conc.high = f.conc.value-spread, f.conc.value+spread
	}
	f.bound = k.bound(&f)
	return f
}

// highest is the level at the cap, or the last there is.
func (k *kneeSeen) highest() *levelSeen {
	if k.top > 0 {
		return &k.levels[k.top-1]
	}
	return &k.levels[len(k.levels)-1]
}

// grown says that refusals of acceleration, or such that name nothing while all
// levels have room, ended a level.
func grown(v *levelSeen) bool { return v.drive.grown() }

// below is what acceleration lets pass: the ceiling that its refusal tells, else
// the highest level without one.
func (k *kneeSeen) below() interval {
	if c, use := k.highest().drive.CeilingNow, k.probe.Use[dimInput]; c > 0 && use > 0 {
		return interval{c / use, c / use, c / use, 1}
	}
	best := interval{}
	for i := range k.levels {
		if v := &k.levels[i]; !grown(v) && v.rate.known() && v.rate.value > best.value {
			best = v.rate.interval
		}
	}
	return best
}

// Indices into gaugeDims.
const (
	dimInput  = 1
	dimOutput = 2
)

// rates are the points of the hinge: each level, and for the slope what one
// place in flight does in the levels that a gate held, where latency there is
// that of the others.
func (k *kneeSeen) rates() []rate {
	var points []rate
	for i := range k.levels {
		v := &k.levels[i]
		if h := v.hidden; h != nil {
			if !h.Bound {
				points = append(points, rate{float64(v.conc), h.PerMin, max(h.SE, 1e-3*h.PerMin)})
			}
			if one := safeRatio(60, k.probe.Latency); one > 0 { // its own calls were not of the shape
				points = append(points, rate{1, one, 0.6 * one / math.Sqrt(float64(max(1, k.probe.N)))})
			}
			continue
		}
		if v.rate.known() && v.rate.value > 0 {
			points = append(points, rate{float64(v.conc), v.rate.value, max(v.rate.half()*v.rate.value/1.96, 1e-3*v.rate.value)})
		}
		if v.gate != "" && v.latency.known() && k.sameLatency(v) {
			one := 60 / v.latency.value
			points = append(points, rate{1, one, one * v.latency.half() / 1.96})
		}
	}
	return points
}

// sameLatency says that a level's latency is not longer than that of the levels
// below the knee.
func (k *kneeSeen) sameLatency(v *levelSeen) bool {
	for i := range k.levels {
		low := &k.levels[i]
		if low.gate == "" && low.conc < v.conc && low.latency.known() && v.latency.low > 1.05*low.latency.high {
			return false
		}
	}
	return true
}

// drifted says where the canary's latency changed; empty: nowhere.
func (k *kneeSeen) drifted() string {
	var groups []float64
	var of []*levelSeen
	for i := range k.levels {
		v := &k.levels[i]
		var logs []float64
		for _, l := range v.canary {
			if logs = append(logs, math.Log(l)); len(logs) == canaryGroup {
				mean, _ := meanSD(logs)
				groups, of, logs = append(groups, mean), append(of, v), logs[:0]
			}
		}
	}
	at := changeAt(groups)
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("the canary's latency changed while %d calls were in flight: drift, or their load", of[min(at, len(of)-1)].conc)
}

// canaryGroup is how many canaries make a value of the control chart.
const canaryGroup = 4

// say words the finding.
func (f *kneeFound) say() string {
	v := f.level
	switch {
	case grown(v):
		return fmt.Sprintf("at least %.0f calls/min, acceleration refuses more so soon", f.perMin.value)
	case f.bound.Limit == "concurrency":
		return fmt.Sprintf("%.0f calls/min with %d in flight, the provider refuses more", f.perMin.value, v.drive.Places)
	case f.atLeast:
		return fmt.Sprintf("≥ %.0f calls/min at the cap of %d in flight, latency-bound", f.perMin.value, v.conc)
	}
	return fmt.Sprintf("%.0f calls/min from %.0f in flight on, %s binds", f.perMin.value, f.conc.value, f.bound.Limit)
}

// bound names the limit that binds and what speaks for it; two signs that agree
// make it certain (facts/control.md E.1).
func (k *kneeSeen) bound(f *kneeFound) Bound {
	v := f.level
	b := Bound{Org: k.org.Name, Pool: k.model.Pool, Tier: Sync, Whose: "Anthropic"}
	text := func(why string) {
		if v.drive.Text != "" {
			b.Signs = append(b.Signs, why+": "+v.drive.Text)
		}
	}
	switch {
	case grown(v):
		b.Limit = "acceleration"
		text("calls were refused")
		b.Signs = append(b.Signs, "the levels shown had room when they were: "+v.levelsSaid(""))
	case v.drive.Places > 0:
		b.Limit = "concurrency"
		text("calls were refused")
		b.Signs = append(b.Signs, fmt.Sprintf("with %d in flight", v.drive.Places))
	case v.hidden != nil && !v.hidden.Bound:
		b.Limit = v.drive.Dim
		if b.Limit == "" {
			b.Limit = DimName(wire.Requests)
		}
		text("refused although no header shows it empty")
		b.Signs = append(b.Signs, fmt.Sprintf("%.0f calls/min pass between refusals at an even pace, where latency would let pass %.0f", v.hidden.PerMin, 60*safeRatio(float64(v.conc), k.probe.Latency)))
	case v.gate != "":
		b.Limit = v.gate
		b.Signs = v.gateSigns()
	default:
		b.Limit, b.Whose = "cap", "yours and colleagues'"
		b.Signs = v.capSigns()
	}
	return b
}

// capped is what concurrency and latency alone let pass at the level.
func (v *levelSeen) capped() float64 { return 60 * safeRatio(float64(v.conc), v.latency.value) }

func (v *levelSeen) gateSigns() []string {
	signs := []string{fmt.Sprintf("%s came down to %.0f %% of what it holds, others stayed above: %s", v.gate, 100*v.lowest[v.gate], v.levelsSaid(v.gate))}
	if v.bySlope {
		signs[0] = fmt.Sprintf("%s fell all the time, to %.0f %%; others: %s", v.gate, 100*v.lowest[v.gate], v.levelsSaid(v.gate))
	}
	if all := v.capped(); v.rate.value < 0.95*all {
		signs = append(signs, fmt.Sprintf("throughput does not grow with concurrency: %.0f calls/min where latency would let pass %.0f", v.rate.value, all))
	}
	if v.claimed > 0 && math.Abs(v.refill/v.claimed-1) < 0.03 {
		signs = append(signs, fmt.Sprintf("own use and the change of the level add up to %.0f a minute, the limit that headers show", v.refill))
	}
	if v.drive.Steady > 0 {
		signs = append(signs, "calls were refused: "+v.drive.Text)
	}
	return signs
}

func (v *levelSeen) capSigns() []string {
	var signs []string
	if len(v.lowest) > 0 {
		signs = append(signs, "no level fell: "+v.levelsSaid(""))
	}
	if v.direct > 0 && math.Abs(v.direct/v.capped()-1) < 0.1 {
		signs = append(signs, fmt.Sprintf("throughput is concurrency over latency: %.0f calls/min counted, %d ÷ %.2f s = %.0f", v.direct, v.conc, v.latency.value, v.capped()))
	}
	if v.drive.refused() == 0 {
		signs = append(signs, fmt.Sprintf("none of %d calls was refused", v.drive.Sent))
	}
	return signs
}

// levelsSaid are the lowest levels, but one.
func (v *levelSeen) levelsSaid(but string) string {
	var said []string
	for _, d := range gaugeDims {
		if l, ok := v.lowest[DimName(d)]; ok && DimName(d) != but {
			said = append(said, fmt.Sprintf("%s %.0f %%", DimName(d), 100*l))
		}
	}
	if len(said) == 0 {
		return "no header shows any"
	}
	return strings.Join(said, ", ")
}

// addClosed says which limit kept an org from being measured.
func (r *Result) addClosed(k *kneeSeen) {
	v := levelSeen{}
	by := k.probe.ClosedBy
	if len(k.levels) > 0 {
		v = k.levels[len(k.levels)-1]
		by = v.drive.ClosedBy
	}
	if by == "" {
		return
	}
	b := Bound{Org: k.org.Name, Pool: k.model.Pool, Tier: Sync, Limit: by, Whose: "Anthropic", Signs: []string{k.closed}}
	if dimOf(by) >= 0 {
		b.Whose = "yours and colleagues'"
		b.Signs = append(b.Signs, "of this experiment's calls there were few: others use it up")
	}
	r.Binding = append(r.Binding, b)
}

// addKnee adds the metrics of one target.
func (r *Result) addKnee(k *kneeSeen, f *kneeFound) {
	of := func(name, unit string, iv interval) Metric {
		return Metric{Name: name, Org: k.org.Name, Pool: k.model.Pool, Model: k.model.ID, Unit: unit, Value: iv.value, Low: iv.low, High: iv.high, N: iv.n, Provisional: !f.firm || k.drift != "" || k.closed != ""}
	}
	top, conc := of("knee_calls_per_min", "calls/min", f.perMin), of("knee_concurrency", "calls in flight", f.conc)
	if f.atLeast {
		top.Bound, conc.Bound = ">=", ">="
		top.Note = "at the etiquette cap"
		if grown(f.level) {
			top.Note = "acceleration refused more"
		}
	}
	out := of("knee_output_tokens_per_min", "tokens/min", f.perMin.times(k.probe.Use[dimOutput]))
	out.Bound = top.Bound
	r.Metrics = append(r.Metrics, top, conc, out)
	series := Series{Name: "throughput", Org: k.org.Name, Model: k.model.ID, X: "calls in flight", Y: "calls/min"}
	for i := range k.levels {
		v := &k.levels[i]
		rate := v.rate.interval
		if v == f.level {
			rate = f.perMin
		}
		if rate.n == 0 || math.IsInf(rate.high, 0) {
			continue
		}
		series.Points = append(series.Points, []float64{float64(v.conc), rate.value, rate.low, rate.high})
		m := of("throughput", "calls/min", rate)
		m.At, m.Provisional = fmt.Sprintf("concurrency %d, step %d", v.conc, i+1), rate.half() > 0.03
		r.Metrics = append(r.Metrics, m)
		if v.hidden == nil && v.latency.known() {
			l := of("latency", "s", v.latency)
			l.At = m.At
			r.Metrics = append(r.Metrics, l)
		}
	}
	slices.SortStableFunc(series.Points, func(a, b []float64) int { return int(a[0] - b[0]) })
	r.Series = append(r.Series, series)
	if ceiling := f.level.drive.CeilingNow; grown(f.level) && ceiling > 0 {
		r.Metrics = append(r.Metrics, of("acceleration_ceiling", "tokens/min", interval{ceiling, ceiling, ceiling, 1}))
	}
	r.Binding = append(r.Binding, f.bound)
}
