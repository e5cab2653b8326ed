package lab

import (
	"math"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// levelSeen is what one level of concurrency showed.
type levelSeen struct {
	conc              int
	rate              batched            // calls a minute
	latency           interval           // seconds, of answered calls
	byCap             float64            // calls a minute that concurrency and latency alone would let pass
	direct            float64            // calls a minute that were counted
	gate              string             // limit that held it back; empty: none did
	bySlope           bool               // found while its bucket still fell
	refill            float64            // of the gate's bucket, a minute: own use and the change of its level
	claimed           float64            // what the headers say of it
	lowest            map[string]float64 // of each bucket shown, a share of what it holds
	drive             drive
	hidden            *hiddenTop
	repeated          int
	latencies, canary []float64 // of answered calls and of the control of drift, seconds
}

// bySend picks records and puts them in the order of their sends.
func bySend(records []Record, of func(*Record) bool) []Record {
	var out []Record
	for i := range records {
		if of(&records[i]) {
			out = append(out, records[i])
		}
	}
	slices.SortStableFunc(out, func(a, b Record) int { return int(a.Sent - b.Sent) })
	return out
}

// seeLevel reads one level out of the records of its drive. conc is the
// concurrency that it stands for, the canary's place included.
func (s *station) seeLevel(d drive, conc int) levelSeen {
	records := s.sentFrom(d.From)
	records = slices.DeleteFunc(records, func(r Record) bool { return r.Sent > d.To })
	v := levelSeen{conc: conc, drive: d, gate: d.Gate, lowest: s.gauges.lowest(records)}
	v.byLatency(bySend(records, func(r *Record) bool { return r.Sent >= d.Full }))
	from := max(d.Full, d.From) + time.Duration(v.latency.value*float64(time.Second))
	if d.Held > 0 {
		from = max(d.Held, from)
	}
	v.direct = perMinute(records, from, d.To)
	if d.Held > 0 {
		v.byGate(records, s, from)
		return v
	}
	v.byFall(records, s, from)
	return v
}

// byLatency is Little's law: so many places, each for so long.
func (v *levelSeen) byLatency(records []Record) {
	var latencies []float64
	busy := 0.0
	for i := range records {
		r := &records[i]
		if r.Canary {
			if r.OK() {
				v.canary = append(v.canary, r.Latency().Seconds())
			}
			continue
		}
		busy += r.Latency().Seconds()
		if r.OK() {
			latencies = append(latencies, r.Latency().Seconds())
		}
	}
	n := len(latencies)
	v.latencies = latencies
	mean, sd := meanSD(latencies)
	v.latency = around(mean, sd/math.Sqrt(float64(n)), float64(n-1), n)
	if busy <= 0 {
		return
	}
	v.byCap = 60 * float64(v.conc) * float64(n) / busy
	v.rate = batched{interval: around(v.byCap, v.byCap*sd/mean/math.Sqrt(float64(n)), float64(n-1), n), batches: n, size: 1}
}

// perMinute counts answered calls that ended in a window, the canary's left out.
func perMinute(records []Record, from, to time.Duration) float64 {
	n := 0
	for i := range records {
		if r := &records[i]; r.OK() && !r.Canary && r.End > from && r.End <= to {
			n++
		}
	}
	if to <= from {
		return 0
	}
	return float64(n) / (to - from).Minutes()
}

func dimOf(name string) int {
	return slices.IndexFunc(gaugeDims[:], func(d wire.Dim) bool { return DimName(d) == name })
}

// byGate is the rate at which a bucket that is held at its floor lets calls
// pass: own use and the change of its level, over what a call uses. Warm-up is
// cut by MSER-5, the interval is by batch means (facts/control.md E.1).
func (v *levelSeen) byGate(records []Record, s *station, from time.Duration) {
	i := dimOf(v.gate)
	bins := binUse(records, gaugeDims[i], from, v.drive.To)
	cut := mser5(bins)
	from += time.Duration(cut) * binSpan
	own := batchMeans(bins[cut:])
	rise := levelSlope(records, gaugeDims[i], from, v.drive.To)
	use := s.gauges.use[i]
	if use <= 0 || !own.known() {
		return
	}
	v.refill, v.claimed = 60*(own.value/binSpan.Seconds()+rise.value), 60*s.gauges.of[i].rate
	v.rate = own
	shift := rise.value * binSpan.Seconds()
	v.rate.value, v.rate.low, v.rate.high = own.value+shift, own.low+shift, own.high+shift
	v.rate.interval = v.rate.times(60 / binSpan.Seconds() / use)
}

// byFall looks whether a bucket falls although no gate has held a call yet: a
// stored minute hides its limit, which the slope shows (facts/control.md E.2).
func (v *levelSeen) byFall(records []Record, s *station, from time.Duration) {
	for i, d := range gaugeDims {
		rise := levelSlope(records, d, from, v.drive.To)
		fell := -rise.value * (v.drive.To - from).Seconds()
		if !rise.known() || rise.high >= 0 || fell < 0.03*s.gauges.of[i].full {
			continue
		}
		own := batchMeans(binUse(records, d, from, v.drive.To)).times(1 / binSpan.Seconds())
		refill, use := own.value+rise.value, s.gauges.use[i]
		if refill > 0.97*own.value || use <= 0 || 60*refill/use > v.rate.value {
			continue
		}
		half := math.Hypot((rise.high-rise.low)/2, (own.high-own.low)/2)
		v.gate, v.bySlope = DimName(d), true
		v.refill, v.claimed = 60*refill, 60*s.gauges.of[i].rate
		v.rate = batched{interval: interval{refill, refill - half, refill + half, rise.n}.times(60 / use), batches: rise.n, size: 1}
	}
}

// binSpan is the length of the bins whose means become batches.
const binSpan = time.Second

// binUse is own use of a bucket by seconds, canary and all.
func binUse(records []Record, d wire.Dim, from, to time.Duration) []float64 {
	if to <= from {
		return nil
	}
	bins := make([]float64, (to-from)/binSpan)
	for i := range records {
		r := &records[i]
		if k := int((r.Sent - from) / binSpan); r.Sent >= from && k < len(bins) {
			bins[k] += ownUse(r, d)
		}
	}
	return bins
}

// levelSlope is the change of a bucket's level a second.
func levelSlope(records []Record, d wire.Dim, from, to time.Duration) interval {
	var at, level []float64
	for i := range records {
		r := &records[i]
		if l := r.Read.Of(d); l != nil && r.Sent >= from && r.Sent <= to {
			at, level = append(at, r.Sent.Seconds()), append(level, float64(l.Remaining))
		}
	}
	if len(at) < 3 {
		return interval{}
	}
	return ols(at, level).interval()
}

// lowest is the lowest level of each bucket that is shown, over what it holds.
func (g *gauges) lowest(records []Record) map[string]float64 {
	out := map[string]float64{}
	for i, d := range gaugeDims {
		low := math.Inf(1)
		for k := range records {
			if l := records[k].Read.Of(d); l != nil {
				low = min(low, float64(l.Remaining))
			}
		}
		if full := g.of[i].full; full > 0 && !math.IsInf(low, 1) {
			out[DimName(d)] = low / full
		}
	}
	return out
}
