package plot

import "math"

// outline turns a stroked polyline into polygons: one for each segment, and a
// disc where two meet. All run the same way round, so that where they overlap
// the rasteriser's winding number does not cancel.
func outline(points []pt, closed bool, width float64) [][]pt {
	if closed && len(points) > 0 {
		points = append(points[:len(points):len(points)], points[0])
	}
	var out [][]pt
	r := width / 2
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		d := math.Hypot(b.x-a.x, b.y-a.y)
		if d == 0 {
			continue
		}
		nx, ny := -(b.y-a.y)/d*r, (b.x-a.x)/d*r
		out = append(out, []pt{{a.x - nx, a.y - ny}, {b.x - nx, b.y - ny}, {b.x + nx, b.y + ny}, {a.x + nx, a.y + ny}})
		if (i > 1 || closed) && r > .6 {
			out = append(out, disc(a, r))
		}
	}
	return out
}

// disc is a circle as a polygon, fine enough that no edge is seen.
func disc(at pt, r float64) []pt {
	n := max(8, int(4*math.Sqrt(r)+8))
	out := make([]pt, n)
	for i := range out {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		out[i] = pt{at.x + r*cos, at.y + r*sin}
	}
	return out
}

// dashes cuts a polyline into the pieces that are drawn.
func dashes(points []pt, pattern []float64) [][]pt {
	total := 0.0
	for _, d := range pattern {
		total += d
	}
	if total <= 0 || len(points) < 2 {
		return [][]pt{points}
	}
	var out [][]pt
	k, left, piece := 0, pattern[0], []pt{points[0]}
	for i := 1; i < len(points); i++ {
		at, b := points[i-1], points[i]
		for {
			d := math.Hypot(b.x-at.x, b.y-at.y)
			if d <= left {
				left -= d
				piece = append(piece, b)
				break
			}
			at = pt{at.x + (b.x-at.x)*left/d, at.y + (b.y-at.y)*left/d}
			if k%2 == 0 {
				out = append(out, append(piece, at))
			}
			k++
			left, piece = pattern[k%len(pattern)], []pt{at}
		}
	}
	if k%2 == 0 && len(piece) > 1 {
		out = append(out, piece)
	}
	return out
}
