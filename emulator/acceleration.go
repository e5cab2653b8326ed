package emulator

import (
	"math"
	"time"
)

// acceleration is the limit on growth of input use (facts/control.md D).
type acceleration struct {
	Acceleration
	limit  float64 // tokens a minute
	first  float64
	ceil   float64 // additive: of this wall minute
	minute int64
	used   float64 // in this wall minute
	fast   float64 // ratio: tokens a second, EWMA over 10 s
	slow   float64 // over 60 s
	at     time.Duration
	off    bool
}

func newAcceleration(a Acceleration, inputLimit int64) acceleration {
	s := acceleration{Acceleration: a, limit: float64(inputLimit)}
	if a.Kind == "" || inputLimit <= 0 {
		s.off = true
		return s
	}
	if a.First == 0 {
		s.First = 0.1
	}
	if a.Step == 0 {
		s.Step = 10_000
	}
	if a.Ratio == 0 {
		s.Ratio = 1.5
	}
	if a.Text == "" {
		s.Text = "none"
		if a.Kind == "additive" {
			s.Text = "numbers"
		}
	}
	s.first = s.First * s.limit
	s.ceil = s.first
	return s
}

// roll moves to the wall minute, or lets the averages fade.
func (s *acceleration) roll(now time.Duration, minute int64) {
	if s.Kind == "additive" {
		s.rollMinutes(minute)
		return
	}
	dt := (now - s.at).Seconds()
	if dt > 0 {
		s.fast *= math.Exp(-dt / 10)
		s.slow *= math.Exp(-dt / 60)
		s.at = now
	}
}

func (s *acceleration) rollMinutes(minute int64) {
	for s.minute < minute && !s.off {
		s.minute++
		s.ceil = s.next()
		idle := s.used == 0
		s.used = 0
		s.off = s.ceil >= s.limit
		if idle && s.ceil == s.first {
			s.minute = minute // nothing changes any more
		}
	}
}

// next is the ceiling of the following minute: the step is earned by using at
// least 0.3 of the present one.
func (s *acceleration) next() float64 {
	if s.used >= 0.3*s.ceil {
		return min(s.limit, s.ceil+float64(s.Step))
	}
	return max(s.first, s.ceil-float64(s.Step))
}

func (s *acceleration) fits(w float64) bool {
	if s.Kind == "additive" {
		// A request above the whole ceiling passes in a fresh minute, or it
		// never would.
		return s.used+w <= s.ceil || s.used == 0
	}
	return s.fast+w/10 <= s.first/60+s.Ratio*s.slow || s.fast < 1
}

func (s *acceleration) take(w float64) {
	if s.Kind == "additive" {
		s.used += w
		return
	}
	s.fast += w / 10
	s.slow += w / 60
}
