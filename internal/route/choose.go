package route

import (
	"cmp"
	"slices"
	"time"
)

// Prefer says what a caller cares for when there is a choice of routes
// (interface.md, "Flags of run").
type Prefer uint8

// Preferences.
const (
	Balanced Prefer = iota // cheap with a deadline; else the cheapest that is not slow
	Fast                   // least time inside the cap
	Cheap                  // fewest dollars by the deadline
)

// Wish is what is asked of a route. Cap beats deadline beats preference.
type Wish struct {
	Prefer   Prefer
	Deadline time.Duration // from the start; 0: none
	Cap      int64         // nano-dollars left to spend; 0: none; negative: nothing is left
}

// Candidate is a route as forecast.
type Candidate struct {
	P90       time.Duration // of the wall-clock; Never: it would not end
	Cost      int64         // expected nano-dollars
	Most      int64         // nano-dollars that it is not expected to exceed, held against the cap
	SyncCalls int64         // calls on lanes that colleagues share
}

// Reason is why a candidate was chosen, or in which way even the best falls short.
type Reason uint8

// Reasons.
const (
	Only      Reason = iota // there was one candidate, and it does
	Cheapest                // fewest dollars of those in time
	Quickest                // least time of those inside the cap
	OverCap                 // none is inside the cap: the cheapest
	TooLate                 // none inside the cap meets the deadline: the quickest
	NothingIn               // there was no candidate
)

// Choice is what Choose found.
type Choice struct {
	Index int // of the candidate; -1: there was none
	Why   Reason
}

// patience is how long a preference for cheap waits without a deadline, and
// what balanced takes for not slow.
const (
	patience = 24 * time.Hour
	notSlow  = time.Hour
)

// tie is how near two forecasts are equal: they say no more than that.
const tie = 0.01

// Choose picks one of the candidates by the rules of interface.md.
func Choose(candidates []Candidate, w Wish) Choice {
	all := make([]int, len(candidates))
	for i := range all {
		all[i] = i
	}
	c := chooser{candidates, w}
	if len(all) == 0 {
		return Choice{-1, NothingIn}
	}
	inside := c.keep(all, func(x *Candidate) bool { return w.Cap == 0 || x.Most <= w.Cap })
	if len(inside) == 0 {
		return Choice{c.cheapest(all), OverCap}
	}
	by := w.By(c.quickestTime(inside))
	timely := c.keep(inside, func(x *Candidate) bool { return x.P90 <= by })
	if len(timely) == 0 {
		return Choice{c.quickest(inside), TooLate}
	}
	pick := Choice{c.cheapest(timely), Cheapest}
	if w.Prefer == Fast {
		pick = Choice{c.quickest(timely), Quickest}
	}
	if len(candidates) == 1 {
		pick.Why = Only
	}
	return pick
}

// By is when a candidate must have ended to be considered, the quickest ending
// at the time given.
func (w Wish) By(quickest time.Duration) time.Duration {
	switch {
	case w.Deadline > 0:
		return w.Deadline
	case w.Prefer == Fast:
		return Never
	case w.Prefer == Cheap:
		return patience
	case quickest > Never/2:
		return Never
	}
	return max(notSlow, 2*quickest)
}

type chooser struct {
	of []Candidate
	w  Wish
}

func (c *chooser) keep(from []int, ok func(*Candidate) bool) []int {
	var kept []int
	for _, i := range from {
		if ok(&c.of[i]) {
			kept = append(kept, i)
		}
	}
	return kept
}

func (c *chooser) quickestTime(from []int) time.Duration {
	return c.of[slices.MinFunc(from, func(a, b int) int { return cmp.Compare(c.of[a].P90, c.of[b].P90) })].P90
}

func (c *chooser) cheapest(from []int) int {
	return c.least(from, func(x *Candidate) float64 { return float64(x.Cost) }, func(x *Candidate) float64 { return float64(x.P90) })
}

func (c *chooser) quickest(from []int) int {
	return c.least(from, func(x *Candidate) float64 { return float64(x.P90) }, func(x *Candidate) float64 { return float64(x.Cost) })
}

// least is the candidate with the least of the first measure. Those that
// equal it but for a hair are tied: the one with the fewest calls on shared sync
// lanes, then the least of the second measure, then the first in order.
func (c *chooser) least(from []int, first, second func(*Candidate) float64) int {
	best := first(&c.of[from[0]])
	for _, i := range from {
		best = min(best, first(&c.of[i]))
	}
	tied := c.keep(from, func(x *Candidate) bool { return first(x) <= best*(1+tie) })
	return slices.MinFunc(tied, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(c.of[a].SyncCalls, c.of[b].SyncCalls),
			cmp.Compare(second(&c.of[a]), second(&c.of[b])),
			cmp.Compare(first(&c.of[a]), first(&c.of[b])),
			cmp.Compare(a, b),
		)
	})
}
