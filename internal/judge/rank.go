package judge

import (
	"cmp"
	"math"
	"slices"
)

// ranks are the ranks of values from 1; equal values share their mean rank.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	out := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+1+j) / 2
		}
		i = j
	}
	return out
}

// spearman is the rank correlation (Spearman 1904), Pearson's of the ranks, so
// that ties count. Nil for fewer than three pairs, or where a side never varies.
func spearman(x, y []float64) *float64 {
	if len(x) < 3 {
		return nil
	}
	return pearson(ranks(x), ranks(y))
}

func pearson(x, y []float64) *float64 {
	mx, my := mean(x), mean(y)
	var xx, yy, xy float64
	for i := range x {
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
		xy += (x[i] - mx) * (y[i] - my)
	}
	if xx == 0 || yy == 0 {
		return nil
	}
	r := max(-1, min(1, xy/math.Sqrt(xx*yy)))
	return &r
}

// auc is the chance that a positive's score is above a negative's, ties counting
// half: Mann and Whitney's U over all pairs (Hanley and McNeil 1982). Nil where
// one kind is missing.
func auc(scores []float64, positive []bool) *float64 {
	n, sum := 0, 0.0
	for i, r := range ranks(scores) {
		if positive[i] {
			n++
			sum += r
		}
	}
	others := len(scores) - n
	if n == 0 || others == 0 {
		return nil
	}
	a := (sum - float64(n)*float64(n+1)/2) / (float64(n) * float64(others))
	return &a
}
