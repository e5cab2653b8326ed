package sched

import (
	"math"
	"time"
)

// weight is what a call will draw from each dimension.
type weight struct {
	in     float64 // uncached input tokens, the estimate's learned bias included
	margin float64 // what the estimate may be short by
	out    float64 // expected output tokens
	maxOut float64
	model  uint16
}

// weigh estimates a call. Estimates are corrected by what its stream's calls
// turned out to be (B.2.6): 6 % at least, two standard deviations where known.
func (s *stream) weigh(it *item) weight {
	bias, dev := 0.0, 0.06
	if s.err.n >= 5 {
		bias = max(-0.5, min(2, s.err.v))
		dev = max(dev, 2*math.Sqrt(max(0, s.err2.v-s.err.v*s.err.v)))
	}
	in := float64(it.in) * (1 + bias)
	return weight{in: in, margin: min(dev, 1) * in, out: s.expectOut(it), maxOut: float64(it.maxOut), model: it.model}
}

// of is the weight in a dimension that is charged at dispatch.
func (w *weight) of(d Dim) (need, margin float64) {
	switch d {
	case Requests:
		return 1, 0
	case Input:
		return w.in, w.margin
	case Output:
		return w.maxOut, 0 // reserve mode
	}
	return w.in + w.out, w.margin
}

// laneGate asks whether the lane may take any call at all now: if not, which
// limit says so and when it may open by time alone.
func (c *Core) laneGate(l *lane) (Limit, time.Duration) {
	if l.paused {
		return LimitWork, Never
	}
	if p := l.parked(); p != nil {
		return c.parkGate(l, p)
	}
	if c.now < l.hold {
		return l.holdWhy, l.hold
	}
	if l.group.n >= l.group.cap {
		return LimitCap, Never
	}
	if c.thinned(l) {
		if why, at := c.thinGate(l); why != LimitNone {
			return why, at
		}
	}
	if l.alone.on && l.alone.flying != 0 && c.now < l.alone.since+aloneFor {
		return LimitRamp, l.alone.since + aloneFor
	}
	if l.brake.recover(c.now, &l.lat) {
		c.say(NoteBrake, l, Overloaded, 0, l.brake.m)
	}
	if l.aimd.grow(c.now, l.lat.round(), float64(l.group.cap), l.n) {
		c.say(NoteWindow, l, l.aimd.why, 0, min(l.aimd.w, float64(l.group.cap)))
	}
	c.stepRamp(l)
	n, why, at := c.window(l)
	l.win = n
	if float64(l.n+1) > n {
		return why, at
	}
	return c.brakeGate(l, n, at)
}

// brakeGate scales the window down in an overload. Where attempts from before
// it still fill that, one more may go as long as nothing sent since the brake
// last went down is in flight: the old ones are no evidence, and must not keep
// the one from going that would be.
func (c *Core) brakeGate(l *lane, n float64, wider time.Duration) (Limit, time.Duration) {
	if wider <= c.now {
		wider = Never // due, but not wanted: an unused ramp does not step
	}
	b := &l.brake
	if b.waits() && c.now < l.lastSend+proofFor {
		return LimitOverload, min(l.lastSend+proofFor, b.opens(&l.lat))
	}
	if b.m >= 1 || b.young == 0 || float64(l.n+1) <= n*b.m {
		return LimitNone, 0
	}
	return LimitOverload, min(wider, l.brake.opens(&l.lat))
}

// thinGate holds a lane whose retry budget is used up to single probes.
func (c *Core) thinGate(l *lane) (Limit, time.Duration) {
	short := 1 - l.rb.v
	if short <= 0 {
		short = 1 - l.pool.rb.v
	}
	refill := c.now + span(short/l.rb.perSec)
	if l.thin.flying {
		return LimitRetryBudget, refill
	}
	if c.now < l.thin.next {
		return LimitRetryBudget, min(refill, l.thin.next)
	}
	return LimitNone, 0
}

// itemGate asks whether a lane that is open takes this call now. It answers
// with the limit that will open last.
func (c *Core) itemGate(l *lane, w *weight) (Limit, time.Duration) {
	c.rollAccel(l)
	why, at := c.mirrorGate(l, w)
	if why != LimitNone {
		if live := c.liveness(l, w); live <= c.now {
			why, at = LimitNone, 0
		} else {
			at = min(at, live)
		}
	}
	if wait, t := c.accelGate(l, w); wait && t > at {
		why, at = LimitAcceleration, t
	}
	if !l.park.on { // its probe asks whether the day is still what we think
		if t := c.dayGate(l, w); t > c.now && t > at {
			why, at = LimitTPD, t
		}
	}
	return why, at
}

// mirrorGate is levels and pace.
func (c *Core) mirrorGate(l *lane, w *weight) (why Limit, at time.Duration) {
	block := func(limit Limit, s float64) {
		if t := after(c.now, max(span(s), minWait)); why == LimitNone || t > at {
			why, at = limit, t
		}
	}
	for d := range l.b {
		b := &l.b[d]
		if b.r == 0 {
			continue
		}
		if !l.paced(Dim(d)) {
			if Dim(d) == Output && b.under(b.hard) {
				block(LimitHardFloor, b.riseIn(b.hard.of(b.cap)-b.lvl, float64(l.n)*l.rho()))
			}
			continue
		}
		need, margin := w.of(Dim(d))
		if ok, s := b.levelFor(need, margin); !ok {
			block(b.floorName(Dim(d)), s)
		}
		if ok, s := b.creditFor(need, l.endgame); !ok {
			if b.top > 0 { // the ceiling may rise with the minute
				s = min(s, secs(c.minuteEnd(l.accel.minute)-c.now))
			}
			block(b.paceName(Dim(d)), s)
		}
	}
	return why, at
}

// minWait keeps Next from crawling towards a gate in ever smaller steps.
const minWait = 50 * time.Microsecond

var dimLimit = [NumDims]Limit{LimitRPM, LimitITPM, LimitOTPM, LimitTPM}

// paceName says what it is that paces: a learned ceiling, a floor, or plainly
// the refill of the dimension.
func (b *bucket) paceName(d Dim) Limit {
	switch {
	case b.top > 0 && b.top <= b.g*b.r:
		return LimitAcceleration
	case b.under(b.hard):
		return LimitHardFloor
	case b.under(b.soft):
		return LimitSoftFloor
	case b.g < 1:
		return LimitHidden
	}
	return dimLimit[d]
}

func (b *bucket) floorName(d Dim) Limit {
	if b.under(b.hard) {
		return LimitHardFloor
	}
	return dimLimit[d]
}

// liveness is when one call may go regardless of the mirror (B.2.8): nothing
// in flight, nothing sent or heard for five seconds. The readings themselves
// still count: where even without any colleague the bucket could not hold the
// call, sending it is a certain refusal and teaches nothing.
func (c *Core) liveness(l *lane, w *weight) time.Duration {
	if l.n > 0 {
		return Never
	}
	at := max(l.lastSend, l.lastRead) + c.cfg.BlindWait
	for d := range l.b {
		b := &l.b[d]
		if b.r == 0 || math.IsInf(b.cap, 1) || Dim(d) == Tokens && !b.binds {
			continue
		}
		need := 1.0
		if l.paced(Dim(d)) {
			need, _ = w.of(Dim(d))
		}
		if lvl := b.brightest(c.now); lvl < min(need, 0.95*b.cap) {
			at = max(at, after(c.now, span((min(need, 0.95*b.cap)-lvl)/b.r)))
		}
	}
	return at
}

// brightest is the level if nobody but us drew from the bucket since the
// newest reading.
func (b *bucket) brightest(now time.Duration) float64 {
	if b.anchor.id == 0 {
		return b.lvl
	}
	return min(b.cap, b.anchor.rem+b.r*secs(now-b.anchor.at)) - (b.cum - b.anchor.cum)
}
