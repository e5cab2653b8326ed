package lab

import (
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// gaugeDims are the limits that gauges follow, in the order of a gauges array.
var gaugeDims = [...]wire.Dim{wire.Requests, wire.Input, wire.Output}

// gauge is what one bucket holds by the newest header, carried on by its refill
// and by what was sent since (facts/control.md B.2).
type gauge struct {
	seen  bool
	at    time.Duration // send of the reading
	level float64
	full  float64       // most that was seen
	rate  float64       // refill a second, as the header's limit has it
	low   time.Duration // send of the first of an unbroken row of readings below the soft floor; negative: none
}

// read takes a reading unless it is older than the one there is.
func (g *gauge) read(sent time.Duration, l *Level, soft float64) {
	if g.seen && sent < g.at {
		return
	}
	if !g.seen {
		g.low = -1
	}
	g.seen, g.at, g.level = true, sent, float64(l.Remaining)
	g.full = max(g.full, g.level)
	if l.Limit > 0 {
		g.rate = float64(l.Limit) / 60
	}
	switch {
	case g.level >= soft*g.full:
		g.low = -1
	case g.low < 0:
		g.low = sent
	}
}

// now is the level after own use since the reading.
func (g *gauge) now(at time.Duration, used float64) float64 {
	return min(g.full, g.level+g.rate*(at-g.at).Seconds()) - used
}

// gauges are those of one org and pool.
type gauges struct {
	of    [len(gaugeDims)]gauge
	use   [len(gaugeDims)]float64 // of a call on average
	calls float64                 // behind use
	sends []*sending              // newest last
}

// sending is a call that was sent; full says that it is of the measured shape.
type sending struct {
	at, end time.Duration // end: 0 while it is in flight
	full    bool
}

// uses says that a call uses a bucket after an instant: its request and prompt
// count at its send, its answer until its end.
func (s *sending) uses(d wire.Dim, after time.Duration) bool {
	if d == wire.Output {
		return s.full && (s.end == 0 || s.end > after)
	}
	return s.at > after
}

// sent notes a call at its send; its end is to be set.
func (g *gauges) sent(at time.Duration, full bool) *sending {
	call := &sending{at: at, full: full}
	g.sends = append(g.sends, call)
	if len(g.sends) >= 1024 {
		g.forget(at - riseSpan)
	}
	return call
}

// forget drops calls that no gauge asks for any more, nor anything after keep.
func (g *gauges) forget(keep time.Duration) {
	for i := range g.of {
		if g.of[i].seen {
			keep = min(keep, g.of[i].at)
		}
	}
	g.sends = slices.DeleteFunc(g.sends, func(s *sending) bool { return s.at <= keep && s.end > 0 && s.end <= keep })
}

// take reads a record's headers, and learns what a call uses.
func (g *gauges) take(r *Record, full bool, soft float64) {
	for i, d := range gaugeDims {
		if l := r.Read.Of(d); l != nil {
			g.of[i].read(r.Sent, l, soft)
		}
	}
	if full && r.OK() {
		g.calls++
		for i, d := range gaugeDims {
			g.use[i] += (ownUse(r, d) - g.use[i]) / g.calls
		}
	}
}

// usedSince is own use of bucket i after an instant. Of answers that flowed then
// it counts all, which is too much by half of them.
func (g *gauges) usedSince(i int, at time.Duration) float64 {
	used := 0.0
	for _, s := range g.sends {
		switch {
		case !s.uses(gaugeDims[i], at):
		case s.full:
			used += g.use[i]
		case gaugeDims[i] == wire.Requests:
			used++
		}
	}
	return used
}

// rateUntil is how many calls a second went in the last seconds before an
// instant.
func (g *gauges) rateUntil(at time.Duration) float64 {
	n := 0
	for _, s := range g.sends {
		if s.full && s.at > at-riseSpan && s.at <= at {
			n++
		}
	}
	return float64(n) / riseSpan.Seconds()
}

// level is what bucket i holds now; false: no header shows it.
func (g *gauges) level(i int, now time.Duration) (float64, bool) {
	b := &g.of[i]
	if !b.seen {
		return 0, false
	}
	return b.now(now, g.usedSince(i, b.at)), true
}

// wait is how long the next call has to wait until every bucket that is shown
// keeps its floor, a share of what it holds, and which bucket it waits for.
func (g *gauges) wait(now time.Duration, floor float64) (wait time.Duration, dim wire.Dim) {
	for i, d := range gaugeDims {
		level, ok := g.level(i, now)
		if !ok || g.of[i].rate <= 0 {
			continue
		}
		if short := floor*g.of[i].full + g.use[i] - level; short > 0 {
			if w := time.Duration(short / g.of[i].rate * float64(time.Second)); w > wait {
				wait, dim = w, d
			}
		}
	}
	return wait, dim
}

// roomyIn says that every bucket that a refusal shows has room for more calls:
// it is then not theirs.
func (g *gauges) roomyIn(r *Record) bool {
	for i, d := range gaugeDims {
		if l := r.Read.Of(d); l != nil && float64(l.Remaining) < max(0.05*g.of[i].full, 2*g.use[i]) {
			return false
		}
	}
	return true
}

// crowded says that a bucket has stayed below the share that is left to
// colleagues although nothing was sent but to look: others use it up.
func (g *gauges) crowded(longer time.Duration) (wire.Dim, bool) {
	for i, d := range gaugeDims {
		if b := &g.of[i]; b.seen && b.low >= 0 && b.at-b.low > longer {
			return d, true
		}
	}
	return wire.Unnamed, false
}
