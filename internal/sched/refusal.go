package sched

import "time"

// verdict is what a refusal or failure means for the call.
type verdict uint8

const (
	noFault   verdict = iota // back to the front of its queue: a limit, or nobody's fault
	laneFault                // the same, but it was an error: no attempt of its own is used up
	ownFault                 // counts, and waits
	fatal                    // it settles errored
)

// onRefused takes an error answer in: classify, then act (facts/control.md B.6).
func (c *Core) onRefused(e *Refused) {
	i, a := c.att(e.Attempt)
	if a == nil {
		return
	}
	l, rf := a.lane, &e.Refusal
	l.advance(c.now)
	c.land(l, a)
	if !a.headed {
		c.undebit(l, a)
	}
	c.read(l, a, &e.Reading, !a.headed)
	cost, doubt := e.Cost, false
	if rf.Class == Unknown504 {
		cost, doubt = a.worst, true
	}
	v := c.judge(l, a, rf, &e.Reading)
	c.end(i, cost, doubt, v)
}

// judge acts on the lane, and says whose fault it was.
func (c *Core) judge(l *lane, a *attempt, rf *Refusal, rd *Reading) verdict {
	class := rf.Class
	if rf.Dim >= NumDims {
		rf.Named, rf.Dim = false, Requests
	}
	if class == RateLimited && rf.RetryAfter > 300*time.Second {
		class = Daily
	}
	if class == RateLimited && a.kind == parkProbe && a.park.class == Daily {
		class = Daily // it is still closed, whatever it says
	}
	class = min(class, NumClasses-1)
	l.refused[class]++
	if a.kind == parkProbe && !answers(class) {
		c.probeEnded(l, a, false)
	}
	switch class {
	case Invalid:
		c.alive(l, a)
		return fatal
	case Conflict:
		c.alive(l, a)
		return ownFault
	case NoModel:
		c.alive(l, a)
		l.deny(a.w.model)
		return noFault
	case Auth, Permission, Credit, Hold, Spend:
		c.close(l, &l.org.park, class, rf)
		return noFault
	case Daily:
		c.close(l, &l.park, Daily, rf)
		return noFault
	}
	c.fault(l)
	c.lost(l, a)
	v := noFault
	switch class {
	case RateLimited:
		c.limited(l, a, rf, rd)
	case Acceleration:
		c.accelerated(l, a, rf)
	case Concurrency:
		c.crowded(l, a)
	case Overloaded:
		c.overloaded(l, a, class, 0.12)
	case ServerError, Unknown504:
		c.overloaded(l, a, class, 0.25)
		if v = laneFault; l.okSent > a.sent {
			v = ownFault
		}
	}
	c.cool(l, class, rf.RetryAfter)
	return v
}

// answers says whether a class shows that the lane takes calls.
func answers(class Class) bool {
	return class == Invalid || class == NoModel || class == Conflict
}

// cool holds the lane for a retry-after: lengthened a little so that clients do
// not come back together, never shortened. It only ever says when to send
// again; no recovery waits for it to be over.
func (c *Core) cool(l *lane, class Class, retryAfter time.Duration) {
	why := LimitRetryAfter
	if class == Overloaded || class == ServerError || class == Unknown504 {
		why = LimitOverload
		if l.brake.m < 1 {
			retryAfter = max(retryAfter, 500*time.Millisecond)
		}
	}
	if retryAfter <= 0 {
		return
	}
	until := c.now + c.rng.longer(retryAfter, 0.1)
	if until > l.hold {
		l.hold, l.holdWhy = until, why
	}
	if retryAfter >= longHold && c.cfg.Ramp != RampOff && !l.alone.on {
		l.alone = alone{on: true}
	}
}

// fresh says that a refusal begins a new episode: the attempt was sent after
// the last cut. One cut an episode (B.6).
func (c *Core) fresh(l *lane, a *attempt) bool {
	if a.id <= l.cutAt {
		return false
	}
	l.cutAt = c.lastAtt
	return true
}

// overloaded brakes; above is the share of failures that a single one among
// many answers does not reach.
func (c *Core) overloaded(l *lane, a *attempt, class Class, above float64) {
	if a.epoch != l.epoch {
		return // it was under way when the machine slept
	}
	if l.brake.fail(c.now, c.lastAtt, above) {
		l.ramp.spoil() // a rare failure among many answers does not
		c.say(NoteBrake, l, class, 0, l.brake.m)
	}
}

func (l *lane) deny(model uint16) {
	if !l.denies(model) {
		l.denied = append(l.denied, model)
		l.pool.denials = true
	}
}

func (l *lane) denies(model uint16) bool {
	for _, m := range l.denied {
		if m == model {
			return true
		}
	}
	return false
}
