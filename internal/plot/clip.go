package plot

// clipLine cuts a polyline to a rectangle; what leaves it and comes back is
// several pieces.
func clipLine(points []pt, r rect) [][]pt {
	var out [][]pt
	var piece []pt
	flush := func() {
		if len(piece) > 1 {
			out = append(out, piece)
		}
		piece = nil
	}
	for i := 1; i < len(points); i++ {
		a, b, ok := clipSegment(points[i-1], points[i], r)
		if !ok {
			flush()
			continue
		}
		if len(piece) == 0 {
			piece = append(piece, a)
		}
		piece = append(piece, b)
		if b != points[i] {
			flush()
		}
	}
	flush()
	return out
}

// clipSegment is Liang and Barsky's.
func clipSegment(a, b pt, r rect) (pt, pt, bool) {
	from, to := 0.0, 1.0
	dx, dy := b.x-a.x, b.y-a.y
	for _, side := range [...]struct{ p, q float64 }{
		{-dx, a.x - r.x0}, {dx, r.x1 - a.x}, {-dy, a.y - r.y0}, {dy, r.y1 - a.y},
	} {
		switch {
		case side.p == 0 && side.q < 0:
			return a, b, false
		case side.p < 0:
			from = max(from, side.q/side.p)
		case side.p > 0:
			to = min(to, side.q/side.p)
		}
	}
	if from > to {
		return a, b, false
	}
	p, q := a, b
	if from > 0 {
		p = pt{a.x + from*dx, a.y + from*dy}
	}
	if to < 1 {
		q = pt{a.x + to*dx, a.y + to*dy}
	}
	return p, q, true
}

// clipPolygon is Sutherland and Hodgman's.
func clipPolygon(points []pt, r rect) []pt {
	for _, side := range [...]func(p pt) float64{ // negative outside
		func(p pt) float64 { return p.x - r.x0 },
		func(p pt) float64 { return r.x1 - p.x },
		func(p pt) float64 { return p.y - r.y0 },
		func(p pt) float64 { return r.y1 - p.y },
	} {
		points = clipSide(points, side)
	}
	return points
}

func clipSide(points []pt, side func(pt) float64) []pt {
	var out []pt
	for i, p := range points {
		prev := points[(i+len(points)-1)%len(points)]
		a, b := side(prev), side(p)
		if a < 0 != (b < 0) {
			t := a / (a - b)
			out = append(out, pt{prev.x + t*(p.x-prev.x), prev.y + t*(p.y-prev.y)})
		}
		if b >= 0 {
			out = append(out, p)
		}
	}
	return out
}
