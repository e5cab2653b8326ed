package sched

import "time"

// tokens is a retry budget (facts/control.md B.7): refused and failed attempts
// take from it, time and successes give back. It never goes below zero: a
// burst of refusals must not freeze a lane for the minutes it would take to
// pay them off.
type tokens struct {
	v, most, perSec float64
	at              time.Duration
}

func newTokens(perMinute float64) tokens {
	most := max(perMinute, 1)
	return tokens{v: most, most: most, perSec: perMinute / 60}
}

func (t *tokens) level(now time.Duration) float64 {
	if now > t.at {
		t.v = min(t.most, t.v+t.perSec*secs(now-t.at))
		t.at = now
	}
	return t.v
}

func (t *tokens) add(now time.Duration, n float64) {
	t.v = max(0, min(t.most, t.level(now)+n))
}

// thinning is what is left of a lane whose budget is used up: single probes,
// a second apart at first, 15 s at most.
type thinning struct {
	gap    time.Duration
	next   time.Duration
	flying bool
}

func (t *thinning) reset() { *t = thinning{gap: time.Second} }

func (t *thinning) fail(now time.Duration) {
	t.next = now + t.gap
	t.gap = min(t.gap*3/2, 15*time.Second)
}

// thinned says whether the lane is down to single probes: its own budget is
// used up, or it fails and the pool's is.
func (c *Core) thinned(l *lane) bool {
	if l.rb.level(c.now) < 1 {
		return true
	}
	return l.failing() && l.pool.rb.level(c.now) < 1
}

// failing says that the lane's attempts mostly fail, or that so many in a row
// were refused that the next will be, too.
func (l *lane) failing() bool { return l.brake.share > 0.3 || l.inRow >= refusedInRow }

// refusedInRow is how many refusals without an answer between them show that a
// lane is shut, whatever the refusals say.
const refusedInRow = 5

// stake takes from the budgets what an attempt of a failing lane will cost if
// it fails, too, so that lanes that share a budget do not each spend its last
// token; it is given back when the attempt lands.
func (c *Core) stake(l *lane, a *attempt) {
	if l.failing() && a.kind == noProbe {
		a.staked = true
		l.rb.add(c.now, -1)
		l.pool.rb.add(c.now, -1)
	}
}

func (c *Core) unstake(l *lane, a *attempt) {
	if a.staked {
		a.staked = false
		l.rb.add(c.now, 1)
		l.pool.rb.add(c.now, 1)
	}
}

// fault takes a refused or failed attempt from the budgets.
func (c *Core) fault(l *lane) {
	l.inRow++
	l.rb.add(c.now, -1)
	l.pool.rb.add(c.now, -1)
}

func (c *Core) good(l *lane) {
	l.inRow = 0
	l.rb.add(c.now, c.cfg.perSuccess)
	l.pool.rb.add(c.now, c.cfg.perSuccess)
}

// backoff is the wait after a call's own k-th failure, k from 1: full jitter
// (interface.md).
func (c *Core) backoff(k int32) time.Duration {
	d := c.cfg.BaseDelay
	for ; k > 1 && d < c.cfg.MaxDelay; k-- {
		d *= 2
	}
	return c.rng.upTo(min(d, c.cfg.MaxDelay))
}

func (t *thinning) success(c *Core, l *lane, probe bool) {
	if probe {
		t.flying = false
		l.rb.add(c.now, 3)
		l.pool.rb.add(c.now, 3)
	}
	t.gap = time.Second
	t.next = 0
}
