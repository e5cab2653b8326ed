package sched

import "time"

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
