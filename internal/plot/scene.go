package plot

import (
	"image/color"
	"math"
)

// pt is a place in pixels, y downwards.
type pt struct{ x, y float64 }

// rect is a rectangle in pixels.
type rect struct{ x0, y0, x1, y1 float64 }

func (r rect) width() float64  { return r.x1 - r.x0 }
func (r rect) height() float64 { return r.y1 - r.y0 }

func (r rect) grown(by float64) rect { return rect{r.x0 - by, r.y0 - by, r.x1 + by, r.y1 + by} }

// shared is the area that two rectangles have in common.
func (r rect) shared(o rect) float64 {
	w, h := min(r.x1, o.x1)-max(r.x0, o.x0), min(r.y1, o.y1)-max(r.y0, o.y0)
	return max(w, 0) * max(h, 0)
}

func (r rect) corners() []pt {
	return []pt{{r.x0, r.y0}, {r.x1, r.y0}, {r.x1, r.y1}, {r.x0, r.y1}}
}

// paint says how a shape is filled and outlined; a colour of opacity 0 does
// neither.
type paint struct {
	fill, stroke color.NRGBA
	width        float64
	dash         []float64 // drawn, left out, … in pixels; none: solid
}

// shape is a polyline, a polygon when closed, or a circle when it has a radius.
type shape struct {
	points []pt
	closed bool
	radius float64
	paint
}

// anchor is the part of a text that stands at its place.
type anchor uint8

const (
	start anchor = iota
	middle
	end
)

// words are one line of text, with their baseline at a place.
type words struct {
	at     pt
	text   string
	size   float64
	bold   bool
	anchor anchor
	colour color.NRGBA
	halo   bool // a white edge, so that it reads on top of lines
}

func (w *words) width() float64 { return textWidth(w.text, w.size, w.bold) }

// left is where the text begins.
func (w *words) left() float64 {
	switch w.anchor {
	case middle:
		return w.at.x - w.width()/2
	case end:
		return w.at.x - w.width()
	default:
		return w.at.x
	}
}

// item is one thing drawn: a shape, else words.
type item struct {
	shape *shape
	words *words
}

// scene is a finished drawing, in the order in which it is painted.
type scene struct {
	wide, high  float64
	title, desc string // for those who do not see it
	items       []item
}

func (p pt) isPlace() bool { return !math.IsNaN(p.x) && !math.IsNaN(p.y) }

// draw leaves out what has no place, here and in write: a value that is NaN has
// none.
func (s *scene) draw(sh shape) {
	for _, p := range sh.points {
		if !p.isPlace() {
			return
		}
	}
	if len(sh.points) > 0 {
		s.items = append(s.items, item{shape: &sh})
	}
}

func (s *scene) write(w words) {
	if w.text != "" && w.at.isPlace() {
		s.items = append(s.items, item{words: &w})
	}
}

// segment draws a straight line.
func (s *scene) segment(a, b pt, c color.NRGBA, width float64, dash ...float64) {
	s.draw(shape{points: []pt{a, b}, paint: paint{stroke: c, width: width, dash: dash}})
}
