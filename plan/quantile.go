package plan

import (
	"math"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// spread is a forecast of one figure: a lognormal that a few rehearsals tell
// mean and spread of. What is foretold is one more such figure, so its quantiles
// are Student's, and wider than the sample: that of one more draw.
type spread struct {
	mean, sd float64 // of the logarithm
	n        int
	lost     int // rehearsals that did not end

	// Of a figure that something holds in place, such as the end of a route that
	// aims at a time: no lognormal, so what was seen bounds it.
	held      bool
	low, high float64 // seen, finer grain included
}

// A rehearsal is not the run: there are clocks, networks and scales finer than
// it knows. So much is added to the spread of each figure.
const (
	finerSync  = 0.008
	finerBatch = 0.05
	finerMoney = 0.004
)

// spreadOf takes figures, of which NaN says that there is none.
func spreadOf(figures []float64, finer float64) spread {
	s := spread{low: math.Inf(1)}
	sum, squares := 0.0, 0.0
	for _, f := range figures {
		if math.IsNaN(f) {
			s.lost++
			continue
		}
		l := math.Log(max(f, 1e-9))
		s.n++
		sum += l
		squares += l * l
		s.low, s.high = min(s.low, f), max(s.high, f)
	}
	if s.n == 0 {
		return s
	}
	n := float64(s.n)
	s.mean = sum / n
	if s.n > 1 {
		s.sd = math.Sqrt(max(0, squares/n-s.mean*s.mean) * n / (n - 1))
	}
	s.sd = math.Hypot(s.sd, finer)
	s.low, s.high = s.low*math.Exp(-2*finerSync), s.high*math.Exp(2*finerSync)
	return s
}

// student are quantiles of Student's distribution by degrees of freedom, from 1.
var student = struct{ p90, p95 [9]float64 }{
	[9]float64{3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383},
	[9]float64{6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833},
}

// at is a quantile: p of 5, 50, 90 or 95. Infinite: it is not expected to be.
func (s spread) at(p int) float64 {
	if out := float64(s.lost) / float64(max(s.n+s.lost, 1)); s.n == 0 || out > float64(100-p)/100 && out > 0 {
		return math.Inf(1)
	}
	i := min(max(s.n-2, 0), len(student.p90)-1)
	t := map[int]float64{5: -student.p95[i], 50: 0, 90: student.p90[i], 95: student.p95[i]}[p]
	if s.n == 1 {
		t = math.Copysign(min(math.Abs(t), 1.7), t) // there was no chance in it
	}
	v := math.Exp(s.mean + t*s.sd*math.Sqrt(1+1/float64(s.n)))
	if s.held {
		v = min(max(v, s.low), s.high)
	}
	return v
}

func (s spread) time(p int) time.Duration {
	if v := s.at(p); v < float64(sched.Never)/1e9 {
		return seconds(v)
	}
	return sched.Never
}

func (s spread) money(p int) flotilla.Money {
	if v := s.at(p); v < float64(math.MaxInt64) {
		return flotilla.Money(v)
	}
	return math.MaxInt64
}
