package sched

// onDone settles a call with a complete answer.
func (c *Core) onDone(e *Done) {
	i, a := c.att(e.Attempt)
	if a == nil {
		return
	}
	l := a.lane
	l.advance(c.now)
	c.land(l, a)
	if !a.headed {
		c.read(l, a, &e.Reading, false)
	}
	c.use(l, a, &e.Usage)
	c.alive(l, a)
	c.begun(a)
	c.good(l)
	l.succeeded++
	l.org.succeeded = true
	l.lastOK, l.okSent = c.now, max(l.okSent, a.sent)
	l.streak = streak{}
	l.thin.success(c, l, a.kind == thinProbe)
	if !a.headed {
		l.brake.taken(a.id)
	}
	l.lat.add(c.now, secs(c.now-a.sent), float64(e.Usage.Output))
	k := &c.calls[a.call]
	if !k.ended {
		k.ended, k.outcome, k.stands = true, Succeeded, a.id
	}
	c.charge(k.stream, a.worst, e.Cost)
	k.cost += e.Cost
	k.stream.cost.add(float64(e.Cost), 100)
	k.stream.spent += e.Cost
	c.finish(i)
}

// use corrects estimates by what the answer says it used (B.2.6).
func (c *Core) use(l *lane, a *attempt, u *Usage) {
	in := float64(u.Input + u.CacheWrite)
	out := float64(u.Output)
	l.b[Input].debit(in - a.w.in)
	l.b[Tokens].debit(in + out - a.w.in - a.w.out)
	if l.reserve && a.reserved {
		l.b[Output].debit(out - a.w.maxOut)
	} else if !l.reserve {
		l.b[Output].debit(out - c.produced(l, a))
	}
	l.meanIn.add(in, 40)
	l.day.use(c.now, in+out)
	k := &c.calls[a.call]
	k.stream.out.add(out, 50)
	if k.in > 0 && u.CacheRead == 0 {
		r := in/float64(k.in) - 1
		k.stream.err.add(r, 100)
		k.stream.err2.add(r*r, 100)
	}
}

// alive says that the lane took the attempt, whatever it answered.
func (c *Core) alive(l *lane, a *attempt) {
	l.alone.heard(a.id)
	if a.kind == parkProbe {
		c.probeEnded(l, a, true)
	}
}

// probeEnded ends the single try of a parked lane or org.
func (c *Core) probeEnded(l *lane, a *attempt, ok bool) {
	p := a.park
	if p == nil || !p.flying {
		return
	}
	p.flying = false
	c.bat.dirty = true
	if ok {
		c.reopen(l, p)
	} else {
		p.probe = max(p.probe, c.now+max(p.gap, dailyGap))
	}
}

// lost says that an attempt got no answer that shows the lane open.
func (c *Core) lost(l *lane, a *attempt) {
	l.alone.lost(a.id)
	if a.kind == thinProbe {
		l.thin.fail(c.now)
	}
}

// land takes an attempt out of what is in flight on its lane.
func (c *Core) land(l *lane, a *attempt) {
	l.n--
	l.group.n--
	l.brake.landed(a.id)
	c.unstake(l, a)
	l.maxOuts -= a.w.maxOut
	l.day.flying -= a.tok
	if a.kind == thinProbe {
		l.thin.flying = false
	}
}

// undebit takes back what a refused or unsent attempt was charged.
func (c *Core) undebit(l *lane, a *attempt) {
	for d := range l.b {
		if w := a.charged(Dim(d)); w != 0 {
			l.b[d].debit(-w)
		}
	}
	if !a.reserved {
		l.b[Output].debit(-c.produced(l, a))
	}
	l.accel.debit(&a.w, -1)
	l.since.add(a.w.in, -1)
}

// charged is what dispatch debited in a dimension.
func (a *attempt) charged(d Dim) float64 {
	if d == Output && !a.reserved {
		return 0
	}
	n, _ := a.w.of(d)
	return n
}
