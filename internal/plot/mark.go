package plot

// Mark is the form of a point. The zero value is the ink's own, so that series
// of different inks differ in grey too.
type Mark uint8

// The marks.
const (
	OwnMark Mark = iota
	Circle
	Square
	Triangle
	Diamond
	Cross
)

func (m Mark) of(ink Ink) Mark {
	if m != OwnMark {
		return m
	}
	own := [...]Mark{Black: Circle, Blue: Circle, Orange: Square, Violet: Diamond, Green: Triangle, Grey: Circle}
	return own[ink.known()]
}

// dot draws a mark of about that radius, as heavy as the others; hollow ones are
// white inside.
func (a *area) dot(at pt, radius float64, d Dots) {
	if !a.inside(at) {
		return
	}
	p := paint{fill: d.Ink.line(), stroke: white, width: 1}
	if d.Hollow {
		p = paint{fill: white, stroke: d.Ink.line(), width: 1.6}
	}
	a.marks = append(a.marks, marked{rect{at.x, at.y, at.x, at.y}.grown(radius + 1), d.Ink})
	m := d.Mark.of(d.Ink)
	if m == Circle {
		a.scene.draw(shape{points: []pt{at}, radius: radius, paint: p})
		return
	}
	for _, c := range contours[m] {
		points := make([]pt, len(c))
		for i := range c {
			points[i] = pt{at.x + c[i].x*radius, at.y + c[i].y*radius}
		}
		a.scene.draw(shape{points: points, closed: true, paint: p})
	}
}

// contours are the marks of radius 1.
var contours = [...][][]pt{
	Square:   {{{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}}},
	Triangle: {{{0, -1.2}, {1.1, .8}, {-1.1, .8}}},
	Diamond:  {{{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}}},
	Cross: {{
		{0, -.45},
		{.75, -1.2},
		{1.2, -.75},
		{.45, 0},
		{1.2, .75},
		{.75, 1.2},
		{0, .45},
		{-.75, 1.2},
		{-1.2, .75},
		{-.45, 0},
		{-1.2, -.75},
		{-.75, -1.2},
	}},
}
