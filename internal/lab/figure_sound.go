package lab

import (
	"math"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

var notANumber = math.NaN()

// sound leaves out of a figure what cannot stand on its axes, so that one odd
// number of a result does not cost the whole figure: NaN and infinities, and on
// logarithmic axes 0 and less. Intervals that reach down there end at a hundredth
// of their value.
func sound(f *plot.Figure) {
	for i := range f.Panels {
		p := &f.Panels[i]
		s := standing{logX: p.X.Log, logY: p.Y.Log, level: len(p.Y.Names) > 0}
		kept := make([]plot.Layer, 0, len(p.Layers))
		for _, l := range p.Layers {
			if l = s.layer(l); l != nil {
				kept = append(kept, l)
			}
		}
		if p.Layers = kept; len(kept) == 0 {
			title := p.Title
			*p = blank("nothing that could be drawn")
			p.Title = title
		}
		if len(p.X.Names) > 0 && p.X.Names[0] == "" { // blank: it has no range to share
			f.SameX, f.SameY = false, false
		}
	}
}

// standing is what values can stand on the axes of a panel; level as in
// plot.Reading: intervals lie along the horizontal axis.
type standing struct{ logX, logY, level bool }

func stands(v float64, log bool) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!log || v > 0)
}

func (s standing) x(v float64) bool { return stands(v, s.logX) }
func (s standing) y(v float64) bool { return stands(v, s.logY) }

// interval mends the ends of an interval around a value.
func (s standing) interval(v, low, high float64) (float64, float64) {
	log := s.logY
	if s.level {
		log = s.logX
	}
	if low == 0 && high == 0 {
		return 0, 0
	}
	if log && low <= 0 {
		low = v / 100
	}
	if !stands(low, log) || !stands(high, log) {
		return 0, 0
	}
	return min(low, v), max(high, v)
}

func (s standing) layer(l plot.Layer) plot.Layer {
	switch l := l.(type) {
	case plot.Dots:
		var kept []plot.Reading
		for _, r := range l.Readings {
			if s.x(r.X) && s.y(r.Y) {
				v := r.Y
				if s.level {
					v = r.X
				}
				r.Low, r.High = s.interval(v, r.Low, r.High)
				kept = append(kept, r)
			}
		}
		if l.Readings = kept; len(kept) == 0 {
			return nil
		}
		return l
	case plot.Line:
		var kept []plot.Point
		any := false
		for _, p := range l.Points {
			if !s.x(p.X) || !s.y(p.Y) {
				p = plot.Point{X: notANumber, Y: notANumber} // a gap
			} else {
				any = true
			}
			kept = append(kept, p)
		}
		if l.Points = kept; !any {
			return nil
		}
		return l
	case plot.Band:
		var kept []plot.Interval
		for _, i := range l.Intervals {
			if s.x(i.X) && s.y(i.Low) && s.y(i.High) {
				kept = append(kept, i)
			}
		}
		if l.Intervals = kept; len(kept) < 2 {
			return nil
		}
		return l
	case plot.Rule:
		if log := map[bool]bool{true: s.logX, false: s.logY}[l.Upright]; !stands(l.At, log) {
			return nil
		} else if (l.Low != 0 || l.High != 0) && (!stands(l.Low, log) || !stands(l.High, log)) {
			l.Low, l.High = 0, 0
		}
		return l
	case plot.Note:
		if !s.x(l.X) || !s.y(l.Y) {
			return nil
		}
		return l
	case plot.Bars:
		var kept []plot.Bar
		for _, b := range l.Bars {
			if s.x(b.To) && s.y(b.To) && stands(b.From, false) {
				b.Low, b.High = s.interval(b.To, b.Low, b.High)
				kept = append(kept, b)
			}
		}
		if l.Bars = kept; len(kept) == 0 {
			return nil
		}
		return l
	}
	return l
}
