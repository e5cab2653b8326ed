package plot

// Rule is a straight line across the plot at one value: a limit, a knee, what
// was predicted. Low and High both 0: it has no range.
type Rule struct {
	At        float64
	Low, High float64
	Upright   bool // at a value of the horizontal axis
	Label     string
	Ink       Ink
	Dashed    bool // a limit or a prediction, not a measurement
}

func (l Rule) see(r *reach) {
	along := &r.y
	if l.Upright {
		along = &r.x
	}
	along.see(l.At)
	if l.Low != 0 || l.High != 0 {
		along.see(l.Low, l.High)
	}
}

func (l Rule) tails() []tail { return nil }

func (l Rule) draw(a *area) {
	if l.Low != 0 || l.High != 0 {
		from, _ := l.across(a, l.Low)
		_, to := l.across(a, l.High)
		a.polygon(rect{from.x, from.y, to.x, to.y}.corners(), paint{fill: l.Ink.veil(.16)})
	}
	p := paint{stroke: l.Ink.line(), width: 1.5}
	if l.Dashed {
		p.dash = []float64{7, 4}
	}
	from, to := l.across(a, l.At)
	a.polyline([]pt{from, to}, p)
	a.askRule(l, from, to)
}

// across are the ends of the line at a value.
func (l Rule) across(a *area, v float64) (from, to pt) {
	if l.Upright {
		x := a.x.pixel(v)
		return pt{x, a.y0}, pt{x, a.y1}
	}
	y := a.y.pixel(v)
	return pt{a.x0, y}, pt{a.x1, y}
}

// Note is a remark about a place in the plot.
type Note struct {
	X, Y float64
	Text string
	Ink  Ink
	Ring bool // a circle around the place
}

func (n Note) see(r *reach) {
	r.x.see(n.X)
	r.y.see(n.Y)
}

func (n Note) tails() []tail { return nil }

func (n Note) draw(a *area) {
	at := a.at(n.X, n.Y)
	if n.Ring && a.inside(at) {
		a.scene.draw(shape{points: []pt{at}, radius: 8, paint: paint{stroke: n.Ink.line(), width: 1.6}})
		a.marks = append(a.marks, marked{rect{at.x, at.y, at.x, at.y}.grown(9), n.Ink})
	}
	a.askAround(n.Text, n.Ink, at)
}
