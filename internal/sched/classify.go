package sched

// limited tells a plain 429's cause from the mirror: explicit words first, then
// what the headers show.
func (c *Core) limited(l *lane, a *attempt, rf *Refusal, rd *Reading) {
	if c.daily(l, a, rf) {
		l.refused[RateLimited]-- // it is counted as what it was judged to be
		l.refused[Daily]++
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

// crowded: the server counts connections; the window remembers where.
func (c *Core) crowded(l *lane, a *attempt) {
	l.ramp.spoil()
	if c.fresh(l, a) {
		l.aimd.strike(c.now, a.n, float64(l.group.cap))
		c.say(NoteWindow, l, Concurrency, 0, l.aimd.w)
	}
}
