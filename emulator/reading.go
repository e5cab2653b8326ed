package emulator

import (
	"math"
	"time"
)

// Reading is one set of limit headers (facts/claude-api.md 3.3).
type Reading struct {
	Known bool // false: the response carries none
	// Shown has bit 1<<d set for each dimension that has a limit.
	Shown     uint8
	Limit     [NumDims]int64
	Remaining [NumDims]int64 // tokens rounded to the nearest thousand
	// Reset is the instant of full replenishment on the model's time line,
	// floored to a whole second of the wall clock.
	Reset [NumDims]time.Duration
	// Skew is how far Date and Reset are off, as the client sees them.
	Skew time.Duration
}

func (r *Reading) set(d Dim, limit, remaining float64, reset time.Duration) {
	r.Shown |= 1 << d
	r.Limit[d] = int64(math.Round(limit))
	r.Reset[d] = reset
	if d == Requests {
		r.Remaining[d] = int64(math.Floor(max(0, remaining)))
		return
	}
	r.Remaining[d] = int64(math.Round(max(0, remaining)/1000)) * 1000
}

// read stamps the lane's headers at now.
func (m *Model) read(l *lane, k key, now time.Duration, r *Reading) {
	f := l.org.Headers
	if f.Missing || k.chance(drawHeaders, f.Drop) {
		*r = Reading{}
		return
	}
	if l.stale.Known && k.chance(drawStale, f.Stale) {
		*r = l.stale
		return
	}
	*r = Reading{Known: true, Skew: f.DateSkew}
	factor := f.Factor
	if factor == 0 {
		factor = 1
	}
	show := func(d Dim, b *bucket) {
		if !b.limited() {
			return
		}
		level, full := b.level, now+b.fullIn()
		if f.Constant {
			level, full = b.limit, now
		}
		r.set(d, b.limit*factor, level*factor, m.WholeSecond(full))
	}
	for d := Requests; d <= Output; d++ {
		show(d, &l.dims[d])
	}
	if l.workspace.limited() {
		show(Tokens, &l.workspace)
	} else {
		r.sum()
	}
	if f.Stale > 0 {
		l.stale = *r
	}
}

// sum fills the combined headers where no workspace limit applies.
func (r *Reading) sum() {
	const both = 1<<Input | 1<<Output
	if r.Shown&both != both {
		return
	}
	r.Shown |= 1 << Tokens
	r.Limit[Tokens] = r.Limit[Input] + r.Limit[Output]
	r.Remaining[Tokens] = r.Remaining[Input] + r.Remaining[Output]
	r.Reset[Tokens] = max(r.Reset[Input], r.Reset[Output])
}

// WholeSecond floors an instant of the model's time line to a whole second of
// the wall clock, as Date and reset headers do.
func (m *Model) WholeSecond(at time.Duration) time.Duration {
	past := (at + m.frac) % time.Second
	if past < 0 {
		past += time.Second
	}
	return at - past
}
