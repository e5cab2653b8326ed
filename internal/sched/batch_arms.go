package sched

import (
	"math/bits"
	"slices"
	"time"
)

// An arm is an org × size class: batches of a size are held to what batches of
// that size took (facts/control.md B.12). A class is a power of two.
const batchClasses = 18

type arm struct{ took ring }

func classOf(rows int64) int {
	return min(bits.Len64(uint64(max(rows, 1)))-1, batchClasses-1)
}

// ring holds the newest of a row of figures.
type ring struct {
	v      [24]float64
	n      int         // ever added
	sorted [24]float64 // v, as of
	at     int         // so many added; quantiles are asked for far more often than figures come

	mean struct { // of the newest k, as of so many added: asked for as often
		v     float64
		k, at int
	}
}

func (r *ring) add(x float64) {
	r.v[r.n%len(r.v)] = x
	r.n++
}

func (r *ring) reset() { r.n, r.at, r.mean.at = 0, 0, 0 }

// quantile is that of what is held; 0 where nothing is.
func (r *ring) quantile(q float64) float64 {
	n := min(r.n, len(r.v))
	if n == 0 {
		return 0
	}
	s := &r.sorted
	if r.at != r.n {
		copy(s[:n], r.v[:n])
		slices.Sort(s[:n])
		r.at = r.n
	}
	at := q * float64(n-1)
	i := int(at)
	if i+1 >= n {
		return s[n-1]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// recent is the mean of the newest k.
func (r *ring) recent(k int) float64 {
	if r.mean.at == r.n && r.mean.k == k {
		return r.mean.v
	}
	n := min(k, r.n, len(r.v))
	sum := 0.0
	for i := range n {
		sum += r.v[(r.n-1-i)%len(r.v)]
	}
	r.mean.v, r.mean.k, r.mean.at = sum/float64(max(n, 1)), k, r.n
	return r.mean.v
}

// What is taken for granted of a batch before any ended.
const (
	priorOverhead = 60.0 // seconds: one row alone takes 90 to 120 (facts/control.md 0)
	priorWait     = 2 * time.Minute
	priorRate     = 1.0 // rows a second
	knownRates    = 8   // batches that say how fast they proceed now
)

// known says whether it is known how batches of the org proceed.
func (q *batchQueue) known() bool { return q.rates.n > 0 || q.told > 0 }

// slowRate is where batches proceed so slowly that the time before they begin
// is nothing beside it, in rows a second.
const slowRate = 0.25

// quickened is how many times as fast as its like a batch was where they had
// been slow: too many for chance.
const quickened = 5

// rate is how many rows a second one batch gets answered, its wait for a place
// included.
func (q *batchQueue) rate() float64 {
	switch {
	case q.rates.n > 0:
		return q.rates.recent(knownRates)
	case q.told > 0:
		return q.told
	}
	return priorRate
}

// start is the seconds before a batch proceeds.
func (q *batchQueue) start() float64 {
	if q.overhead > 0 {
		return secs(q.overhead)
	}
	return priorOverhead
}

// expect is how many seconds a batch of so many rows takes, from its create to
// its end: the median, and what nine of ten stay below.
func (q *batchQueue) expect(rows int64) (p50, p90 float64) {
	if !q.known() {
		p50 = secs(priorWait) + float64(rows)/priorRate
		return p50, 1.6 * p50
	}
	p50 = q.start() + float64(rows)/q.rate()
	return p50, q.spread() * p50
}

// spread is how many times its median a batch takes that is later than nine of
// ten.
func (q *batchQueue) spread() float64 {
	if q.odds.n < 6 {
		return 1.6
	}
	return max(1.15, q.odds.quantile(0.9))
}

// learnBatch takes in how long a batch took, and how far it came.
func (c *Core) learnBatch(b *batch, e *BatchCollected) {
	q := b.lane.org.batches
	took := secs(b.ended - b.created)
	if took <= 0 || b.rows <= 0 {
		return
	}
	if b.canceling || e.Expired > 0 {
		c.verdict(b, e.Succeeded, took)
		return
	}
	running := max(took-q.start(), 0.25*took)
	c.proceeded(q)
	rate := float64(b.rows) / running
	switch {
	case b.canary && rate >= slowRate, b.created < q.cleared && rate <= q.rate():
		return // its start was most of its time, or a stall part of it
	case b.canary:
		q.slowed(rate)
		return
	case q.rates.n > 0 && q.rate() < slowRate && rate > quickened*q.rate():
		q.rates.reset() // what made them slow is over
		q.odds.reset()
	}
	before, _ := q.expect(b.rows)
	if q.known() {
		q.odds.add(took / before)
	}
	a := &q.arms[classOf(b.rows)]
	usual := a.took.quantile(0.5)
	a.took.add(took)
	q.rates.add(rate)
	c.widen(q, b, took, usual)
}
