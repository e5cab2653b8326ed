package sched

import (
	"math"
	"time"
)

// ramp is the ceiling of a fresh lane (facts/control.md B.5): a quarter of the
// cap, doubled every 30 s as long as it is used and nothing is refused.
type ramp struct {
	g    float64 // attempts; +Inf: over
	at   time.Duration
	peak int
	bad  bool
}

// idle is how long without a send makes a lane fresh again.
const idle = 60 * time.Second

// startRamp begins anew; hint is the ceiling of an earlier run, of which half
// is taken, and never more than twice a fresh start.
func (l *lane) startRamp(c *Core, hint float64) {
	if c.cfg.Ramp == RampOff {
		l.ramp, l.alone = ramp{g: math.Inf(1)}, alone{}
		return
	}
	g := max(1, c.cfg.start*float64(l.group.cap))
	if hint > 0 {
		g = min(max(g, hint/2), 2*g)
	}
	l.ramp = ramp{g: g, at: c.now}
	l.alone = alone{on: true}
}

// stepRamp doubles the ceiling when its time has come.
func (c *Core) stepRamp(l *lane) {
	r := &l.ramp
	if l.n == 0 && l.sentAny && c.now-l.lastSend > idle {
		alone := l.alone
		l.startRamp(c, 0)
		l.alone = alone
	}
	if math.IsInf(r.g, 1) || c.now-r.at < c.cfg.step {
		return
	}
	if r.bad {
		r.at, r.bad, r.peak = c.now, false, l.n
		return
	}
	if float64(r.peak) < math.Floor(0.8*min(r.g, l.aimd.w)) {
		return // unused: it steps as soon as it is needed
	}
	r.g *= 2
	r.at, r.peak = c.now, l.n
	if r.g >= float64(l.group.cap) {
		r.g = math.Inf(1)
	}
	c.say(NoteRamp, l, 0, 0, min(r.g, float64(l.group.cap)))
}

// spoil keeps the ramp from stepping in this round.
func (r *ramp) spoil() { r.bad = true }
