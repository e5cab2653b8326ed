package plot

import "math"

// area is the plotting area of a panel while it is drawn.
type area struct {
	*scene
	rect
	panel          *Panel
	outer          rect // of the panel, with all that is written around the plot
	inset          float64
	x, y           scale
	xTicks, yTicks []tick
	xNames         [][]string // wrapped

	marks []marked // what labels had better not hide
	lines [][2]pt  // nor these
	texts []rect   // what they must not hide
	asks  []ask
}

// newArea writes the headings of a panel and finds out how high its plot may be.
func newArea(s *scene, outer rect, p *Panel, seen reach) *area {
	a := &area{scene: s, panel: p, outer: outer, inset: seen.inset}
	a.x, a.y = p.X.scale(seen.x, seen.zeroX), p.Y.scale(seen.y, seen.zeroY)
	a.y0 = a.headings()
	a.xNames = a.belowNames()
	a.y1 = outer.y1 - a.below()
	return a
}

// upright gives the vertical scale its place, names downwards, and says how much
// room what is written left of it takes.
func (a *area) upright() (left float64) {
	a.y.from, a.y.to = a.y1, a.y0
	if len(a.panel.Y.Names) > 0 {
		a.y.from, a.y.to = a.y0, a.y1
	}
	gap := 32.0
	if a.y.log {
		gap = 14
	}
	a.yTicks = a.panel.Y.ticks(a.y, func(t []tick) bool { return apart(t, &a.y, func(tick) float64 { return 6 }, gap) })
	for _, t := range a.yTicks {
		for _, line := range a.beside(t) {
			left = max(left, textWidth(line, tickSize, false))
		}
	}
	return left + 9
}

// across gives the horizontal scale its place.
func (a *area) across(left, reserve float64) {
	a.x0, a.x1 = a.outer.x0+left, a.outer.x1-reserve
	a.x.from, a.x.to = a.x0+a.inset, a.x1-a.inset
	a.xTicks = a.panel.X.ticks(a.x, func(t []tick) bool { return apart(t, &a.x, halfWidth, 16) })
}

// paint draws the panel, once it has its place.
func (a *area) paint() {
	a.rulings()
	for _, l := range a.panel.Layers {
		l.draw(a)
	}
	a.frame()
	a.place(rect{a.x0 + 3, a.y0 - 4, a.outer.x1, a.y1 - 2})
}

// headings writes the panel's title and, level, the label of its vertical axis,
// and returns where the plot may begin.
func (a *area) headings() float64 {
	r := a.outer
	y := r.y0
	for _, line := range wrap(a.panel.Title, panelSize, true, r.width()) {
		a.write(words{at: pt{r.x0, y + panelSize}, text: line, size: panelSize, bold: true, colour: Black.words()})
		y += 18
	}
	for _, line := range wrap(a.panel.Y.Label, tickSize, false, r.width()) {
		a.write(words{at: pt{r.x0, y + 3 + tickSize}, text: line, size: tickSize, colour: soft})
		y += 16
	}
	return y + 10
}

// belowNames wraps the names under the plot.
func (a *area) belowNames() [][]string {
	var out [][]string
	names := a.panel.X.Names
	for _, name := range names {
		out = append(out, wrap(name, tickSize, false, (a.outer.width()-60)/float64(len(names))-6))
	}
	return out
}

// below is the room that ticks and label take under the plot.
func (a *area) below() float64 {
	longest := 1
	for _, lines := range a.xNames {
		longest = max(longest, len(lines))
	}
	room := 22 + float64(longest-1)*15
	if a.panel.X.Label != "" {
		room += 19
	}
	return room
}

// beside is what is written left of the plot at a tick.
func (a *area) beside(t tick) []string {
	return wrap(t.text, tickSize, false, max(a.outer.width()*.36, 70))
}

// reserve is the room for labels right of the plot.
func (a *area) reserve(width float64) float64 {
	most := min(width*.34, 190)
	need := 16.0
	for _, l := range a.panel.Layers {
		for _, t := range l.tails() {
			if a.x.share(t.x) < .86 || t.text == "" {
				continue
			}
			for _, line := range wrap(t.text, labelSize, true, most-14) {
				need = max(need, textWidth(line, labelSize, true)+14)
			}
		}
	}
	return min(need, most)
}

func halfWidth(t tick) float64 { return textWidth(t.text, tickSize, false) / 2 }

// apart says whether marks stand far enough from each other to be read.
func apart(ticks []tick, s *scale, half func(tick) float64, gap float64) bool {
	for i := 1; i < len(ticks); i++ {
		d := math.Abs(s.pixel(ticks[i].at) - s.pixel(ticks[i-1].at))
		if d < half(ticks[i])+half(ticks[i-1])+gap {
			return false
		}
	}
	return true
}

// rulings draw the faint grid, along axes of numbers only.
func (a *area) rulings() {
	for _, t := range a.xTicks {
		if x := a.x.pixel(t.at); t.text != "" && len(a.panel.X.Names) == 0 {
			a.segment(pt{x, a.y0}, pt{x, a.y1}, faint, 1)
		}
	}
	for _, t := range a.yTicks {
		if y := a.y.pixel(t.at); t.text != "" && len(a.panel.Y.Names) == 0 {
			a.segment(pt{a.x0, y}, pt{a.x1, y}, faint, 1)
		}
	}
}

// frame draws the axes over the layers and writes their values.
func (a *area) frame() {
	a.segment(pt{a.x0, a.y1}, pt{a.x1, a.y1}, frame, 1)
	a.segment(pt{a.x0, a.y0}, pt{a.x0, a.y1}, frame, 1)
	for i, t := range a.xTicks {
		x := a.x.pixel(t.at)
		a.notch(pt{x, a.y1}, pt{0, 1}, t, len(a.panel.X.Names) > 0)
		lines := []string{t.text}
		if len(a.xNames) > 0 {
			lines = a.xNames[i]
		}
		for k, line := range lines {
			a.write(words{at: pt{x, a.y1 + 17 + float64(k)*15}, text: line, size: tickSize, anchor: middle, colour: soft})
		}
	}
	for _, t := range a.yTicks {
		y := a.y.pixel(t.at)
		a.notch(pt{a.x0, y}, pt{-1, 0}, t, len(a.panel.Y.Names) > 0)
		lines := a.beside(t)
		for k, line := range lines {
			at := y + 4.2 + (float64(k)-float64(len(lines)-1)/2)*14
			a.write(words{at: pt{a.x0 - 8, at}, text: line, size: tickSize, anchor: end, colour: soft})
		}
	}
	a.write(words{at: pt{(a.x0 + a.x1) / 2, a.outer.y1 - 3}, text: a.panel.X.Label, size: tickSize, anchor: middle, colour: soft})
}

// notch marks a value on an axis; names need none.
func (a *area) notch(at, out pt, t tick, name bool) {
	long := 4.0
	if t.text == "" {
		long = 2.5
	}
	if !name {
		a.segment(at, pt{at.x + out.x*long, at.y + out.y*long}, frame, 1)
	}
}
