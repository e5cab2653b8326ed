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

// markRadius makes marks of about equal weight, in pixels.
const markRadius = 4.0

// dot draws a mark; hollow ones are white inside.
func (a *area) dot(at pt, m Mark, ink Ink, hollow bool) {
	if !a.inside(at) {
		return
	}
	p := paint{fill: ink.line(), stroke: white, width: 1}
	if hollow {
		p = paint{fill: white, stroke: ink.line(), width: 1.6}
	}
	const r = markRadius
	poly := func(points ...pt) {
		for i := range points {
			points[i] = pt{at.x + points[i].x*r, at.y + points[i].y*r}
		}
		a.scene.draw(shape{points: points, closed: true, paint: p})
	}
	switch m.of(ink) {
	case Square:
		poly(pt{-.95, -.95}, pt{.95, -.95}, pt{.95, .95}, pt{-.95, .95})
	case Triangle:
		poly(pt{0, -1.25}, pt{1.15, .85}, pt{-1.15, .85})
	case Diamond:
		poly(pt{0, -1.35}, pt{1.35, 0}, pt{0, 1.35}, pt{-1.35, 0})
	case Cross:
		for _, d := range [...]float64{1, -1} {
			a.segment(pt{at.x - r, at.y - d*r}, pt{at.x + r, at.y + d*r}, ink.line(), 2)
		}
	default:
		a.scene.draw(shape{points: []pt{at}, radius: r * 1.05, paint: p})
	}
	a.marks = append(a.marks, rect{at.x, at.y, at.x, at.y}.grown(markRadius+1))
}
