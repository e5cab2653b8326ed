package lab

import "math"

// mser5 is how many of the values at the beginning are warm-up: the cut that
// leaves the rest with the least standard error of its mean, by means of five
// (White's MSER-5; facts/control.md E.1). At most half are cut: a least error
// later than that says that there was no steady state. 0 where there are too few
// values to tell.
func mser5(values []float64) int {
	const group = 5
	k := len(values) / group
	if k < 4 {
		return 0
	}
	means := make([]float64, k)
	for i := range means {
		for _, v := range values[i*group : (i+1)*group] {
			means[i] += v / group
		}
	}
	best, cut := math.Inf(1), 0
	for d := range k/2 + 1 {
		rest := means[d:]
		_, sd := meanSD(rest)
		n := float64(len(rest))
		if se := sd * sd * (n - 1) / n / n; se < best {
			best, cut = se, d*group
		}
	}
	return cut
}
