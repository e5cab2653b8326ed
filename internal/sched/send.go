package sched

// send reserves, debits and asks for the exchange.
func (c *Core) send(l *lane, slot int32, w *weight, hedge bool) {
	_, a := c.newAttempt()
	k := &c.calls[slot]
	a.call, a.lane, a.sent, a.worst, a.w, a.hedge = slot, l, c.now, k.worst, *w, hedge
	a.epoch, a.tok, a.drain, a.seen = l.epoch, w.in+w.out, l.drain, c.now
	k.tries++
	k.flying++
	k.state = callFlying
	k.stream.flying++
	c.reserve(k.stream, k.worst)
	c.debit(l, a)
	a.kind = c.probeKind(l, a)
	c.stake(l, a)
	c.share(l.pool, k, w)
	l.lastSend, l.sentAny = c.now, true
	c.out.send(
		Persist{Call: k.id, Attempt: a.id, Lane: l.id, Worst: k.worst},
		Send{Call: k.id, Attempt: a.id, Lane: l.id, Try: int(k.tries), Hedge: hedge, Probe: a.kind != noProbe},
	)
}

// debit takes what an attempt will draw from mirror, pace and counts.
func (c *Core) debit(l *lane, a *attempt) {
	l.n++
	l.group.n++
	l.sent++
	l.brake.sent()
	l.peak = max(l.peak, l.n)
	l.ramp.peak, l.aimd.peak = max(l.ramp.peak, l.n), max(l.aimd.peak, l.n)
	l.maxOuts += a.w.maxOut
	l.day.flying += a.tok
	a.n = l.n
	a.reserved = l.reserve
	for d := range l.b {
		b := &l.b[d]
		if w := a.charged(Dim(d)); w != 0 {
			b.debit(w)
			b.credit = max(0, b.credit-w)
			b.want = 0
		}
		a.cum[d] = b.cum
	}
	l.accel.debit(&a.w, 1)
	l.rate.add(c.now, a.w.in)
	l.since.add(a.w.in, 1)
	for _, d := range [...]Dim{Requests, Input, Output} {
		if b := &l.b[d]; b.g < maxGain && b.growRate(c.now, c.own(l, d)) {
			c.say(NoteRate, l, 0, d, b.g)
		}
	}
}

func (c *Core) probeKind(l *lane, a *attempt) probeKind {
	if p := l.parked(); p != nil {
		p.flying, a.park = true, p
		return parkProbe
	}
	if c.thinned(l) {
		l.thin.flying = true
		return thinProbe
	}
	if l.alone.sent(a.id, c.now) {
		return firstProbe
	}
	return noProbe
}

// share books a send for the fairness between streams and priorities.
func (c *Core) share(p *pool, k *call, w *weight) {
	n := work(&k.item, w.out)
	pr := k.stream.Priority
	p.vtime[pr] = max(p.vtime[pr], k.stream.vtime)
	k.stream.vtime += n / k.stream.Weight
	p.owed[pr] = max(0, p.owed[pr]-n)
	for low := range pr {
		p.owed[low] = min(p.owed[low]+owedShare*n, 2*owedTurn)
	}
	c.shareRivals(p, pr, n)
}
