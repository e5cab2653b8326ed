package plot

// Bar is one bar, from From (mostly 0; for a stack the end of the one below) to
// To, at a place on the axis of names. Low and High both 0: no interval.
type Bar struct {
	At        float64 // which name; fractions stand beside it
	From, To  float64
	Low, High float64
	Label     string // its value, written at its end
	Name      string // written in it, if it fits; else beside it
	Ink       Ink
}

// Bars stand up from the horizontal axis, or lie along it where the vertical
// axis has names.
type Bars struct {
	Bars  []Bar
	Width float64 // as a share of the distance between names; 0: .6
}

// barShare is how strong the ink of a bar is: an interval must show on it.
const barShare = .6

func (b Bars) width() float64 {
	if b.Width > 0 {
		return b.Width
	}
	return .6
}

func (b Bars) see(r *reach) {
	if r.level {
		r.zeroX = true
	} else {
		r.zeroY = true
	}
	for _, v := range b.Bars {
		r.across().see(v.At)
		r.along().see(v.From, v.To)
		if v.Low != 0 || v.High != 0 {
			r.along().see(v.Low, v.High)
		}
	}
}

func (b Bars) tails() []tail {
	var out []tail
	for _, v := range b.Bars {
		out = append(out, tail{max(v.To, v.High), v.Label})
	}
	return out
}

func (b Bars) draw(a *area) {
	half := b.width() / 2
	for _, v := range b.Bars {
		from, to := a.lying(v.At-half, v.From), a.lying(v.At+half, v.To)
		r := rect{min(from.x, to.x), min(from.y, to.y), max(from.x, to.x), max(from.y, to.y)}
		a.polygon(r.corners(), paint{fill: v.Ink.over(barShare), stroke: white, width: 1})
		if v.Low != 0 || v.High != 0 {
			a.whisker(a.lying(v.At, v.Low), a.lying(v.At, v.High), Black)
		}
		a.named(v.Name, r, v.Ink)
		a.atEnd(v.Label, a.lying(v.At, max(v.To, v.High)))
	}
}

// lying is a place by its values across and along bars.
func (a *area) lying(across, along float64) pt {
	if len(a.panel.Y.Names) > 0 {
		return a.at(along, across)
	}
	return a.at(across, along)
}

// atEnd writes a value beyond the end of a bar.
func (a *area) atEnd(text string, at pt) {
	if text == "" || !a.inside(at) {
		return
	}
	w := words{at: pt{at.x, at.y - 6}, text: text, size: tickSize, anchor: middle, colour: Black.words()}
	if len(a.panel.Y.Names) > 0 {
		w.at, w.anchor = pt{at.x + 6, at.y + 4.2}, start
	}
	a.write(w)
	left := w.left()
	a.texts = append(a.texts, rect{left, w.at.y - tickSize, left + w.width(), w.at.y + 3})
}

// named writes a bar's name into it, or beside it where it is too short.
func (a *area) named(name string, r rect, ink Ink) {
	center := pt{(r.x0 + r.x1) / 2, (r.y0 + r.y1) / 2}
	if name == "" || !a.inside(center) {
		return
	}
	if textWidth(name, tickSize, false)+8 > r.width() || tickSize+4 > r.height() {
		a.askAround(name, ink, center)
		return
	}
	a.write(words{at: pt{center.x, center.y + 4.2}, text: name, size: tickSize, anchor: middle, colour: readable(ink.over(barShare))})
}
