package lab

import (
	"math"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// Never is the time of what does not end, as forecasts have it.
const Never = time.Duration(math.MaxInt64)

// Crossing is how jobs of one model grow, by route: what the crossover figure is
// drawn from. It comes from forecasts, not from an experiment.
type Crossing struct {
	Model  string
	Points []CrossingPoint // by route, then by N
	// The least number of calls from which …; 0: at no size that was forecast.
	BatchFaster int // batch alone is expected to end before sync alone
	Hybrid      int // both tiers from two ends are expected to end before sync alone
	Balanced    int // the preference "balanced" takes batches
}

// CrossingPoint is a forecast of one route for a job of N calls.
type CrossingPoint struct {
	N            int
	Route        string        // sync, batch or hybrid
	P5, P50, P95 time.Duration // of the wall-clock time; Never: it does not end
	USD          price.Nanos   // the median
	BatchRows    int           // of N, that go by batch
	Taken        bool          // "balanced" goes this way
}

// Route gives the points of one route, by N.
func (c *Crossing) Route(name string) []CrossingPoint {
	points := slices.DeleteFunc(slices.Clone(c.Points), func(p CrossingPoint) bool { return p.Route != name })
	slices.SortFunc(points, func(a, b CrossingPoint) int { return a.N - b.N })
	return points
}

// Find fills in from where one route overtakes another.
func (c *Crossing) Find() {
	sync := c.Route("sync")
	c.BatchFaster = overtakes(c.Route("batch"), sync)
	c.Hybrid = overtakes(c.Route("hybrid"), sync)
	c.Balanced = 0
	for _, p := range slices.SortedFunc(slices.Values(c.Points), func(a, b CrossingPoint) int { return b.N - a.N }) {
		if !p.Taken {
			continue
		}
		if p.BatchRows == 0 {
			break
		}
		c.Balanced = p.N
	}
}

// clearly is by what share a route must be faster to be called so: forecasts of
// equal jobs by two routes differ by chance.
const clearly = 0.97

// overtakes is from which N on a route ends before another, at every size that
// both were forecast for; between two sizes by interpolation of the logarithms.
func overtakes(fast, slow []CrossingPoint) int {
	from := 0
	var last, now gap
	for _, f := range fast {
		i := slices.IndexFunc(slow, func(s CrossingPoint) bool { return s.N == f.N })
		if i < 0 || slow[i].P50 <= 0 || f.P50 <= 0 {
			continue
		}
		last, now = now, gap{f.N, math.Log(float64(f.P50) / float64(slow[i].P50) / clearly)}
		switch {
		case now.log >= 0:
			from = 0
		case from == 0:
			from = last.crosses(now)
		}
	}
	return from
}

// gap is the logarithm of how many times as long one route takes as another.
type gap struct {
	n   int
	log float64
}

// crosses is where the gap closes between two sizes.
func (a gap) crosses(b gap) int {
	if a.n == 0 || a.log < 0 {
		return b.n
	}
	x, y := math.Log(float64(a.n)), math.Log(float64(b.n))
	return roundTo2(math.Exp(x + (y-x)*a.log/(a.log-b.log)))
}

// roundTo2 keeps two digits: a forecast knows no more.
func roundTo2(v float64) int {
	if v < 1 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return int(math.Round(math.Round(v/unit) * unit))
}
