package sched

import (
	"math"
	"time"
)

// pace is the rate at which to send, in units per second: proportional to the
// mirrored level above the soft floor, so that n processes on one bucket each
// get the same share of it without a message between them (facts/control.md
// B.4). Below the hard floor nothing flows.
func (b *bucket) pace(endgame bool) float64 {
	top := b.ceiling()
	if endgame || math.IsInf(b.cap, 1) {
		return top
	}
	if b.lvl <= b.hard.of(b.cap) {
		return 0
	}
	return max(0, min(max(b.above()/b.tau(), b.sigma*b.r), top))
}

// flow is what pace lets through while the level goes evenly from one value to
// another within dt seconds. It is exact, so that it does not matter how often
// anyone looks.
func (b *bucket) flow(from, to, dt float64) float64 {
	if rise := to - from; math.Abs(rise) > 1e-9*b.cap {
		return (b.flowBelow(to) - b.flowBelow(from)) / rise * dt
	}
	return b.pace(false) * dt
}

// flowBelow is the integral of pace over the level, up to a level.
func (b *bucket) flowBelow(lvl float64) float64 {
	top, tau := b.ceiling(), b.tau()
	least := min(b.sigma*b.r, top)
	hard, soft := b.hard.of(b.cap), b.soft.of(b.cap)
	if lvl <= hard {
		return 0
	}
	bend := max(hard, soft+least*tau) // from here on the level is what counts
	full := max(bend, soft+top*tau)   // and from here on the ceiling
	area := least * (min(lvl, bend) - hard)
	if lvl > bend {
		x := min(lvl, full)
		area += ((x+bend)/2 - soft) / tau * (x - bend)
	}
	if lvl > full {
		area += top * (lvl - full)
	}
	return area
}

// above is the level over the soft floor; +Inf for a bucket whose capacity is
// not known.
func (b *bucket) above() float64 {
	if math.IsInf(b.cap, 1) {
		return b.cap
	}
	return b.lvl - b.soft.of(b.cap)
}

// under says whether the level is at or below a floor.
func (b *bucket) under(f floor) bool {
	return !math.IsInf(b.cap, 1) && b.lvl <= f.of(b.cap)
}

// ceiling is g times the refill, and what acceleration allows.
func (b *bucket) ceiling() float64 {
	u := b.g * b.r
	if b.top > 0 {
		u = min(u, b.top)
	}
	return u
}

func (b *bucket) tau() float64 { return min(5, 0.5*b.cap/b.r) }

// creditCap bounds how much may go at once after a pause.
func (b *bucket) creditCap(u float64) float64 {
	burst := 0.5
	if b.g < maxGain {
		burst = 0.1 // a rate that was refused is not burst into
	}
	return max(b.want, burst*u)
}

// creditFor says whether a call of weight w may go by pace, and if not, when
// at the earliest: never later than it really may, whatever ticks come between.
func (b *bucket) creditFor(w float64, endgame bool) (bool, float64) {
	if b.r == 0 || endgame && b.g >= maxGain && b.top == 0 {
		return true, 0
	}
	if b.credit >= w*(1-1e-6)-1e-9 || b.cum == 0 {
		return true, 0 // the first of all waits for nothing
	}
	b.want = w
	return false, b.creditIn(w-b.credit, endgame)
}

// creditIn is a lower bound of the seconds until need more credit is there:
// the level can rise by r a second at most.
func (b *bucket) creditIn(need float64, endgame bool) float64 {
	top := b.ceiling()
	if top <= 0 {
		return math.Inf(1)
	}
	floor := need / top
	if endgame || math.IsInf(b.cap, 1) {
		return floor
	}
	h, tau := b.above(), b.tau()
	if b.lvl >= b.cap {
		return max(floor, need/b.pace(false))
	}
	wait := 0.0
	if under := b.hard.of(b.cap) - b.lvl; under > 0 && h < 0 {
		wait, h = under/b.r, h+under // nothing flows below the hard floor
	}
	if base := b.sigma * b.r; h < base*tau {
		t := (base*tau - h) / b.r // until the level is what sets the rate
		if base*t >= need {
			return max(floor, wait+need/base)
		}
		need, wait, h = need-base*t, wait+t, base*tau
	}
	u, slope := h/tau, b.r/tau
	return max(floor, wait+(math.Sqrt(u*u+2*slope*need)-u)/slope)
}

// levelFor says whether the mirrored level can carry a call of weight w above
// the hard floor, margin being what the estimate may be short by. A call of
// nearly the whole bucket waits until it is nearly full.
func (b *bucket) levelFor(w, margin float64) (bool, float64) {
	if b.r == 0 || math.IsInf(b.cap, 1) {
		return true, 0
	}
	need := w + margin + b.hard.of(b.cap)
	if need > 0.9*b.cap {
		need = min(need, 0.97*b.cap)
	}
	if b.lvl >= need-1e-9*b.cap {
		return true, 0
	}
	return false, b.riseIn(need-b.lvl, 0)
}

// riseIn is a lower bound of the seconds until the level has risen by up,
// while drain tokens a second flow out.
func (b *bucket) riseIn(up, drain float64) float64 {
	net := b.r - drain
	if b.colNow > 0 && b.lvl >= 0 { // below zero none of them gets through
		net -= 0.9 * b.colNow // it fades by a tenth within the second
		if net <= 0 || up/net > 1 {
			return 1
		}
	}
	if net <= 0 {
		return math.Inf(1)
	}
	return up / net
}

// Growth of g (B.6): quick up to just below where it last failed, then slow.
const (
	gStep     = 0.03
	gSlow     = 0.003
	gInterval = 5 * time.Second
	gPatience = 45.0 // seconds without a refusal that double the slow step: limits may be lifted
	gMost     = 0.25
)

// growRate lets a learned ceiling recover while it is what binds.
func (b *bucket) growRate(now time.Duration, own float64) bool {
	if b.g >= maxGain || now-b.gAt < gInterval {
		return false
	}
	b.gAt = now
	if own < 0.5*b.g*b.r {
		return false
	}
	if b.gFail == 0 {
		b.g = min(maxGain, b.g+gStep)
		return true
	}
	if near := 0.97 * b.gFail; b.g < near {
		b.g = min(near, b.g+gStep)
	} else {
		clean := secs(now-b.cutAt) / gPatience
		b.g += min(gMost, gSlow*(1+clean*clean*clean))
		if b.blind && b.g >= maxGain { // there is no refill to be a multiple of
			b.r, b.g, b.gFail = b.r*b.g, 1, b.gFail/b.g
		}
		b.g = min(maxGain, b.g)
	}
	return true
}

// cutRate lowers the ceiling to g, remembering fail (0: no memory).
func (b *bucket) cutRate(now time.Duration, g, fail float64) {
	b.g = max(0.01, min(b.g, g))
	b.gFail = fail
	b.gAt, b.cutAt = now, now
	b.credit = min(b.credit, 0)
}
