package route

import (
	"math"
	"time"
)

// Answer says whether a job can be done by its deadline within its budget, and
// what could be done in its place.
type Answer struct {
	OK bool

	Shortest       time.Duration // at best, whatever it costs; Never: some rows have no way at all
	ShortestWithin time.Duration // at best within the budget; Never: it does not pay all rows
	Least          float64       // what all rows cost at least, without a deadline
	LeastInTime    float64       // … by the deadline; +Inf: not at any price
	Missing        float64       // what the budget lacks of LeastInTime, or of Least where that is out of reach; 0: nothing

	RowsInTime float64 // rows that could be done by the deadline at any price
	RowsWithin float64 // rows that could be done within the budget at any time
	RowsBoth   float64 // rows that could be done by the deadline within the budget
}

// Feasible answers for a deadline (0: none) and a budget (+Inf: none).
func (t *Task) Feasible(deadline time.Duration, budget float64) Answer {
	long := deadline
	if long <= 0 {
		long = Never
	}
	a := Answer{LeastInTime: math.Inf(1), Least: math.Inf(1)}
	quickest, _ := t.Fastest(math.Inf(1))
	within, _ := t.Fastest(budget)
	a.Shortest, a.ShortestWithin = quickest.Time, within.Time
	if all, ok := t.Cheapest(Never); ok {
		a.Least = all.Cost
	}
	if timely, ok := t.Cheapest(long); ok {
		a.LeastInTime = timely.Cost
	}
	a.OK = !math.IsInf(a.LeastInTime, 1) && a.LeastInTime <= budget*(1+1e-9)
	if need := a.LeastInTime; !a.OK {
		if math.IsInf(need, 1) {
			need = a.Least
		}
		a.Missing = max(0, need-budget)
		if math.IsInf(need, 1) {
			a.Missing = 0 // no money helps
		}
	}
	a.RowsInTime = t.Fit(long, math.Inf(1)).Rows
	a.RowsWithin = t.Fit(Never, budget).Rows
	a.RowsBoth = t.Fit(long, budget).Rows
	return a
}
