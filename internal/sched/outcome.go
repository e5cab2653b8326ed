package sched

import "time"

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
	c.good(l)
	l.succeeded++
	l.org.succeeded = true
	l.lastOK = c.now
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

// produced is how much output the mirror has charged for an attempt so far.
func (c *Core) produced(l *lane, a *attempt) float64 { return a.out + l.drain - a.drain }

// onProgress replaces the fluid estimate of an attempt's output by the truth.
func (c *Core) onProgress(e *Progress) {
	_, a := c.att(e.Attempt)
	if a == nil {
		return
	}
	l := a.lane
	l.advance(c.now)
	l.gap.add(secs(c.now-a.seen), 100)
	a.seen = c.now
	if !l.reserve {
		l.b[Output].debit(float64(e.Out) - c.produced(l, a))
	}
	a.out, a.drain = float64(e.Out), l.drain
}

func (c *Core) onHeaders(e *Headers) {
	_, a := c.att(e.Attempt)
	if a == nil || a.headed {
		return
	}
	a.headed, a.seen = true, c.now
	a.lane.advance(c.now)
	c.read(a.lane, a, &e.Reading, false)
	a.lane.alone.heard(a.id)
	a.lane.brake.taken(a.id)
}

// read feeds a reading to the mirror. That of a refusal shows the buckets
// without the refused call.
func (c *Core) read(l *lane, a *attempt, rd *Reading, refused bool) {
	l.lastRead = c.now
	if rd.Known == 0 {
		return
	}
	before := l.b[Output].lvl
	for d := range l.b {
		if !rd.knows(Dim(d)) {
			continue
		}
		cum := a.cum[d]
		if refused {
			cum -= a.charged(Dim(d))
		}
		l.b[d].read(a, c.now, Dim(d), rd.Limit[d], rd.Remaining[d], rd.ResetIn[d], cum)
	}
	l.combine()
	l.col = false
	for d := range l.b {
		l.col = l.col || l.b[d].colNow > 0
	}
	c.checkReserve(l, before)
	c.noteColleagues(l)
}

// combine says whether the combined limit tells anything of its own: without a
// workspace limit it is the sum of the two others (facts/claude-api.md 3.3).
func (l *lane) combine() {
	t, in, out := &l.b[Tokens], &l.b[Input], &l.b[Output]
	t.binds = t.lim > 0 && (in.lim == 0 || out.lim == 0 || t.lim < 0.99*(in.lim+out.lim))
}

func (c *Core) noteColleagues(l *lane) {
	for d := range l.b {
		b := &l.b[d]
		if b.r == 0 || Dim(d) == Tokens && !b.binds {
			continue
		}
		if x := min(1, b.col/b.r); x >= l.saidCol[d]+0.1 || x <= l.saidCol[d]-0.1 {
			l.saidCol[d] = x
			c.say(NoteColleague, l, 0, Dim(d), x)
		}
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

// onFailed takes an attempt without an answer in.
func (c *Core) onFailed(e *Failed) {
	i, a := c.att(e.Attempt)
	if a == nil {
		return
	}
	l := a.lane
	l.advance(c.now)
	c.land(l, a)
	if e.Failure == NotSent {
		c.undebit(l, a)
	} else if !a.headed {
		c.read(l, a, &e.Reading, false)
	}
	if e.Failure != Aborted && e.Failure != ReusedReset {
		l.failed++
	}
	v := c.blame(l, a, e.Failure)
	if e.Failure == NotSent {
		c.end(i, 0, false, v)
	} else {
		c.end(i, a.worst, true, v)
	}
}

// maxResets of reused connections in a row are nobody's fault; more are the lane's.
const maxResets = 8

// blame decides whose fault a failure is: the call's only where others were
// answered on the lane meanwhile (interface.md).
func (c *Core) blame(l *lane, a *attempt, f Failure) verdict {
	k := &c.calls[a.call]
	switch {
	case f == Aborted:
		l.alone.lost(a.id)
		c.probeLost(l, a)
		return noFault
	case f == ReusedReset && k.resets < maxResets:
		k.resets++
		l.alone.lost(a.id)
		c.probeLost(l, a)
		return noFault
	}
	c.lost(l, a)
	c.probeLost(l, a)
	if a.epoch != l.epoch {
		return noFault
	}
	c.fault(l)
	c.overloaded(l, a, ServerError, 0.25)
	c.cool(l, ServerError, 0)
	if l.lastOK > a.sent {
		return ownFault
	}
	return laneFault
}

func (c *Core) probeLost(l *lane, a *attempt) {
	if a.kind == parkProbe {
		c.probeEnded(l, a, false)
	}
	if a.kind == thinProbe {
		l.thin.flying = false
	}
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

// land takes an attempt out of what is in flight on its lane.
func (c *Core) land(l *lane, a *attempt) {
	l.n--
	l.group.n--
	l.brake.landed(a.id)
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

// end books an attempt that settles nothing by itself, and decides what
// becomes of its call.
func (c *Core) end(i int32, cost int64, doubt bool, v verdict) {
	a := &c.attempts[i]
	k := &c.calls[a.call]
	c.charge(k.stream, a.worst, cost)
	k.cost += cost
	if doubt {
		k.doubts++
	}
	if !k.ended && !k.withdrawn {
		k.stands = a.id
	}
	switch v {
	case fatal:
		if !k.ended {
			k.ended, k.outcome, k.stands = true, Errored, a.id
		}
	case ownFault:
		k.own++
		k.lame, k.resets = 0, 0
	case laneFault:
		if k.lame++; k.lame == 1 {
			k.firstLame = c.now
		}
		k.resets = 0
	}
	k.wait = v == ownFault || v == laneFault && doubt
	c.finish(i)
}

// Calls that fail alone: where nobody else is answered, a call that fails for
// an hour, ten times at least, is given up.
const (
	lameTries = 10
	lameFor   = time.Hour
)

// finish frees an attempt, and settles its call or lets it go on.
func (c *Core) finish(i int32) {
	a := &c.attempts[i]
	slot := a.call
	k := &c.calls[slot]
	k.flying--
	k.stream.flying--
	c.freeAttempt(i)
	switch {
	case k.flying > 0:
		if k.ended {
			c.abortAll(slot)
		}
		return
	case k.ended:
		c.settleCall(slot, k.outcome)
	case k.withdrawn:
		c.settleCall(slot, Canceled)
	case k.dropped || k.stream.closed:
		c.freeCall(slot) // forgotten: it stays pending in the journal
	case k.own >= int32(c.cfg.MaxAttempts), k.lame >= lameTries && c.now-k.firstLame >= lameFor:
		c.settleCall(slot, Errored)
	case k.wait:
		c.await(slot, c.backoff(k.own+k.lame))
	default:
		c.requeue(slot)
	}
}

// abortAll asks for a call's attempts in flight to be cancelled.
func (c *Core) abortAll(slot int32) {
	for i := range c.attempts {
		if a := &c.attempts[i]; a.id != 0 && a.call == slot && !a.abort {
			a.abort = true
			c.out.abort(a.id)
		}
	}
}

func (c *Core) settleCall(slot int32, o Outcome) {
	k := &c.calls[slot]
	k.stream.settled++
	s := Settle{
		Call: k.id, Attempt: k.stands, Outcome: o,
		Attempts: int(k.tries), Cost: k.cost, InDoubt: int(k.doubts),
	}
	if o == Canceled || o == OverBudget {
		s.Attempt = 0
	}
	c.out.settle(s)
	c.freeCall(slot)
}
