package plot

import "image/color"

// Cell is one field of a table of names by names.
type Cell struct {
	X, Y  int     // which names
	Text  string  // written in it
	Shade float64 // from 0 (white) to 1 (the ink)
}

// Cells are a table; both axes have names.
type Cells struct {
	Cells []Cell
	Ink   Ink
}

func (c Cells) see(r *reach) {
	for _, v := range c.Cells {
		r.x.see(float64(v.X))
		r.y.see(float64(v.Y))
	}
}

func (c Cells) tails() []tail { return nil }

func (c Cells) draw(a *area) {
	for _, v := range c.Cells {
		x, y := float64(v.X), float64(v.Y)
		p, q := a.at(x-.5, y-.5), a.at(x+.5, y+.5)
		r := rect{min(p.x, q.x) + 1.5, min(p.y, q.y) + 1.5, max(p.x, q.x) - 1.5, max(p.y, q.y) - 1.5}
		ground := c.Ink.over(min(max(v.Shade, 0), 1))
		a.polygon(r.corners(), paint{fill: ground})
		a.inCell(v.Text, r, readable(ground))
	}
}

// inCell writes centred lines, smaller if they are many.
func (a *area) inCell(text string, r rect, c color.NRGBA) {
	size := tickSize
	lines := wrap(text, size, false, r.width()-6)
	if float64(len(lines))*size*1.2 > r.height() {
		size = 10
		lines = wrap(text, size, false, r.width()-4)
	}
	for i, line := range lines {
		y := (r.y0+r.y1)/2 + size*.35 + (float64(i)-float64(len(lines)-1)/2)*size*1.2
		a.write(words{at: pt{(r.x0 + r.x1) / 2, y}, text: line, size: size, anchor: middle, colour: c})
	}
}

// readable is black or white, whichever stands out more from the ground.
func readable(ground color.NRGBA) color.NRGBA {
	if luminance(ground) > .18 {
		return rgb(0, 0, 0)
	}
	return white
}
