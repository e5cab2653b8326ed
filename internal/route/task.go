package route

import (
	"math"
	"time"
)

// Task is a job of several classes of calls and the orgs that may carry it, on
// both tiers (facts/control.md C.4).
type Task struct {
	Classes []Class
	Orgs    []Site
	Soft    float64 // as in Problem
	Ramp    Ramp
	Rescue  time.Duration // batches end so long before the deadline, for sync to take what they left
}

// Class is calls of one model and like size.
type Class struct {
	Rows   float64
	Pool   int     // index into each Site's Lanes
	Input  float64 // tokens of a call that count against the input limit
	Output float64 // tokens of a call

	Latency  time.Duration // of a call
	Shortest time.Duration // of the quickest
	Longest  time.Duration // of the slowest

	Sync, Batch float64 // what a call costs, in any unit of money
	Alone       bool    // no batch may carry it
}

// Site is one org: its sync lanes by pool, and its batch queue that all pools
// share.
type Site struct {
	Lanes []Lane
	Group []int // by pool; lanes of equal group share one cap; nil: each has its own
	Batch BatchLane
}

// Split says how many rows of each class go where.
type Split struct {
	Time  time.Duration
	Cost  float64
	Rows  float64     // of all; less than the job's where only what fits was asked for
	Sync  [][]float64 // by class and org
	Batch [][]float64 // by class and org
}

// ByBatch is how many of the rows go by batch.
func (s *Split) ByBatch() (rows float64) {
	for _, orgs := range s.Batch {
		for _, n := range orgs {
			rows += n
		}
	}
	return rows
}

// Cheapest is the split that costs least and ends by the deadline; false where
// none does.
func (t *Task) Cheapest(deadline time.Duration) (Split, bool) {
	p := t.program(deadline.Seconds(), true)
	x, ok := p.solve()
	if !ok {
		return Split{Time: Never}, false
	}
	return t.split(deadline, x), true
}

// Fastest is the split that ends first within a budget, to a millionth of its
// time; false where none costs so little. +Inf is a budget without bound.
func (t *Task) Fastest(budget float64) (Split, bool) {
	within := func(s float64) (Split, bool) {
		split, ok := t.Cheapest(time.Duration(s * float64(time.Second)))
		return split, ok && split.Cost <= budget*(1+1e-9)
	}
	hi := 1.0
	best, ok := within(hi)
	for !ok {
		if hi *= 4; hi > float64(Never)/float64(time.Second) {
			return Split{Time: Never}, false
		}
		best, ok = within(hi)
	}
	lo := 0.0
	for hi-lo > 1e-6*hi {
		mid := (lo + hi) / 2
		if split, ok := within(mid); ok {
			hi, best = mid, split
		} else {
			lo = mid
		}
	}
	return best, true
}

// Fit is the split that carries the most rows by the deadline within the budget.
func (t *Task) Fit(deadline time.Duration, budget float64) Split {
	p := t.program(deadline.Seconds(), false)
	money := make([]float64, len(p.cost))
	scale := max(budget, 0)
	for v := range money {
		c, _, _ := t.place(v)
		if scale > 0 && !math.IsInf(scale, 1) {
			money[v] = p.cost[v] * t.worth() / scale
		} else if scale == 0 && p.cost[v] > 0 {
			money[v] = 1
		}
		p.cost[v] = -t.Classes[c].Rows / max(t.rows(), 1)
	}
	if scale == 0 {
		p.atMost(money, 0)
	} else if !math.IsInf(scale, 1) {
		p.atMost(money, 1)
	}
	x, ok := p.solve()
	if !ok {
		return Split{Time: deadline}
	}
	return t.split(deadline, x)
}

// split turns shares into rows.
func (t *Task) split(by time.Duration, x []float64) Split {
	s := Split{Time: by}
	for c := range t.Classes {
		class := &t.Classes[c]
		rows := [2][]float64{make([]float64, len(t.Orgs)), make([]float64, len(t.Orgs))}
		for k := range t.Orgs {
			for tier := range rows {
				n := x[t.variable(c, k, tier)] * class.Rows
				rows[tier][k] = n
				s.Rows += n
				s.Cost += n * class.price(tier)
			}
		}
		s.Sync, s.Batch = append(s.Sync, rows[0]), append(s.Batch, rows[1])
	}
	return s
}
