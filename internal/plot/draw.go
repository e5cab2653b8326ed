package plot

// at is the place of a value.
func (a *area) at(x, y float64) pt { return pt{a.x.pixel(x), a.y.pixel(y)} }

// inside says whether a place lies in the plot.
func (a *area) inside(p pt) bool {
	return p.x >= a.x0-.5 && p.x <= a.x1+.5 && p.y >= a.y0-.5 && p.y <= a.y1+.5
}

// polyline draws what of a line lies in the plot; labels will go round it.
func (a *area) polyline(points []pt, p paint) {
	for _, piece := range clipLine(points, a.rect) {
		a.scene.draw(shape{points: piece, paint: p})
		for i := 1; i < len(piece); i++ {
			a.lines = append(a.lines, [2]pt{piece[i-1], piece[i]})
		}
	}
}

// polygon fills what of an area lies in the plot.
func (a *area) polygon(points []pt, p paint) {
	a.scene.draw(shape{points: clipPolygon(points, a.rect), closed: true, paint: p})
}

// whisker draws an interval between two places, with caps across it.
func (a *area) whisker(from, to pt, ink Ink) {
	across := pt{4, 0}
	if from.y == to.y {
		across = pt{0, 4}
	}
	p := paint{stroke: ink.line(), width: 1.4}
	a.polyline([]pt{from, to}, p)
	r := rect{min(from.x, to.x), min(from.y, to.y), max(from.x, to.x), max(from.y, to.y)}
	a.marks = append(a.marks, marked{r.grown(2), ink})
	for _, e := range [...]pt{from, to} {
		if a.inside(e) {
			a.scene.draw(shape{points: []pt{{e.x - across.x, e.y - across.y}, {e.x + across.x, e.y + across.y}}, paint: p})
		}
	}
}

// runs splits places at gaps.
func runs(points []pt) [][]pt {
	var out [][]pt
	var run []pt
	for _, p := range points {
		if !p.isPlace() {
			if len(run) > 0 {
				out = append(out, run)
			}
			run = nil
			continue
		}
		run = append(run, p)
	}
	if len(run) > 0 {
		out = append(out, run)
	}
	return out
}
