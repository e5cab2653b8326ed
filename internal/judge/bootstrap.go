package judge

import (
	"math"
	"math/rand/v2"
	"slices"
)

// DefaultResamples is how often a bootstrap draws where nothing is said: the
// ends of an interval then move by about 4 % of its width from seed to seed
// (Efron and Tibshirani 1993, chapter 14, ask for 1,000 at least).
const DefaultResamples = 2000

// expansionFrom is the number of rows over which the interval is computed by the
// bootstrap's own expansion: it differs from 2,000 resamples by less than they
// differ from each other, and 141,600 rows need no minutes.
const expansionFrom = 10_000

// Bootstrap makes intervals of means by drawing rows with replacement, by the
// bias-corrected and accelerated method (BCa; Efron 1987; Efron and Tibshirani
// 1993, section 14.3). The same seed gives the same interval. The zero value
// draws DefaultResamples times from seed 0.
type Bootstrap struct {
	Seed      uint64
	Resamples int // 0: DefaultResamples
}

// Mean is the mean of one value a row with its 95 % interval; nil without
// values.
func (b Bootstrap) Mean(values []float64) *Estimate {
	if len(values) == 0 {
		return nil
	}
	e := &Estimate{Value: mean(values), N: len(values)}
	if len(values) < 2 {
		return e
	}
	var low, high float64
	if len(values) > expansionFrom {
		low, high = expansion(values)
		e.Method = "expansion"
	} else {
		low, high = b.interval(values)
		e.Method = "bootstrap"
	}
	e.Low, e.High = &low, &high
	return e
}

// interval draws. Its ends are wider than those of a normal distribution by
// what Student's t has over it and by the n-1 that a bootstrap lacks (Hesterberg
// 2015, "expanded percentile"): twenty rows are then covered too.
func (b Bootstrap) interval(values []float64) (low, high float64) {
	m, skew := mean(values), skewness(values)
	means := b.means(values)
	// A resample with the sample's own mean may miss it by a rounding.
	near := 1e-9 * (means[len(means)-1] - means[0])
	less, same := 0, 0
	for _, v := range means {
		switch {
		case v < m-near:
			less++
		case v <= m+near:
			same++
		}
	}
	size := float64(len(means))
	share := (float64(less) + float64(same)/2) / size
	z0 := normalAt(max(0.5/size, min(1-0.5/size, share)))
	a := skew / 6 / math.Sqrt(float64(len(values)))
	z := wide(len(values))
	return quantile(means, corrected(z0, a, -z)), quantile(means, corrected(z0, a, z))
}

// corrected is the share of resampled means at which BCa puts an end.
func corrected(z0, a, z float64) float64 {
	under := 1 - a*(z0+z)
	if under <= 0 { // an acceleration that no sample of two or more rows has by its mean
		return below(math.Copysign(math.Inf(1), z))
	}
	return below(z0 + (z0+z)/under)
}

// means are the means of the resamples, sorted.
func (b Bootstrap) means(values []float64) []float64 {
	resamples := b.Resamples
	if resamples <= 0 {
		resamples = DefaultResamples
	}
	rng := rand.NewPCG(b.Seed, uint64(len(values)))
	n := uint64(len(values))
	out := make([]float64, resamples)
	for i := range out {
		sum := 0.0
		// One draw of 64 bits chooses two rows; with at most 2^14 rows none is
		// favoured by more than a part in 2^18.
		for left := len(values); left > 0; left -= 2 {
			u := rng.Uint64()
			sum += values[(u>>32)*n>>32]
			if left > 1 {
				sum += values[(u&math.MaxUint32)*n>>32]
			}
		}
		out[i] = sum / float64(n)
	}
	slices.Sort(out)
	return out
}

// expansion is what interval tends to over many rows: the quantiles of the
// resampled mean by Cornish and Fisher to the order of the skewness, at the
// shares of BCa, whose bias correction is then a sixth of it too (DiCiccio and
// Efron 1996, section 4).
func expansion(values []float64) (low, high float64) {
	n := float64(len(values))
	m, g := mean(values), skewness(values)/math.Sqrt(n)
	se := deviation(values) * math.Sqrt((n-1)/n) / math.Sqrt(n)
	end := func(z float64) float64 {
		w := g/6 + (g/6+z)/(1-g/6*(g/6+z))
		return m + se*(w+g/6*(w*w-1))
	}
	z := wide(len(values))
	return end(-z), end(z)
}

// skewness is the third standardised moment; 0 where nothing varies.
func skewness(values []float64) float64 {
	m, far := mean(values), 0.0
	for _, v := range values {
		far = max(far, math.Abs(v-m))
	}
	if far == 0 {
		return 0
	}
	square, cube, n := 0.0, 0.0, float64(len(values))
	for _, v := range values {
		d := (v - m) / far // so that no power of it vanishes
		square += d * d
		cube += d * d * d
	}
	return cube / n / math.Pow(square/n, 1.5)
}

// wide is the distance of an interval's ends in standard errors: Student's t for
// 2.5 % on a side (Abramowitz and Stegun 26.7.5), times sqrt(n/(n-1)).
func wide(n int) float64 {
	const z = z95
	v := float64(n - 1)
	t := z + (z*z*z+z)/(4*v) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*v*v) +
		(3*math.Pow(z, 7)+19*math.Pow(z, 5)+17*z*z*z-15*z)/(384*v*v*v)
	return t * math.Sqrt(float64(n)/v)
}
