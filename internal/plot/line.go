package plot

// Point is a place by its values. A coordinate that is NaN is a gap.
type Point struct{ X, Y float64 }

// Line joins points in their order.
type Line struct {
	Points []Point
	Label  string // its name, written beside it
	Ink    Ink
	Dashed bool // what is expected, fitted or promised, not measured
	Step   bool // each value holds until the next
	Fine   bool // thin, for many lines or for what stands behind others
}

func (l Line) see(r *reach) {
	for _, p := range l.Points {
		r.x.see(p.X)
		r.y.see(p.Y)
	}
}

func (l Line) tails() []tail {
	if len(l.Points) == 0 {
		return nil
	}
	return []tail{{l.Points[len(l.Points)-1].X, l.Label}}
}

func (l Line) draw(a *area) {
	p := paint{stroke: l.Ink.line(), width: 2.2}
	if l.Fine {
		p.width = 1.2
	}
	if l.Dashed {
		p.dash = []float64{6, 4}
	}
	places := l.places(a)
	for _, run := range runs(places) {
		a.polyline(run, p)
	}
	a.askAlong(l.Label, l.Ink, places)
}

func (l Line) places(a *area) []pt {
	var out []pt
	for i, p := range l.Points {
		at := a.at(p.X, p.Y)
		if l.Step && i > 0 {
			out = append(out, pt{at.x, out[len(out)-1].y})
		}
		out = append(out, at)
	}
	return out
}

// Interval is a range of y at one x.
type Interval struct{ X, Low, High float64 }

// Band fills what lies between two lines: a range of predictions, quantiles.
type Band struct {
	Intervals []Interval
	Label     string
	Ink       Ink
}

func (b Band) see(r *reach) {
	for _, v := range b.Intervals {
		r.x.see(v.X)
		r.y.see(v.Low, v.High)
	}
}

func (b Band) tails() []tail { return nil }

func (b Band) draw(a *area) {
	var upper, around []pt
	for _, v := range b.Intervals {
		upper = append(upper, a.at(v.X, v.High))
	}
	around = append(around, upper...)
	for i := len(b.Intervals) - 1; i >= 0; i-- {
		around = append(around, a.at(b.Intervals[i].X, b.Intervals[i].Low))
	}
	if len(around) > 2 {
		a.polygon(around, paint{fill: b.Ink.veil(.18)})
	}
	a.askAlong(b.Label, b.Ink, upper)
}
