package lab

import "math"

// interval is an estimate with its 95 % confidence interval; n observations are
// behind it.
type interval struct {
	value, low, high float64
	n                int
}

// around is the interval of a value with a standard error and its degrees of
// freedom: infinitely wide where there are none.
func around(value, se, df float64, n int) interval {
	if df < 1 || math.IsNaN(se) {
		return interval{value, math.Inf(-1), math.Inf(1), n}
	}
	half := tQuantile(0.975, df) * se
	return interval{value, value - half, value + half, n}
}

// known says that the interval is finite.
func (i interval) known() bool { return i.n > 0 && !math.IsInf(i.high-i.low, 0) && i.value == i.value }

// half is half the width over the value.
func (i interval) half() float64 { return (i.high - i.low) / 2 / math.Abs(i.value) }

// times scales by a factor that is not negative.
func (i interval) times(by float64) interval {
	return interval{i.value * by, i.low * by, i.high * by, i.n}
}

// tQuantile is the quantile p of Student's t with df degrees of freedom, by
// bisection of the distribution function.
func tQuantile(p, df float64) float64 {
	if p < 0.5 {
		return -tQuantile(1-p, df)
	}
	low, high := 0.0, 2.0
	for tBelow(high, df) < p && high < 1e9 {
		high *= 2
	}
	for range 80 {
		mid := (low + high) / 2
		if tBelow(mid, df) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// tBelow is the probability that Student's t lies below t.
func tBelow(t, df float64) float64 {
	tail := 0.5 * incompleteBeta(df/2, 0.5, df/(df+t*t))
	if t < 0 {
		return tail
	}
	return 1 - tail
}

// incompleteBeta is the regularised incomplete beta function by Lentz's
// continued fraction (Abramowitz and Stegun 26.5.8).
func incompleteBeta(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return max(0, min(1, x))
	}
	if x > (a+1)/(a+b+2) {
		return 1 - incompleteBeta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	const tiny = 1e-300
	c, d := 1.0, 1/atLeast(1-(a+b)*x/(a+1), tiny)
	f := d
	for m := 1.0; m < 500; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/atLeast(1+even*d, tiny), atLeast(1+even/c, tiny)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/atLeast(1+odd*d, tiny), atLeast(1+odd/c, tiny)
		f *= d * c
		if math.Abs(d*c-1) < 1e-15 {
			break
		}
	}
	return front * f
}

// atLeast keeps a divisor away from 0.
func atLeast(v, tiny float64) float64 {
	if math.Abs(v) < tiny {
		return tiny
	}
	return v
}

// noneOf is the upper 95 % bound of the share of something that was not seen
// once in n: the rule of three (facts/control.md E.1). 1 for less than three.
func noneOf(n int) float64 {
	if n <= 3 {
		return 1
	}
	return 3 / float64(n)
}
