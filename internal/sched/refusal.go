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
	l.refused[min(rf.Class, NumClasses-1)]++
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
	if class == RateLimited && rf.RetryAfter > 300*time.Second {
		class = Daily
	}
	if class == RateLimited && a.kind == parkProbe && a.park.class == Daily {
		class = Daily // it is still closed, whatever it says
	}
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
		if v = laneFault; l.lastOK > a.sent {
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

// limited tells a plain 429's cause from the mirror: explicit words first, then
// what the headers show.
func (c *Core) limited(l *lane, a *attempt, rf *Refusal, rd *Reading) {
	if c.daily(l, a, rf) {
		return
	}
	if !rf.Named {
		c.unnamed(l, a, rd)
		return
	}
	d := rf.Dim
	b := &l.b[d]
	rem := b.left(d, rd)
	switch {
	case d == Output && rd.knows(d) && !l.reserve && rem > 1000 && rem < a.w.maxOut:
		c.reserveOn(l, rem)
	case b.r == 0 || b.blind:
		l.hidden++
		c.cutBlind(l, a, d)
	case rem > max(0.05*b.cap, l.needs(d, &a.w)):
		l.hidden++
		c.cutHidden(l, a, d)
	default:
		c.steady(l, a, d, rem)
	}
}

func (rd *Reading) knows(d Dim) bool { return rd.Known&(1<<d) != 0 }

// left is what remained in the bucket when the refusal was made.
func (b *bucket) left(d Dim, rd *Reading) float64 {
	if rd.knows(d) {
		return rd.Remaining[d]
	}
	return b.lvl
}

func (l *lane) needs(d Dim, w *weight) float64 {
	if !l.paced(d) {
		return 0
	}
	n, _ := w.of(d)
	return n
}

// unnamed looks for a dimension that is short; where all have room it is
// either the rhythm (we were near the request limit) or the growth.
func (c *Core) unnamed(l *lane, a *attempt, rd *Reading) {
	known := false
	for d := range l.b {
		b := &l.b[d]
		if b.r == 0 || b.blind || Dim(d) == Tokens && !b.binds {
			continue
		}
		known = true
		if rem := b.left(Dim(d), rd); rem < max(1, l.needs(Dim(d), &a.w)) {
			c.steady(l, a, Dim(d), rem)
			return
		}
	}
	switch {
	case !known:
		l.hidden++
		c.cutBlind(l, a, Requests)
		c.cutBlind(l, a, Input)
	case l.rate.per(c.now, Requests) > 0.9*l.b[Requests].r && l.b[Requests].r > 0:
		l.hidden++
		c.cutHidden(l, a, Requests)
	default:
		l.accelSilent++
		c.slowGrowth(l, a)
	}
}

// steady: a published limit is used up, and the mirror did not know.
func (c *Core) steady(l *lane, a *attempt, d Dim, rem float64) {
	l.steady++
	b := &l.b[d]
	b.lvl = min(b.lvl, max(rem, 0))
	c.cutWindow(l, a, d)
}

func (c *Core) cutWindow(l *lane, a *attempt, d Dim) {
	l.ramp.spoil()
	if c.fresh(l, a) {
		l.aimd.cut(a.n, float64(l.group.cap))
		l.aimd.why, l.aimd.round = RateLimited, c.now
		c.say(NoteWindow, l, RateLimited, d, l.aimd.w)
	}
}

// cutHidden: the headers show room, so the limit that refused is another one:
// it shows as a rate, which is remembered.
func (c *Core) cutHidden(l *lane, a *attempt, d Dim) {
	if !c.fresh(l, a) || !l.since.told(c.now, &l.rate) {
		return
	}
	b := &l.b[d]
	f := min(b.g, max(max(c.own(l, d), l.since.per(c.now, d))/b.r, 0.25*b.g))
	l.since.restart(c.now)
	b.cutRate(c.now, 0.85*f, f)
	c.say(NoteRate, l, RateLimited, d, b.g)
}

// cutBlind does the same where the refill itself is not known: what we sent
// becomes the measure, once that was more than chance; before that only the
// window learns.
func (c *Core) cutBlind(l *lane, a *attempt, d Dim) {
	b := &l.b[d]
	f := l.since.per(c.now, d)
	if l.rate.enough(c.now) {
		f = max(f, c.own(l, d))
	}
	if f <= 0 {
		if !l.since.on {
			l.since.restart(c.now)
		}
		c.cutWindow(l, a, d)
		return
	}
	if b.r > 0 && (a.id <= l.cutAt || !l.since.told(c.now, &l.rate)) {
		return
	}
	if b.blind {
		f = min(max(f, 0.25*b.g*b.r), b.g*b.r)
	}
	l.cutAt = c.lastAtt
	l.since.restart(c.now)
	b.r, b.blind = f, true
	b.g = maxGain
	b.cutRate(c.now, 0.85, 1)
	c.say(NoteRate, l, RateLimited, d, b.g)
}

func (c *Core) own(l *lane, d Dim) float64 {
	if d == Output {
		return float64(l.n+1) * l.rho()
	}
	return l.rate.per(c.now, d)
}

// slowGrowth: usage rose too fast, without numbers. No memory of a plateau:
// the ceiling rises with use.
func (c *Core) slowGrowth(l *lane, a *attempt) {
	l.ramp.spoil()
	if !c.fresh(l, a) || !l.since.told(c.now, &l.rate) {
		return
	}
	l.since.restart(c.now)
	for _, d := range [...]Dim{Requests, Input} {
		if b := &l.b[d]; b.r > 0 {
			b.cutRate(c.now, 0.8*c.own(l, d)/b.r, 0)
			c.say(NoteRate, l, Acceleration, d, b.g)
		}
	}
}

func (c *Core) accelerated(l *lane, a *attempt, rf *Refusal) {
	if rf.CeilingNow > 0 && rf.CeilingNext >= rf.CeilingNow {
		c.tellAccel(l, rf)
		return
	}
	c.slowGrowth(l, a)
}

// crowded: the server counts connections; the window remembers where.
func (c *Core) crowded(l *lane, a *attempt) {
	l.ramp.spoil()
	if c.fresh(l, a) {
		l.aimd.cut(a.n, float64(l.group.cap))
		l.aimd.fail = float64(a.n)
		l.aimd.why, l.aimd.round, l.aimd.slowAt = Concurrency, c.now, c.now
		c.say(NoteWindow, l, Concurrency, 0, l.aimd.w)
	}
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

// streak counts refusals that only a cap on the day explains: alone, each after
// its retry-after, while the headers show plenty (B.6, DAILY). A short outage
// of a limiter looks the same, so it must last; without headers, longer.
type streak struct {
	n     int
	began time.Duration
	until time.Duration // end of the last one's retry-after
}

const (
	streakLong  = 4
	streakFor   = 30 * time.Second
	streakBlind = 2 * time.Minute
)

func (c *Core) daily(l *lane, a *attempt, rf *Refusal) bool {
	s := &l.streak
	least := streakFor
	for _, d := range [...]Dim{Requests, Input} {
		switch b := &l.b[d]; {
		case !b.armed:
			least = streakBlind
		case b.lvl < 0.5*b.cap:
			return false
		}
	}
	if l.n > 0 || rf.RetryAfter <= 0 {
		return false
	}
	if a.sent >= s.until {
		if s.n++; s.n == 1 {
			s.began = c.now
		}
	}
	s.until = max(s.until, c.now+rf.RetryAfter)
	if s.n < streakLong || c.now-s.began < least {
		return false
	}
	*s = streak{}
	c.close(l, &l.park, Daily, rf)
	return true
}
