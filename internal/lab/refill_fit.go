package lab

import (
	"math"
)

// moment is one reading of a bucket: when it was sent, what it showed with own
// use since the group's beginning added back, what it showed as it was, and how
// far off the instant of full replenishment was. Seconds, tokens or requests.
type moment struct {
	t, sum, level, full float64
}

// fit is a number with its 95 % interval.
type fit struct {
	value, low, high float64
	n                int
}

func (f fit) known() bool { return f.n > 2 && f.value > 0 && !math.IsInf(f.high, 0) }

// scaled divides by a factor.
func (f fit) scaled(by float64) fit { return fit{f.value / by, f.low / by, f.high / by, f.n} }

// slope is the common slope of several groups of (t, sum), each with an
// intercept of its own, by ordinary least squares (facts/control.md E.2).
func slope(groups [][]moment) fit {
	var xx, xy, yy float64
	n, k := 0, 0
	for _, g := range groups {
		if len(g) < 3 {
			continue
		}
		mt, ms := means(g)
		for _, p := range g {
			xx += (p.t - mt) * (p.t - mt)
			xy += (p.t - mt) * (p.sum - ms)
			yy += (p.sum - ms) * (p.sum - ms)
		}
		n += len(g)
		k++
	}
	df := float64(n - k - 1)
	if df < 1 || xx == 0 {
		return fit{low: math.Inf(-1), high: math.Inf(1)}
	}
	b := xy / xx
	se := math.Sqrt(max(0, yy-b*xy) / df / xx)
	half := tFor(df) * se
	return fit{b, b - half, b + half, n}
}

// restless widens the interval of a slope whose readings do not lie on a line:
// what disturbs them (others at work, a busy machine, a network that is slowest
// right after a burst) may drift with time, which least squares takes for slope.
// It allows for a drift whose spread over a group is that of the readings.
func restless(f fit, groups [][]moment) fit {
	var sum, length float64
	n := 0
	for _, g := range groups {
		if len(g) < 3 {
			continue
		}
		mt, ms := means(g)
		for _, p := range g {
			off := p.sum - ms - f.value*(p.t-mt)
			sum += off * off
		}
		n += len(g)
		length = max(length, g[len(g)-1].t-g[0].t)
	}
	if n < 3 || length <= 0 {
		return f
	}
	drift := math.Sqrt(12*sum/float64(n)) / length // a line of slope b spreads by b·length/√12
	f.low, f.high = f.low-drift, f.high+drift
	return f
}

func means(g []moment) (t, sum float64) {
	for _, p := range g {
		t += p.t
		sum += p.sum
	}
	return t / float64(len(g)), sum / float64(len(g))
}

// tFor is about the 97.5 % quantile of Student's t: Cornish and Fisher's first
// terms, within 2 % from 4 degrees of freedom up.
func tFor(df float64) float64 {
	const z = 1.959964
	return z + (z*z*z+z)/(4*df) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*df*df)
}

// byBand is the common slope of several groups where nothing but cutting off
// stands between a reading and the truth: all (t, sum) of a group then lie within
// a band of a known width around a line of that slope. Where no slope does that
// for all of them (others at work, clocks that jitter), ok is false.
func byBand(groups [][]moment, width float64) (f fit, ok bool) {
	n := 0
	widest := func(rate float64) (most float64) {
		for _, g := range groups {
			low, high := math.Inf(1), math.Inf(-1)
			for _, p := range g {
				v := p.sum - rate*p.t
				low, high = min(low, v), max(high, v)
			}
			most = max(most, high-low)
		}
		return most
	}
	top := 0.0
	for _, g := range groups {
		n += len(g)
		if len(g) < 3 {
			continue
		}
		if span := g[len(g)-1].t - g[0].t; span > 0 {
			top = max(top, 2*(math.Abs(g[len(g)-1].sum-g[0].sum)+width)/span)
		}
	}
	if n < 10 || top == 0 {
		return fit{}, false
	}
	best := lowest(widest, 0, top)
	if widest(best) > width {
		return fit{}, false
	}
	low := crossing(func(r float64) bool { return widest(r) > width }, 0, best)
	high := crossing(func(r float64) bool { return widest(r) <= width }, best, top)
	return fit{(low + high) / 2, low, high, n}, true
}

// byReset is the refill that the reset headers tell. They are whole seconds of
// the instant of full replenishment, (capacity − level) ÷ refill away, so that
// full + level ÷ refill is the same for all readings but for the second that was
// cut off: the refill is where these sums lie within the narrowest span, and its
// interval where they lie within a second. Colleagues' use and a clock that is
// off do no harm; slack is by how many seconds a reading may be off for other
// reasons.
func byReset(readings []moment, slack float64) fit {
	if len(readings) < 10 {
		return fit{low: math.Inf(-1), high: math.Inf(1)}
	}
	span := func(rho float64) float64 {
		low, high := math.Inf(1), math.Inf(-1)
		for _, p := range readings {
			v := p.full + rho*p.level
			low, high = min(low, v), max(high, v)
		}
		return high - low
	}
	// The spans are convex in rho; the reset of an emptied bucket is at most some
	// minutes away, so that rho lies between these.
	low, high := levels(readings)
	if high-low <= 0 {
		return fit{low: math.Inf(-1), high: math.Inf(1)}
	}
	top := 600 / (high - low)
	best := lowest(span, 0, top)
	most := max(1, span(best)) + slack
	left := crossing(func(rho float64) bool { return span(rho) > most }, 0, best)
	right := crossing(func(rho float64) bool { return span(rho) <= most }, best, top)
	// The middle of what is possible errs less than the narrowest span.
	mid := (left + right) / 2
	if left <= 0 {
		return fit{low: math.Inf(-1), high: math.Inf(1)}
	}
	return fit{1 / mid, 1 / right, 1 / left, len(readings)}
}

func levels(readings []moment) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range readings {
		low, high = min(low, p.level), max(high, p.level)
	}
	return low, high
}

// lowest finds where a convex function is least.
func lowest(f func(float64) float64, a, b float64) float64 {
	const g = 0.6180339887498949
	for range 120 {
		c, d := b-g*(b-a), a+g*(b-a)
		if f(c) <= f(d) {
			b = d
		} else {
			a = c
		}
	}
	return (a + b) / 2
}

// crossing finds where what holds from a on ceases to, before b.
func crossing(holds func(float64) bool, a, b float64) float64 {
	if !holds(a) {
		return a
	}
	for range 100 {
		m := (a + b) / 2
		if holds(m) {
			a = m
		} else {
			b = m
		}
	}
	return (a + b) / 2
}
