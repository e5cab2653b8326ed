package plot

import "math"

// Reading is a measured point with its interval, which lies along the vertical
// axis, or along the horizontal one where the vertical has names. Low and High
// both 0: none is drawn; nor is one that its mark covers.
type Reading struct{ X, Y, Low, High float64 }

// Dots are measured points.
type Dots struct {
	Readings []Reading
	Label    string
	Ink      Ink
	Mark     Mark
	Hollow   bool // refused, provisional: what differs from its neighbours in kind
	Joined   bool // a thin line leads from one to the next
}

func (d Dots) see(r *reach) {
	for _, v := range d.Readings {
		r.x.see(v.X)
		r.y.see(v.Y)
		if v.interval() {
			r.along().see(v.Low, v.High)
		}
	}
}

func (v Reading) interval() bool { return v.Low != 0 || v.High != 0 }

func (d Dots) tails() []tail {
	if len(d.Readings) == 0 {
		return nil
	}
	return []tail{{d.Readings[len(d.Readings)-1].X, d.Label}}
}

func (d Dots) draw(a *area) {
	places := make([]pt, len(d.Readings))
	for i, v := range d.Readings {
		places[i] = a.at(v.X, v.Y)
	}
	if d.Joined {
		for _, run := range runs(places) {
			a.polyline(run, paint{stroke: d.Ink.line(), width: 1.1})
		}
	}
	radius := d.radius()
	for _, v := range d.Readings {
		if !v.interval() {
			continue
		}
		if from, to := a.ends(v); math.Hypot(to.x-from.x, to.y-from.y) > 2*radius+3 {
			a.whisker(from, to, d.Ink)
		}
	}
	for _, p := range places {
		a.dot(p, radius, d)
	}
	a.askAlong(d.Label, d.Ink, places)
}

// radius is smaller where there are many marks.
func (d Dots) radius() float64 {
	if len(d.Readings) > 40 {
		return 2.7
	}
	return 4.2
}

// ends are where a reading's interval begins and ends.
func (a *area) ends(v Reading) (from, to pt) {
	if len(a.panel.Y.Names) > 0 {
		return a.at(v.Low, v.Y), a.at(v.High, v.Y)
	}
	return a.at(v.X, v.Low), a.at(v.X, v.High)
}
