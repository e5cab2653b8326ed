package plot

import "math"

// Box sums up a distribution: the middle half as a box, the median as a line in
// it, Low and High (the caller says which quantiles, in the subtitle) as
// whiskers.
type Box struct {
	At                        float64 // which name, or the value on an axis of numbers
	Low, Q1, Median, Q3, High float64
}

// Boxes lie along the vertical axis, or along the horizontal one where the
// vertical has names.
type Boxes struct {
	Boxes []Box
	Label string
	Ink   Ink
	Shift float64 // in pixels across: series at one place stand beside each other
}

func (b Boxes) see(r *reach) {
	if !r.level {
		r.inset = max(r.inset, math.Abs(b.Shift)+boxHalf+4)
	}
	for _, v := range b.Boxes {
		r.across().see(v.At)
		r.along().see(v.Low, v.Q1, v.Median, v.Q3, v.High)
	}
}

func (b Boxes) tails() []tail {
	if len(b.Boxes) == 0 {
		return nil
	}
	return []tail{{b.Boxes[len(b.Boxes)-1].At, b.Label}}
}

// boxHalf is half the width of a box in pixels.
const boxHalf = 9.0

func (b Boxes) draw(a *area) {
	var medians []pt
	for _, v := range b.Boxes {
		a.whisker(a.shifted(v.At, v.Low, b.Shift), a.shifted(v.At, v.Q1, b.Shift), b.Ink)
		a.whisker(a.shifted(v.At, v.Q3, b.Shift), a.shifted(v.At, v.High, b.Shift), b.Ink)
		from, to := a.shifted(v.At, v.Q1, b.Shift-boxHalf), a.shifted(v.At, v.Q3, b.Shift+boxHalf)
		r := rect{min(from.x, to.x), min(from.y, to.y), max(from.x, to.x), max(from.y, to.y)}
		a.polygon(r.corners(), paint{fill: b.Ink.over(.25), stroke: b.Ink.line(), width: 1.4})
		a.marks = append(a.marks, marked{r, b.Ink})
		a.polyline([]pt{a.shifted(v.At, v.Median, b.Shift-boxHalf), a.shifted(v.At, v.Median, b.Shift+boxHalf)},
			paint{stroke: b.Ink.line(), width: 2.6})
		medians = append(medians, a.shifted(v.At, v.Median, b.Shift+boxHalf))
	}
	a.askAlong(b.Label, b.Ink, medians)
}

// shifted is a place by its values, moved across the boxes by pixels.
func (a *area) shifted(across, along, by float64) pt {
	p := a.lying(across, along)
	if len(a.panel.Y.Names) > 0 {
		p.y += by
	} else {
		p.x += by
	}
	return p
}
