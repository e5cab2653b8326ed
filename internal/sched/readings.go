package sched

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
	c.begun(a)
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
