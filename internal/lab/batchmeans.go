package lab

import "math"

// lag1Most is the autocorrelation of neighbours above which batches are too
// short, leastMeans the fewest batches (facts/control.md E.1: below .2, at least
// 20; where a run is too short for 20, it is provisional).
const (
	lag1Most   = 0.2
	leastMeans = 20
	fewMeans   = 6
)

// batched is the mean of a row of values that are not independent.
type batched struct {
	interval
	batches int     // that it was made of
	size    int     // values of each
	lag1    float64 // autocorrelation of neighbouring batches
}

// firm says that the interval keeps the rules of facts/control.md E.1.
func (b batched) firm() bool { return b.known() && b.batches >= leastMeans && b.lag1 < lag1Most }

// batchMeans gives the mean with a t-interval by batch means: batches are
// doubled until neighbours are nearly uncorrelated, as long as six are left.
func batchMeans(values []float64) batched {
	best := batched{interval: around(0, math.NaN(), 0, 0)}
	for size := 1; len(values)/size >= fewMeans || size == 1; size *= 2 {
		best = batchesOf(values, size)
		if best.lag1 < lag1Most {
			break
		}
	}
	return best
}

func batchesOf(values []float64, size int) batched {
	k := len(values) / size
	means := make([]float64, k)
	for i := range means {
		for _, v := range values[i*size : (i+1)*size] {
			means[i] += v / float64(size)
		}
	}
	mean, sd := meanSD(means)
	b := batched{batches: k, size: size, lag1: lag1(means)}
	b.interval = around(mean, sd/math.Sqrt(float64(k)), float64(k-1), k)
	return b
}

// lag1 is the autocorrelation of neighbours; 0 for a constant row.
func lag1(values []float64) float64 {
	mean, _ := meanSD(values)
	var all, next float64
	for i, v := range values {
		all += (v - mean) * (v - mean)
		if i > 0 {
			next += (v - mean) * (values[i-1] - mean)
		}
	}
	if all <= 1e-18*mean*mean*float64(len(values)) {
		return 0
	}
	return next / all
}
