package plan

import (
	"math"
	"math/rand/v2"

	"github.com/flotilla-llm/flotilla"
)

// How far off what is known of a provider may be: standard deviations of
// logarithms. What was measured is near; what is assumed is not.
const (
	paceMeasured, paceAssumed         = 0.03, 0.25
	rowRateMeasured, rowRateAssumed   = 0.08, 0.35
	overheadMeasured, overheadAssumed = 0.15, 0.40
	inputEstimate                     = 0.02 // of a job's mean input, over the estimates
	outputGiven                       = 0.02 // of a mean that a user has given
)

// leastOut is the least share of max_tokens that answers are taken to use where
// nothing else is known of them; the most is all of it.
const leastOut = 0.15

// belief is one of several worlds that a job may meet. Of n of them each takes
// another n-th of what is likely, in each respect for itself.
type belief struct {
	seed uint64
	k, n int
}

// respect is one thing that is uncertain.
type respect uint64

const (
	ofInput respect = iota
	ofPace          // + family
	ofRate          // + org
	ofOverhead
	ofOutput
	ofHits
	ofAll respect = 1 << 16 // one respect for all of a kind
)

// share is which part of what is likely this world takes, in (0, 1).
func (b belief) share(r respect) float64 {
	order := rand.New(rand.NewPCG(b.seed, uint64(r)+1)).Perm(b.n)
	return (float64(order[b.k]) + 0.5) / float64(b.n)
}

// factor is by what something with the given uncertainty is off.
func (b belief) factor(r respect, sd float64) float64 {
	if b.n <= 1 {
		return 1
	}
	return math.Exp(sd * normalAt(b.share(r)))
}

// kinds spaces the respects of several orgs, families or classes apart.
func kinds(of respect, i int) respect { return of + respect(i+1)<<4 }

// out is by what a class's mean output is off.
func (b belief) out(c *Class, i int) float64 {
	switch {
	case c.OutBound:
		return leastOut + (1-leastOut)*b.share(kinds(ofOutput, i))
	case c.OutRows > 0:
		return b.factor(kinds(ofOutput, i), c.outSD()/math.Sqrt(float64(c.OutRows)))
	}
	return b.factor(kinds(ofOutput, i), outputGiven)
}

// turnaround is what an org's batches are believed to do; one that was not
// measured does as the others do.
func (b belief) turnaround(o *flotilla.Org, i int) (rate, overhead float64) {
	rate, overhead = b.factor(ofRate|ofAll, rowRateAssumed), b.factor(ofOverhead|ofAll, overheadAssumed)
	if o.Turnaround.RowRate > 0 {
		rate = b.factor(kinds(ofRate, i), rowRateMeasured)
	}
	if o.Turnaround.Overhead > 0 {
		overhead = b.factor(kinds(ofOverhead, i), overheadMeasured)
	}
	return rate, overhead
}
