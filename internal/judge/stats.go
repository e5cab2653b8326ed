package judge

import (
	"math"
	"slices"
)

// Estimate is a number with its 95 % interval; N rows are behind it. Low and
// High are nil where fewer than two rows are.
type Estimate struct {
	Value  float64  `json:"value"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	N      int      `json:"n"`
	Method string   `json:"method,omitempty"` // of the interval: bootstrap, expansion, wilson
}

// Quantiles are by linear interpolation (Hyndman and Fan 1996, type 7).
type Quantiles struct {
	Min float64 `json:"min"`
	P5  float64 `json:"p5"`
	P25 float64 `json:"p25"`
	P50 float64 `json:"p50"`
	P75 float64 `json:"p75"`
	P95 float64 `json:"p95"`
	Max float64 `json:"max"`
}

// quantilesOf needs at least one value.
func quantilesOf(values []float64) *Quantiles {
	s := slices.Sorted(slices.Values(values))
	at := func(p float64) float64 { return quantile(s, p) }
	return &Quantiles{s[0], at(0.05), at(0.25), at(0.5), at(0.75), at(0.95), s[len(s)-1]}
}

// quantile interpolates in sorted values; p beyond 0 and 1 is an end.
func quantile(sorted []float64, p float64) float64 {
	h := max(0, min(1, p)) * float64(len(sorted)-1)
	i := int(h)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}

// mean of at least one value.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// deviation is the standard deviation with n-1 below; 0 for fewer than two.
func deviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	m, sum := mean(values), 0.0
	for _, v := range values {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(values)-1))
}

// below is the standard normal distribution function, and normalAt its inverse.
func below(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

func normalAt(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// z95 leaves 2.5 % of a normal distribution on either side.
const z95 = 1.959963984540054

// wilson is the interval of a share (Wilson 1927): it stays within 0 and 1 and
// has a width where none or all are counted.
func wilson(hits, n int) *Estimate {
	if n == 0 {
		return nil
	}
	e := wilsonOf(float64(hits), float64(n))
	e.N = n
	return e
}

// wilsonOf is wilson of counts that may be parts of rows; N is the caller's.
func wilsonOf(hits, size float64) *Estimate {
	p := hits / size
	middle := (p + z95*z95/(2*size)) / (1 + z95*z95/size)
	half := z95 / (1 + z95*z95/size) * math.Sqrt(p*(1-p)/size+z95*z95/(4*size*size))
	low, high := max(0, middle-half), min(1, middle+half)
	return &Estimate{Value: p, Low: &low, High: &high, Method: "wilson"}
}

// shareOf is the mean of what rows say of a share: Wilson's interval where every
// row says 0 or 1, the bootstrap's where rows with repeats lie between.
func shareOf(values []float64, draw Bootstrap) *Estimate {
	hits := 0
	for _, v := range values {
		switch v {
		case 0:
		case 1:
			hits++
		default:
			return draw.Mean(values)
		}
	}
	return wilson(hits, len(values))
}
