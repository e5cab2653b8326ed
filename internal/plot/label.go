package plot

// labelWidth is where labels inside a plot are wrapped, in pixels.
const labelWidth = 200.0

// askAlong wants the name of a series: right of its last point, else beside
// another of its points.
func (a *area) askAlong(text string, ink Ink, places []pt) {
	var seen []pt
	for _, p := range places {
		if a.inside(p) {
			seen = append(seen, p)
		}
	}
	if text == "" || len(seen) == 0 {
		return
	}
	last := seen[len(seen)-1]
	k := ask{ink: ink, bold: true}
	room := labelWidth
	if a.x1-last.x < .14*a.width() {
		room = a.beyond() - 8
		k.spots = aside(last)
	}
	k.lines = balanced(text, labelSize, true, room)
	for i := len(seen) - 1; i >= 0; i -= max(1, len(seen)/24) {
		k.spots = append(k.spots, around(seen[i], 8, 12+20*float64(len(seen)-1-i)/float64(len(seen)))...)
	}
	a.asks = append(a.asks, k)
}

// beyond is the room between plot and the panel's right edge, never less than a
// short word.
func (a *area) beyond() float64 { return max(a.outer.x1-a.x1, 60) }

// aside are the spots right of a place, also somewhat higher and lower.
func aside(at pt) []spot {
	var out []spot
	for shift := 0.0; shift <= 90; shift += 3 {
		for _, d := range [...]float64{-1, 1} {
			s := spot{of: at, at: pt{at.x, at.y + d*shift}, dx: 1, gap: 8, cost: shift * .4}
			out = append(out, s)
		}
	}
	return out
}

// around are the spots on all sides of a place, from near to far.
func around(at pt, gap, cost float64) []spot {
	var out []spot
	for _, far := range [...]float64{0, 12, 26, 44, 64} {
		for i, d := range [...][2]float64{{0, -1}, {1, 0}, {0, 1}, {-1, 0}, {1, -1}, {-1, -1}, {1, 1}, {-1, 1}} {
			out = append(out, spot{at, at, d[0], d[1], gap + far, cost + .6*far + float64(i)})
		}
	}
	return out
}

// askAround wants a remark beside a place.
func (a *area) askAround(text string, ink Ink, at pt) {
	if text == "" || !a.inside(at) {
		return
	}
	a.asks = append(a.asks, ask{lines: balanced(text, labelSize, false, labelWidth), ink: ink, spots: around(at, 10, 0)})
}

// askRule wants the name of a straight line: above or below it, beginning at its
// right or upper end.
func (a *area) askRule(l Rule, from, to pt) {
	if l.Label == "" || !a.inside(from) {
		return
	}
	k := ask{ink: l.Ink, lines: balanced(l.Label, labelSize, false, a.width()*.8)}
	if l.Upright {
		k.lines = balanced(l.Label, labelSize, false, min(labelWidth, a.width()*.45))
		for i := range 12 {
			share := float64(i) / 12
			at := pt{from.x, from.y + share*(to.y-from.y) + lineHeight*float64(len(k.lines))/2 + 2}
			k.spots = append(k.spots, spot{at, at, 1, 0, 6, 40 * share}, spot{at, at, -1, 0, 6, 40*share + 1})
		}
	} else {
		for i := range 12 {
			share := float64(i) / 12
			for _, dy := range [...]float64{-1, 1} {
				at := pt{to.x - 4 - share*(to.x-from.x), to.y}
				k.spots = append(k.spots, spot{at, at, -1, dy, 4, 30*share + dy + 1})
			}
		}
	}
	a.asks = append(a.asks, k)
}
