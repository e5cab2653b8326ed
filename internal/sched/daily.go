package sched

import (
	"math"
	"time"
)

// day is our own use of a lane in the last 24 hours, by the minute, and the
// rolling cap on it where one is known or was learned (facts/control.md B.6
// and the head of that page).
type day struct {
	limit   float64 // tokens; 0: none known
	learned bool    // from refusals: no margin is needed, for it is what we had used
	bins    []float64
	at      int64 // number of the newest minute
	sum     float64
	flying  float64 // expected of attempts in flight
	stopped bool
	since   time.Duration
	reopens time.Duration
}

const (
	dayMinutes = 24 * 60
	dayShare   = 0.90 // of a known cap is used: its own refusals are never met
	dayLearned = 0.97 // of a learned one
)

// minuteOf numbers minutes so that those before now = 0 have numbers too.
func minuteOf(t time.Duration) int64 { return int64((t + 48*time.Hour) / time.Minute) }

func startOf(minute int64) time.Duration {
	return time.Duration(minute)*time.Minute - 48*time.Hour
}

func (y *day) open(cfg LaneConfig, now time.Duration) {
	y.bins = make([]float64, dayMinutes+1)
	y.at = minuteOf(now)
	if y.limit = float64(cfg.TokensPerDay); y.limit == 0 {
		y.limit, y.learned = float64(cfg.HintPerDay), cfg.HintPerDay > 0
	}
	for _, u := range cfg.DayUse {
		for i := range int64(10) {
			if m := minuteOf(u.Start) + i; m > y.at-dayMinutes && m <= y.at {
				y.bin(m, float64(u.Tokens)/10)
			}
		}
	}
}

func (y *day) bin(minute int64, n float64) {
	y.bins[minute%(dayMinutes+1)] += n
	y.sum += n
}

// turn forgets minutes that left the window. A minute counts until its last
// second has left.
func (y *day) turn(now time.Duration) {
	m := minuteOf(now)
	if m-y.at > dayMinutes {
		clear(y.bins)
		y.sum, y.at = 0, m
	}
	for ; y.at < m; y.at++ {
		b := &y.bins[(y.at+1)%(dayMinutes+1)]
		y.sum -= *b
		*b = 0
	}
}

func (y *day) use(now time.Duration, n float64) {
	y.turn(now)
	y.bin(y.at, n)
}

func (y *day) allowed() float64 {
	switch {
	case y.limit <= 0:
		return math.Inf(1)
	case y.learned:
		return dayLearned * y.limit
	}
	return dayShare * y.limit
}

// struck takes a first refusal by the cap in: what we had used then is what it
// is, as far as we can see.
func (y *day) struck() bool {
	if used := y.sum + y.flying; used > 0 && (y.limit == 0 || y.learned) {
		y.limit, y.learned = used, true
		return true
	}
	return false
}

// opened says that a probe got through. Where our own use alone still reaches
// the learned cap, it was others' use that had filled it, and nothing of the
// kind is known any more.
func (y *day) opened() {
	if y.learned && y.sum+y.flying > y.allowed() {
		y.limit, y.learned = 0, false
	}
	y.stopped = false
}

// reopening is when enough of our own use leaves the window for calls to go
// again; 0: cannot tell.
func (y *day) reopening(now time.Duration) time.Duration {
	y.turn(now)
	if y.limit <= 0 || y.sum <= 0 {
		return 0
	}
	return y.falls(now, y.allowed())
}

// falls is when the use falls below to, by age alone.
func (y *day) falls(now time.Duration, to float64) time.Duration {
	left := y.sum + y.flying
	for m := y.at - dayMinutes; m <= y.at; m++ {
		if left <= to {
			return max(now, startOf(m+dayMinutes))
		}
		left -= y.bins[m%(dayMinutes+1)]
	}
	if left <= to {
		return startOf(y.at + dayMinutes + 1)
	}
	return Never
}

// dayGate is when a call of weight w may go by the cap; 0 where it may now. A
// lane that stopped comes back with room for more than one call.
func (c *Core) dayGate(l *lane, w *weight) time.Duration {
	y := &l.day
	if y.limit <= 0 {
		return 0
	}
	y.turn(c.now)
	to := y.allowed() - w.in - w.out
	if y.stopped {
		to = min(to, y.allowed()-0.01*y.limit)
	}
	if y.sum+y.flying <= to {
		if y.stopped {
			y.stopped = false
			c.sayUntil(NoteReopened, l, Daily, 0)
		}
		return 0
	}
	at := y.falls(c.now, to)
	if !y.stopped && y.sum > to {
		y.stopped, y.since = true, c.now
		c.sayUntil(NoteParked, l, Daily, at)
	}
	y.reopens = at
	if y.learned && y.stopped {
		return c.doubt(l, at)
	}
	return at
}

// doubt has a learned cap that stopped the lane for half an hour asked about: it
// is only what we had used when it was met, and others' use may have been in it.
func (c *Core) doubt(l *lane, at time.Duration) time.Duration {
	ask := l.day.since + dailyGapMax
	if c.now >= ask {
		l.park = park{on: true, class: Daily, since: l.day.since, until: at, probe: c.now, gap: dailyGapMax}
		return 0 // the call at hand is the probe
	}
	return min(at, ask)
}
