package sched

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
