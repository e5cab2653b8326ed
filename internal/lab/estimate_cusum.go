package lab

import "math"

// cusumSlack and cusumBound are in standard deviations (facts/control.md E.1).
const (
	cusumSlack = 0.5
	cusumBound = 5.0
	cusumSure  = 3.3 // by which the mean after the change differs: once in a thousand by chance
	cusumMost  = 3.0 // one value counts for at most so much: a straggler is no change
)

// changeAt is the index from which on a row lies higher or lower than at its
// beginning, by a two-sided CUSUM against the mean and spread of its first half
// (at least eight values); -1: it does not.
func changeAt(values []float64) int {
	base := len(values) / 2
	if base < 8 {
		return -1
	}
	centre, sd := robust(values[:base])
	if sd == 0 {
		return -1
	}
	at := cusumAt(values, base, centre, sd)
	if at < 0 {
		return -1
	}
	// The beginning's mean is an estimate itself: chance alone crosses the bound
	// now and then.
	after, _ := robust(values[at:])
	if math.Abs(after-centre) < cusumSure*sd*math.Sqrt(1/float64(base)+1/float64(len(values)-at)) {
		return -1
	}
	return at
}

// cusumAt is where a row begins to lead away from a centre, from base on.
func cusumAt(values []float64, base int, centre, sd float64) int {
	var up, down float64
	upFrom, downFrom := base, base
	for i := base; i < len(values); i++ {
		z := max(-cusumMost, min(cusumMost, (values[i]-centre)/sd))
		if up = max(0, up+z-cusumSlack); up == 0 {
			upFrom = i + 1
		}
		if down = max(0, down-z-cusumSlack); down == 0 {
			downFrom = i + 1
		}
		if up > cusumBound {
			return upFrom
		}
		if down > cusumBound {
			return downFrom
		}
	}
	return -1
}

// robust are the mean and the spread of values, those cut down that lie far
// off by the median deviation from the median: a few stragglers move neither.
func robust(values []float64) (mean, sd float64) {
	if len(values) == 0 {
		return 0, 0
	}
	centre := middle(values)
	off := make([]float64, len(values))
	for i, v := range values {
		off[i] = math.Abs(v - centre)
	}
	far := cusumMost * 1.4826 * middle(off)
	cut := make([]float64, len(values))
	for i, v := range values {
		cut[i] = max(centre-far, min(centre+far, v))
	}
	return meanSD(cut)
}
