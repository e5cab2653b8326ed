package sched

import "time"

// accel is a ceiling on growth that a refusal told in numbers: so much per
// wall-clock minute, and so much more the next (facts/control.md B.6).
type accel struct {
	dim    Dim
	rate   float64 // units a minute; 0: no ceiling known
	inc    float64
	floor  float64
	minute int64
	used   float64
}

const (
	accelShare = 0.97            // of the ceiling is used
	accelKeep  = 0.3             // of it must be used for it to rise
	accelSkew  = 1 * time.Second // our minutes begin later than the server's, whose clock is not ours
)

func (c *Core) wallMinute(t time.Duration) int64 {
	return int64((t + c.cfg.minute - accelSkew + time.Minute) / time.Minute)
}

func (c *Core) minuteEnd(m int64) time.Duration {
	return time.Duration(m)*time.Minute - c.cfg.minute + accelSkew
}

// tell takes the numbers of a refusal in: nothing more this minute.
func (c *Core) tellAccel(l *lane, rf *Refusal) {
	a := &l.accel
	d := Input
	if rf.Named && rf.Dim == Requests {
		d = Requests
	}
	l.b[a.dim].top = 0
	a.dim, a.rate = d, rf.CeilingNow
	a.inc = max(0, rf.CeilingNext-rf.CeilingNow)
	if a.floor == 0 {
		a.floor = rf.CeilingNow
	}
	a.minute = c.wallMinute(c.now)
	a.used = a.rate
	l.b[d].top = 1.2 * rf.CeilingNext / 60
}

// roll brings the ceiling to the running minute.
func (c *Core) rollAccel(l *lane) {
	a := &l.accel
	if a.rate == 0 {
		return
	}
	m := c.wallMinute(c.now)
	for ; a.minute < m && a.rate > 0; a.minute++ {
		if a.used >= accelKeep*a.rate {
			a.rate += a.inc
		} else {
			a.rate = max(a.floor, a.rate-a.inc)
			if a.rate == a.floor {
				a.minute = m - 1
			}
		}
		a.used = 0
		l.b[a.dim].top = 1.2 * a.rate / 60
	}
	if b := &l.b[a.dim]; a.rate > 0 && b.lim > 0 && a.rate >= b.lim {
		b.top = 0
		l.accel = accel{}
	}
}

// accelGate says whether the minute's budget is used up, and until when.
func (c *Core) accelGate(l *lane, w *weight) (bool, time.Duration) {
	a := &l.accel
	if a.rate == 0 {
		return false, 0
	}
	n, _ := w.of(a.dim)
	if left := accelShare*a.rate - a.used; n <= left || a.used == 0 {
		return false, 0
	}
	return true, c.minuteEnd(a.minute)
}

func (a *accel) debit(w *weight, sign float64) {
	if a.rate > 0 {
		n, _ := w.of(a.dim)
		a.used = max(0, a.used+sign*n)
	}
}
