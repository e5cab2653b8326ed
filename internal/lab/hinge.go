package lab

import (
	"math"
	"math/rand/v2"
	"slices"
)

// rate is the throughput at a concurrency, with its standard error.
type rate struct{ conc, perMin, se float64 }

// hinge is X(C) = min(slope·C, top): throughput grows with concurrency until a
// limit binds (facts/control.md C.5).
type hinge struct {
	slope interval // calls a minute of one call in flight
	top   interval // calls a minute
	knee  interval // concurrency where they meet
	bent  bool     // the top was reached: the highest points lie below the line
}

// fitHinge fits the hinge by weighted least squares, with intervals by a
// parametric bootstrap. Where no point lies clearly below the line the top is
// not there (bent is false), and top is what the line has at the highest
// concurrency.
func fitHinge(points []rate, seed uint64) hinge {
	slope, top, bent := hingeOnce(points)
	h := hinge{slope: interval{value: slope, n: len(points)}, top: interval{value: top, n: len(points)}, bent: bent}
	h.knee = interval{value: safeRatio(top, slope), n: len(points)}
	const draws = 400
	rng := rand.New(rand.NewPCG(seed, 0x68696e6765))
	var slopes, tops, knees []float64
	again := slices.Clone(points)
	for range draws {
		for i, p := range points {
			again[i].perMin = p.perMin + p.se*rng.NormFloat64()
		}
		s, t, _ := hingeAs(again, bent)
		slopes, tops, knees = append(slopes, s), append(tops, t), append(knees, safeRatio(t, s))
	}
	h.slope.low, h.slope.high = middle95(slopes)
	h.top.low, h.top.high = middle95(tops)
	h.knee.low, h.knee.high = middle95(knees)
	return h
}

func safeRatio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

func middle95(values []float64) (low, high float64) {
	slices.Sort(values)
	return quantile(values, 0.025), quantile(values, 0.975)
}

// hingeOnce chooses between a line and a hinge: bent where the hinge fits better
// by more than a parameter is worth (a drop of chi-square by 3.84) and by more
// than 3 % at the highest point.
func hingeOnce(points []rate) (slope, top float64, bent bool) {
	straight, _, errS := hingeAs(points, false)
	s, t, errH := hingeAs(points, true)
	highest := 0.0
	for _, p := range points {
		highest = max(highest, p.conc)
	}
	if errS-errH > 3.84 && t < 0.97*s*highest {
		return s, t, true
	}
	return straight, straight * highest, false
}

// hingeAs fits one of both and gives the weighted sum of squares: the points
// are cut in two at every place, the line is fitted to the lower ones and the
// top to the rest.
func hingeAs(points []rate, bent bool) (slope, top, err float64) {
	sorted := slices.Clone(points)
	slices.SortFunc(sorted, func(a, b rate) int {
		if a.conc < b.conc {
			return -1
		}
		return 1
	})
	if !bent {
		slope = lineThrough0(sorted)
		if n := len(sorted); n > 0 {
			top = slope * sorted[n-1].conc
		}
		return slope, top, misfit(sorted, slope, math.Inf(1))
	}
	err = math.Inf(1)
	for k := 1; k < len(sorted); k++ {
		s, t := lineThrough0(sorted[:k]), weightedMean(sorted[k:])
		if e := misfit(sorted, s, t); e < err {
			slope, top, err = s, t, e
		}
	}
	return slope, top, err
}

func (r rate) weight() float64 { return 1 / max(r.se*r.se, 1e-12) }

func lineThrough0(points []rate) float64 {
	var xx, xy float64
	for _, p := range points {
		xx += p.weight() * p.conc * p.conc
		xy += p.weight() * p.conc * p.perMin
	}
	return safeRatio(xy, xx)
}

func weightedMean(points []rate) float64 {
	var w, s float64
	for _, p := range points {
		w += p.weight()
		s += p.weight() * p.perMin
	}
	return safeRatio(s, w)
}

func misfit(points []rate, slope, top float64) float64 {
	sum := 0.0
	for _, p := range points {
		d := p.perMin - min(slope*p.conc, top)
		sum += p.weight() * d * d
	}
	return sum
}
