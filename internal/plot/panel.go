package plot

import "math"

// area is the plotting area of a panel while it is drawn.
type area struct {
	*scene
	rect
	panel *Panel
	right float64 // edge of the panel
	x, y  scale
	marks []rect  // what labels had better not hide
	lines [][2]pt // nor these
	texts []rect  // what they must not hide
	asks  []ask
}

func drawPanel(s *scene, r rect, p *Panel, seen reach) {
	a := &area{scene: s, panel: p, right: r.x1}
	a.x, a.y = p.X.scale(seen.x, seen.zeroX), p.Y.scale(seen.y, seen.zeroY)
	a.y0 = a.headings(r)
	xNames, below := a.belowNames(r)
	a.y1 = r.y1 - below
	a.upright()
	yTicks := p.Y.ticks(a.y, func(t []tick) bool { return apart(t, &a.y, func(tick) float64 { return 11 }, 15) })
	left := a.leftOf(yTicks, r)
	a.x0 = r.x0 + left
	a.x1 = r.x1 - a.reserve(r.width()-left)
	a.x.from, a.x.to = a.x0, a.x1
	xTicks := p.X.ticks(a.x, func(t []tick) bool { return apart(t, &a.x, halfWidth, 16) })
	a.rulings(xTicks, yTicks)
	for _, l := range p.Layers {
		l.draw(a)
	}
	a.frame(xTicks, yTicks, xNames, r)
	a.place(rect{a.x0 + 3, a.y0 - 4, r.x1, a.y1 - 2})
}

// headings writes the panel's title and, level, the label of its vertical axis,
// and returns where the plot may begin.
func (a *area) headings(r rect) float64 {
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

// belowNames wraps the names under the plot and says how much room ticks and
// label take there.
func (a *area) belowNames(r rect) (names [][]string, room float64) {
	room = 22
	if n := len(a.panel.X.Names); n > 0 {
		longest := 1
		for _, name := range a.panel.X.Names {
			lines := wrap(name, tickSize, false, (r.width()-60)/float64(n)-6)
			names = append(names, lines)
			longest = max(longest, len(lines))
		}
		room += float64(longest-1) * 15
	}
	if a.panel.X.Label != "" {
		room += 19
	}
	return names, room
}

// upright gives the vertical scale its place: names run downwards.
func (a *area) upright() {
	a.y.from, a.y.to = a.y1, a.y0
	if len(a.panel.Y.Names) > 0 {
		a.y.from, a.y.to = a.y0, a.y1
	}
}

// nameRoom is how wide the names beside a plot may be.
func nameRoom(r rect) float64 { return max(r.width()*.36, 70) }

func (a *area) leftOf(ticks []tick, r rect) float64 {
	w := 0.0
	for _, t := range ticks {
		for _, line := range wrap(t.text, tickSize, false, nameRoom(r)) {
			w = max(w, textWidth(line, tickSize, false))
		}
	}
	return w + 9
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
func (a *area) rulings(xTicks, yTicks []tick) {
	for _, t := range xTicks {
		if x := a.x.pixel(t.at); t.text != "" && len(a.panel.X.Names) == 0 {
			a.segment(pt{x, a.y0}, pt{x, a.y1}, faint, 1)
		}
	}
	for _, t := range yTicks {
		if y := a.y.pixel(t.at); t.text != "" && len(a.panel.Y.Names) == 0 {
			a.segment(pt{a.x0, y}, pt{a.x1, y}, faint, 1)
		}
	}
}

// frame draws the axes over the layers and writes their values.
func (a *area) frame(xTicks, yTicks []tick, xNames [][]string, r rect) {
	a.segment(pt{a.x0, a.y1}, pt{a.x1, a.y1}, frame, 1)
	a.segment(pt{a.x0, a.y0}, pt{a.x0, a.y1}, frame, 1)
	for i, t := range xTicks {
		x := a.x.pixel(t.at)
		a.notch(pt{x, a.y1}, pt{0, 1}, t, len(a.panel.X.Names) > 0)
		lines := []string{t.text}
		if len(xNames) > 0 {
			lines = xNames[i]
		}
		for k, line := range lines {
			a.write(words{at: pt{x, a.y1 + 17 + float64(k)*15}, text: line, size: tickSize, anchor: middle, colour: soft})
		}
	}
	for _, t := range yTicks {
		y := a.y.pixel(t.at)
		a.notch(pt{a.x0, y}, pt{-1, 0}, t, len(a.panel.Y.Names) > 0)
		lines := wrap(t.text, tickSize, false, nameRoom(r))
		for k, line := range lines {
			at := y + 4.2 + (float64(k)-float64(len(lines)-1)/2)*14
			a.write(words{at: pt{a.x0 - 8, at}, text: line, size: tickSize, anchor: end, colour: soft})
		}
	}
	a.write(words{at: pt{(a.x0 + a.x1) / 2, r.y1 - 3}, text: a.panel.X.Label, size: tickSize, anchor: middle, colour: soft})
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
