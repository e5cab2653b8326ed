package lab

import "math"

// regression is a straight line through points, by ordinary least squares.
type regression struct {
	slope, intercept float64
	slopeSE          float64
	n                int
}

// ols fits a line. With less than three points, or all of one x, the standard
// error is not known (NaN).
func ols(xs, ys []float64) regression {
	r := regression{n: len(xs), slopeSE: math.NaN()}
	if r.n == 0 {
		return r
	}
	n := float64(r.n)
	var mx, my float64
	for i := range xs {
		mx += xs[i] / n
		my += ys[i] / n
	}
	var xx, xy, yy float64
	for i := range xs {
		dx, dy := xs[i]-mx, ys[i]-my
		xx += dx * dx
		xy += dx * dy
		yy += dy * dy
	}
	r.intercept = my
	if xx == 0 {
		return r
	}
	r.slope = xy / xx
	r.intercept = my - r.slope*mx
	if r.n > 2 {
		r.slopeSE = math.Sqrt(max(0, yy-r.slope*xy) / (n - 2) / xx)
	}
	return r
}

// interval is the slope's.
func (r regression) interval() interval { return around(r.slope, r.slopeSE, float64(r.n-2), r.n) }
