package route

import (
	"math"
	"time"
)

// Hybrid is a split of one pool's rows between the tiers.
type Hybrid struct {
	Time  time.Duration // when both have ended at best; Never: it cannot be done
	Sync  float64       // rows by sync
	Batch float64       // rows by batch
}

// HybridBound is the least time in which both tiers together can carry a job
// of one pool, eligible of whose rows a batch may carry: the one gains what the
// other loses, so the balance is the best (facts/control.md C.3). Physical and
// polite differ in the sync half, as in SyncBound.
func HybridBound(p Problem, lanes []BatchLane, eligible float64) (physical, polite Hybrid) {
	n := p.Work.Requests
	least := max(n-eligible, 0)
	return p.balance(lanes, least, n, p.physical), p.balance(lanes, least, n, p.polite)
}

// HybridWithin is HybridBound of the polite kind within a budget, in any unit
// of money, where a row costs sync or batch: money buys rows by sync until the
// balance, beyond it nothing (facts/control.md C.3). ok is false below the price
// of all rows by the cheapest way.
func HybridWithin(p Problem, lanes []BatchLane, eligible, sync, batch, budget float64) (h Hybrid, ok bool) {
	n := p.Work.Requests
	low, high := max(n-eligible, 0), n
	if batch < sync {
		high = min(n, (budget-n*batch)/(sync-batch))
	} else if n*sync > budget {
		return Hybrid{Time: Never}, false
	}
	if high < low*(1-1e-12) {
		return Hybrid{Time: Never}, false
	}
	return p.balance(lanes, low, max(low, high), p.polite), true
}

// physical is the bound by limits alone of a share of the rows.
func (p *Problem) physical(rows float64) Bound {
	q := p.share(rows)
	return q.bound(0, RampOff)
}

// polite is the bound with manners of a share of the rows.
func (p *Problem) polite(rows float64) Bound {
	q := p.share(rows)
	return q.bound(q.soft(), q.Ramp)
}

// share is the problem with so many of its rows, all of mean size.
func (p *Problem) share(rows float64) Problem {
	q := *p
	if rows <= 0 || p.Work.Requests <= 0 {
		q.Work = Work{}
		return q
	}
	k := rows / p.Work.Requests
	q.Work.Requests = rows
	q.Work.Input *= k
	q.Work.Output *= k
	q.Work.Latency = time.Duration(float64(q.Work.Latency) * k)
	return q
}

// balance is the split with the least time, low to high rows going by sync.
func (p *Problem) balance(lanes []BatchLane, low, high float64, bound func(float64) Bound) Hybrid {
	n := p.Work.Requests
	at := func(sync float64) (float64, float64) {
		s := math.Inf(1)
		if b := bound(sync); b.Time != Never {
			s = b.Time.Seconds()
		}
		return s, batchTime(lanes, n-sync)
	}
	split := func(sync float64) Hybrid {
		s, b := at(sync)
		return Hybrid{duration(max(s, b)), sync, n - sync}
	}
	lo, hi := low, high
	if s, b := at(lo); s >= b {
		return split(lo)
	}
	if s, b := at(hi); s <= b {
		return split(hi)
	}
	for range 60 {
		mid := (lo + hi) / 2
		if s, b := at(mid); s < b {
			lo = mid
		} else {
			hi = mid
		}
	}
	// Times jump where the slowest call's own latency begins to count: the
	// better side of the balance, not the middle of it.
	if a, b := split(lo), split(hi); a.Time < b.Time {
		return a
	} else {
		return b
	}
}
