package sched

import "time"

// park is a lane, or a whole org, that takes no calls until a probe succeeds:
// daily caps, spend limits, keys and accounts (facts/control.md B.6).
type park struct {
	on     bool
	class  Class
	since  time.Duration
	until  time.Duration // known or predicted reopening; 0: unknown; Never: a person must act
	probe  time.Duration // when a single call may try; Never: none may
	gap    time.Duration
	flying bool // the probe
}

// parked is what closes the lane, or nil.
func (l *lane) parked() *park {
	switch {
	case l.org.park.on:
		return &l.org.park
	case l.park.on:
		return &l.park
	}
	return nil
}

// Gaps between probes of what is parked.
const (
	dailyGap    = 30 * time.Second // doubled up to 30 min
	dailyGapMax = 30 * time.Minute
	spendGap    = time.Hour
	accountGap  = 5 * time.Minute // doubled up to an hour, and only where a call once succeeded
)

func parkLimit(class Class) Limit {
	if class == Daily {
		return LimitTPD
	}
	return LimitRetryAfter
}

func (c *Core) parkGate(l *lane, p *park) (Limit, time.Duration) {
	switch {
	case p.flying:
		return parkLimit(p.class), Never
	case c.now < p.probe:
		return parkLimit(p.class), p.probe
	case l.group.n >= l.group.cap:
		return LimitCap, Never
	}
	return LimitNone, 0
}

// close parks what p is of for class, or puts off its next probe.
func (c *Core) close(l *lane, p *park, class Class, rf *Refusal) {
	c.bat.dirty = true
	again := p.on && p.class == class
	if !again {
		*p = park{on: true, class: class, since: c.now}
		if class == Daily {
			if l.day.struck() {
				c.say(NoteDailyLearned, l, Daily, Tokens, l.day.limit)
			}
			l.unlearnRates()
		}
	}
	switch class {
	case Daily:
		c.planDaily(l, p, again, rf.RetryAfter)
	case Spend:
		p.until, p.probe = rf.ReopensAt, rf.ReopensAt+c.rng.upTo(10*time.Second)
		if rf.ReopensAt <= c.now {
			p.until, p.probe = 0, c.now+c.rng.around(spendGap, 0.1)
		}
	default:
		p.planAccount(c, l.org.succeeded)
	}
	if !again {
		c.sayUntil(NoteParked, l, class, p.until)
	}
}

func (p *park) planAccount(c *Core, succeeded bool) {
	if !succeeded {
		p.until, p.probe = Never, Never
		return
	}
	p.until = 0 // by a probe, no sooner known
	p.gap = min(max(accountGap, 2*p.gap), time.Hour)
	p.probe = c.now + c.rng.around(p.gap, 0.1)
}

// planDaily sets the next probe of a daily cap: on a widening schedule, but
// also when our own ledger says that the first use leaves the window.
func (c *Core) planDaily(l *lane, p *park, again bool, retryAfter time.Duration) {
	p.gap = min(max(dailyGap, 2*p.gap), dailyGapMax)
	p.probe = c.now + max(c.rng.around(p.gap, 0.2), c.rng.longer(retryAfter, 0.1))
	p.until = l.day.reopening(c.now)
	if p.until > c.now && p.until < p.probe && p.until >= c.now+retryAfter {
		p.probe = p.until
	}
}

// reopen ends a park after a probe succeeded.
func (c *Core) reopen(l *lane, p *park) {
	c.bat.dirty = true
	class := p.class
	*p = park{}
	lanes := l.org.lanes
	if p == &l.park {
		lanes = nil
		c.restart(l, class)
	}
	for _, o := range lanes {
		c.restart(o, class)
	}
	c.sayUntil(NoteReopened, l, class, 0)
}

func (c *Core) restart(l *lane, class Class) {
	l.startRamp(c, 0)
	l.alone = alone{}
	if class == Daily {
		l.day.opened()
		l.aimd.w, l.aimd.why, l.aimd.round = 2, Daily, c.now
	}
	l.hold = min(l.hold, c.now)
}

// unlearnRates forgets ceilings that were cut since about the last success: the
// refusals that taught them turned out to be a daily cap.
func (l *lane) unlearnRates() {
	for d := range l.b {
		if b := &l.b[d]; b.g < maxGain && b.cutAt >= l.lastOK-10*time.Second {
			b.g, b.gFail = maxGain, 0
		}
	}
}
