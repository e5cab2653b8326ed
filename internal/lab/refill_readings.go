package lab

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// scaleOf is by how much the headers exceed what is true; 1 where a drop is what
// was used, give or take what others may do to it. Dips into input tokens tell:
// headers that lie are taken to lie as a whole.
func (w *watch) scaleOf(of []Record) float64 {
	highest := 0.0
	for i := range of {
		if l := of[i].Read.Of(wire.Input); l != nil {
			highest = max(highest, float64(l.Remaining))
		}
	}
	s := scaleOfDips(of, highest-2000)
	if math.Abs(s-1) < 0.1 {
		return 1
	}
	return s
}

func medianOr1(ratios []float64) float64 {
	if len(ratios) == 0 {
		return 1
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// choose takes the slope, unless the reset headers say that others kept it low.
func (f *bucketFound) choose(d wire.Dim) {
	f.refill = f.slope
	switch {
	case f.slope.known() && f.reset.known() && f.slope.high < 0.985*f.reset.low:
		f.others = f.reset.value - f.slope.value
		f.refill = f.reset
	case !f.slope.known():
		f.refill, f.why = fit{}, "too few readings of "+DimName(d)+" below full: it refills faster than calls under the etiquette cap draw it down, or nothing more was sent"
	}
}

// risings are the readings of a bucket while it lies below full, by stage, with
// own use since the stage began added back, as much as the headers show of it.
func risings(of []Record, d wire.Dim, full, scale float64) [][]moment {
	var groups [][]moment
	for _, step := range stagesFor(of, d) {
		stage := slices.DeleteFunc(slices.Clone(of), func(r Record) bool { return r.Step != step })
		after := settledAt(stage, d)
		if d == wire.Requests && orderly(burstOf(stage)) {
			after = 0 // the burst itself shows the refill, where that is fast the burst alone
		}
		var g []moment
		for i := range stage {
			r := &stage[i]
			l := r.Read.Of(d)
			if l == nil || r.Sent.Seconds() <= after || float64(l.Remaining) >= full {
				continue
			}
			own := 0.0
			for j := range stage {
				own += usedBy(&stage[j], d, r.Sent)
			}
			g = append(g, moment{t: r.Sent.Seconds(), sum: float64(l.Remaining) + scale*own, level: float64(l.Remaining)})
		}
		groups = append(groups, g)
	}
	return groups
}

// usedBy is what a call has taken out of a bucket at an instant: its request and
// its prompt at the send, its answer as it flows (facts/claude-api.md 3.1).
func usedBy(r *Record, d wire.Dim, at time.Duration) float64 {
	if d != wire.Output {
		if r.Sent > at {
			return 0
		}
		return ownUse(r, d)
	}
	switch {
	case r.End <= at:
		return ownUse(r, d)
	case r.FirstByte >= at || r.FirstByte == r.End:
		return 0
	}
	return ownUse(r, d) * float64(at-r.FirstByte) / float64(r.End-r.FirstByte)
}

// stagesFor are the stages that draw a bucket down.
func stagesFor(of []Record, d wire.Dim) []string {
	kind := map[wire.Dim]string{wire.Requests: stageBurst, wire.Input: stageDip, wire.Output: stageOut}[d]
	var steps []string
	for i := range of {
		if s := of[i].Step; strings.HasPrefix(s, kind) && !slices.Contains(steps, s) {
			steps = append(steps, s)
		}
	}
	return steps
}

// settledAt is when what drew a stage down has been taken out of the bucket: the
// burst admitted, the prompts read and the estimates of their length corrected.
func settledAt(stage []Record, d wire.Dim) float64 {
	at := 0.0
	for i := range stage {
		if r := &stage[i]; d == wire.Input && isDip(r) {
			at = max(at, r.End.Seconds())
		}
	}
	if d == wire.Requests {
		for _, r := range burstOf(stage) {
			at = max(at, r.End.Seconds()) // an answer is proof
		}
	}
	return at
}

// burstOf are the calls of a stage that were due at once, in the order of their
// sends.
func burstOf(stage []Record) []Record {
	for i := 1; i < len(stage); i++ {
		if stage[i].Due-stage[i-1].Due > probeEvery/2 {
			return stage[:i]
		}
	}
	return stage
}

// orderly says that the calls of a burst went when they were due and were
// admitted in the order of their sends, so that each reading belongs to its
// instant. On a network, or a busy machine, they are not.
func orderly(burst []Record) bool {
	if len(burst) < 2 {
		return false
	}
	span := burst[len(burst)-1].Due - burst[0].Due
	for i := range burst {
		if burst[i].Sent-burst[i].Due > span/20 {
			return false
		}
		if i == 0 || burst[i].Read.Of(wire.Requests) == nil || burst[i-1].Read.Of(wire.Requests) == nil {
			continue
		}
		if burst[i].Read.Requests.Remaining > burst[i-1].Read.Requests.Remaining+1 {
			return false
		}
	}
	return true
}

// isDip says that a call is one of those that draw input tokens down.
func isDip(r *Record) bool { return r.Usage.Input > 4*int64(probeShape.In) }

// ownUse is what a call took out of a bucket.
func ownUse(r *Record, d wire.Dim) float64 {
	switch {
	case d == wire.Requests && r.Status == 200:
		return 1
	case d == wire.Input:
		return float64(r.Usage.Input + r.Usage.CacheWrite5m + r.Usage.CacheWrite1h)
	case d == wire.Output:
		return float64(r.Usage.Output)
	}
	return 0
}

// resets are readings below full with the time until the reset that they show,
// by our clock.
func (w *watch) resets(of []Record, d wire.Dim, full float64) []moment {
	var out []moment
	for i := range of {
		l := of[i].Read.Of(d)
		if l == nil || l.Reset.IsZero() || float64(l.Remaining) >= full {
			continue
		}
		level := float64(l.Remaining)
		if d == wire.Requests {
			level += 0.5 // whole requests, cut off
		}
		out = append(out, moment{level: level, full: l.Reset.Sub(w.partial.head.Started).Seconds() - of[i].Sent.Seconds()})
	}
	return out
}

// scaleOfDips compares the level before a dip with the line of its recovery,
// carried back to the dip: headers that show more than there is fall by more.
func scaleOfDips(of []Record, full float64) float64 {
	var ratios []float64
	groups := risings(of, wire.Input, full, 0) // own use not added back
	for i, step := range stagesFor(of, wire.Input) {
		if len(groups[i]) < 10 {
			continue
		}
		before, used, at := -1.0, 0.0, 0.0
		for j := range of {
			r := &of[j]
			if r.Step != step {
				continue
			}
			if isDip(r) {
				used += ownUse(r, wire.Input)
				if at == 0 { // until then the bucket was full
					at = r.Sent.Seconds()
				}
			} else if l := r.Read.Of(wire.Input); at == 0 && l != nil {
				before = float64(l.Remaining)
			}
		}
		if before < 0 || used < 20_000 {
			continue
		}
		rise := slope(groups[i : i+1])
		mt, ms := means(groups[i])
		after := ms + rise.value*(at-mt) // the level right after the dip
		ratios = append(ratios, (before-after)/used)
	}
	return medianOr1(ratios)
}
