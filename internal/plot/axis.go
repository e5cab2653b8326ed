package plot

import (
	"fmt"
	"math"
)

// Axis is one direction of a panel. The zero value is linear, runs over what the
// layers hold, and from zero where they come near it.
type Axis struct {
	Label    string   // what is measured and in what unit; in lower case, as in a sentence
	Log      bool     // logarithmic: values must be positive
	Unit     Unit     // how values are written; the zero value writes plain numbers
	Names    []string // not empty: the value i stands for Names[i], first on the left or on top
	Min, Max float64  // the range; both 0: what the layers hold, with a little air
	Zero     bool     // the range takes in 0 (not with Log); bars do so by themselves
}

// span is a range of values; empty while lo is above hi.
type span struct{ lo, hi float64 }

func nothing() span { return span{math.Inf(1), math.Inf(-1)} }

func (s span) empty() bool { return s.lo > s.hi }

func (s *span) see(values ...float64) {
	for _, v := range values {
		if !math.IsNaN(v) {
			s.lo, s.hi = min(s.lo, v), max(s.hi, v)
		}
	}
}

// reach is what the layers of a panel hold in each direction.
type reach struct {
	x, y         span
	zeroX, zeroY bool    // a bar stands on 0
	inset        float64 // pixels that what stands beside its value needs at both ends of the horizontal axis
	level        bool    // the vertical axis has names: intervals, bars and boxes lie along the horizontal
}

// along is the direction of intervals, bars and boxes.
func (r *reach) along() *span {
	if r.level {
		return &r.x
	}
	return &r.y
}

// across is the other.
func (r *reach) across() *span {
	if r.level {
		return &r.y
	}
	return &r.x
}

// most keeps the arithmetic of ranges far from overflow.
const most = 1e100

// check says what cannot be drawn on the axis.
func (a *Axis) check(seen span) error {
	if len(a.Names) > 0 {
		return nil
	}
	if a.Min > a.Max || math.IsNaN(a.Min) || math.IsNaN(a.Max) || math.IsInf(a.Min, 0) || math.IsInf(a.Max, 0) {
		return fmt.Errorf("axis %q runs from %g to %g", a.Label, a.Min, a.Max)
	}
	if !seen.empty() && max(-seen.lo, seen.hi) > most {
		return fmt.Errorf("axis %q: a value is infinite, or as good as", a.Label)
	}
	if a.Log && (seen.lo <= 0 || a.ranged() && a.Min <= 0) {
		return fmt.Errorf("axis %q is logarithmic, but a value is %g", a.Label, min(seen.lo, a.Min))
	}
	return nil
}

func (a *Axis) ranged() bool { return a.Min != 0 || a.Max != 0 }

// scale is the axis over a range, before it has a place.
func (a *Axis) scale(seen span, zero bool) scale {
	switch {
	case len(a.Names) > 0:
		return scale{span: span{-.5, float64(len(a.Names)) - .5}}
	case a.ranged():
		return scale{span: span{a.Min, a.Max}, log: a.Log}.opened()
	case seen.empty():
		return scale{span: span{1, 10}, log: a.Log}
	case a.Log:
		return logScale(seen)
	default:
		return linearScale(seen, zero || a.Zero)
	}
}

// logScale leaves a twentieth of air on both sides, and is never so narrow that
// it holds no round number.
func logScale(seen span) scale {
	lo, hi := math.Log10(seen.lo), math.Log10(seen.hi)
	if room := .5 - (hi - lo); room > 0 {
		lo, hi = lo-room/2, hi+room/2
	}
	air := (hi - lo) * .05
	return scale{span: span{math.Pow(10, lo-air), math.Pow(10, hi+air)}, log: true}
}

// linearScale begins at 0 where the values come down to less than two fifths of
// their highest: from there on a cut axis would exaggerate more than it shows.
func linearScale(seen span, zero bool) scale {
	lo, hi := seen.lo, seen.hi
	if zero || lo >= 0 && lo < .4*hi {
		lo, hi = min(lo, 0), max(hi, 0)
	}
	air := (hi - lo) * .06
	if lo != 0 {
		lo -= air
	}
	if hi != 0 {
		hi += air
	}
	return scale{span: span{lo, hi}}.opened()
}

// scale maps values to pixels: lo at from, hi at to.
type scale struct {
	span
	log      bool
	from, to float64
}

// opened keeps a range of one value from dividing by zero.
func (s scale) opened() scale {
	if s.lo < s.hi {
		return s
	}
	if s.log {
		s.lo, s.hi = s.lo/2, s.hi*2
		return s
	}
	by := max(math.Abs(s.lo)*.1, 1)
	s.lo, s.hi = s.lo-by, s.hi+by
	return s
}

// share is where a value lies between lo (0) and hi (1).
func (s *scale) share(v float64) float64 {
	if s.log {
		return math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	}
	return (v - s.lo) / (s.hi - s.lo)
}

func (s *scale) pixel(v float64) float64 { return s.from + s.share(v)*(s.to-s.from) }

func (s *scale) holds(v float64) bool { return v >= s.lo*(1-1e-9)-1e-12 && v <= s.hi*(1+1e-9)+1e-12 }
