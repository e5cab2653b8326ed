package sched

import (
	"math"
	"time"
)

// setEndgame lets lanes spend what is stored once the rest of the work fits
// into it (facts/control.md B.4): seconds of tokens are not left behind. It
// gives the earliest time at which that may become so by refill alone.
func (c *Core) setEndgame(p *pool) time.Duration {
	first := Never
	n, in, out, known := c.remaining(p)
	for _, l := range p.lanes {
		was := l.endgame
		l.endgame = false
		if known {
			s := l.fits(n, in, out, len(p.lanes))
			if l.endgame = s <= 0; !l.endgame {
				first = min(first, after(c.now, max(span(s), minWait)))
			}
		}
		if was != l.endgame {
			c.openLane(l)
		}
	}
	return first
}

// remaining is the work left in the pool, in calls and tokens, and whether all
// of it is known.
func (c *Core) remaining(p *pool) (n, in, out float64, known bool) {
	for _, q := range p.queues {
		left := float64(q.n + q.aside)
		if left == 0 {
			continue
		}
		s := q.stream
		if !s.exhausted && (s.N == 0 || s.offered < s.N) {
			return 0, 0, 0, false
		}
		n += left
		if c.fill(q, 0); len(q.front) == 0 {
			continue
		}
		k := &c.calls[q.front[0]]
		in += left * float64(k.in)
		out += left * s.expectOut(&k.item)
	}
	return n, in, out, true
}

// fits is how many seconds it takes at least until the lane's stored tokens
// above the soft floor carry its part of the work left; 0: they do. Infinite
// where the bucket is too small for it.
func (l *lane) fits(n, in, out float64, lanes int) float64 {
	k := float64(lanes)
	if m := l.meanIn; m.n > 0 {
		in = max(in, n*m.v)
	}
	flow := float64(l.n) * l.rho()
	wait := 0.0
	for d, need := range [NumDims]float64{n / k, in / k, out/k + float64(l.n)*l.lat.out.v/2, (in + out) / k} {
		b := &l.b[d]
		if b.r == 0 || math.IsInf(b.cap, 1) || Dim(d) == Tokens && !b.binds {
			continue
		}
		switch h := b.above(); {
		case need <= h:
		case need > b.cap-b.soft.of(b.cap):
			return math.Inf(1)
		case Dim(d) == Output && !l.reserve:
			wait = max(wait, b.riseIn(need-h, flow))
		default:
			wait = max(wait, b.riseIn(need-h, 0))
		}
	}
	return wait
}
