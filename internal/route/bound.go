package route

import "math"

// SyncBound is the least time in which the sync tier can carry a job: by its
// limits alone, and with manners (the soft floor is left to others, windows
// open by the ramp). Each constraint gives a least time of its own, all are
// monotone, so the longest is the bound (facts/control.md C.1).
func SyncBound(p Problem) (physical, polite Bound) {
	return p.bound(0, RampOff), p.bound(p.soft(), p.Ramp)
}

// soft is the share of each bucket that manners leave to others.
func (p *Problem) soft() float64 {
	if p.Soft == 0 {
		return 0.10
	}
	return max(p.Soft, 0)
}

func (p *Problem) bound(soft float64, ramp Ramp) Bound {
	w := &p.Work
	b := Bound{0, LimitWork}
	b.take(w.Longest.Seconds(), LimitLatency)
	b.take(p.slots(ramp), LimitCap)
	// The last call is admitted no later than the shortest latency before the
	// end; output is charged while it is produced, up to the end.
	last := w.Shortest.Seconds()
	b.take(after(last, p.supplied(Requests, w.Requests, soft)), LimitRPM)
	b.take(after(last, p.supplied(Input, w.Input, soft)), LimitITPM)
	b.take(p.supplied(Output, w.Output, soft), LimitOTPM)
	return b
}

// take keeps the longer of two bounds; of equal ones the first.
func (b *Bound) take(seconds float64, l Limit) {
	if d := duration(seconds); d > b.Time {
		*b = Bound{d, l}
	}
}

// after is a least time for admission, moved to the end of the last call. Work
// that full buckets cover at once says nothing that the longest call does not.
func after(last, t float64) float64 {
	if t == 0 {
		return 0
	}
	return t + last
}

// slots is when the lanes have been open for as long as all calls take.
func (p *Problem) slots(ramp Ramp) float64 {
	total := 0
	for i := range p.Lanes {
		total += max(p.Lanes[i].Cap, 0)
	}
	need := p.Work.Latency.Seconds()
	return least(need, func(t float64) float64 { return float64(total) * opened(ramp, t) })
}

// opened is the integral up to t of the share of a cap that a ramp opens.
func opened(r Ramp, t float64) float64 {
	switch r {
	case RampPolite:
		return 0.25*min(t, 30) + 0.5*min(max(t-30, 0), 30) + max(t-60, 0)
	case RampFast:
		return 0.5*min(t, 10) + max(t-10, 0)
	}
	return t
}

// supplied is when all lanes together have given need of one dimension.
func (p *Problem) supplied(d Dim, need, soft float64) float64 {
	return least(need, func(t float64) float64 {
		sum := 0.0
		for i := range p.Lanes {
			sum += p.Lanes[i].given(d, soft, t)
		}
		return sum
	})
}

// given is what a lane gives of one dimension up to t: what its bucket held
// over the floor, and the refill that colleagues leave.
func (l *Lane) given(d Dim, soft, t float64) float64 {
	if l.Cap <= 0 {
		return 0
	}
	got := math.Inf(1)
	if limit := l.PerMinute[d]; limit > 0 {
		capacity := l.Capacity[d]
		if capacity == 0 {
			capacity = limit
		}
		start := capacity*(1-soft) - l.Used[d]
		got = max(0, start, start+(limit/60-l.Others[d])*t)
		if d == Input && l.First > 0 {
			got = min(got, l.accelerated(t))
		}
	}
	return got
}

// accelerated is what an additive ceiling lets pass up to t, each minute's
// share being there at its start.
func (l *Lane) accelerated(t float64) float64 {
	limit := l.PerMinute[Input]
	minutes := math.Floor(t/60) + 1
	if l.Step <= 0 {
		return minutes * min(l.First, limit)
	}
	growing := min(minutes, max(0, math.Ceil((limit-l.First)/l.Step))) // minutes under the limit
	return growing*l.First + l.Step*growing*(growing-1)/2 + (minutes-growing)*limit
}

// horizon is beyond what any job is planned for: 30 years, in seconds.
const horizon = 30 * 365 * 86400.0

// least is the least t at which a supply that never falls covers need; +Inf
// when it does not within the horizon.
func least(need float64, supply func(t float64) float64) float64 {
	if need <= supply(0) || need <= 0 {
		return 0
	}
	hi := 1.0
	for supply(hi) < need {
		if hi *= 2; hi > horizon {
			return math.Inf(1)
		}
	}
	lo := 0.0
	for range 100 {
		mid := (lo + hi) / 2
		if mid <= lo || mid >= hi {
			break
		}
		if supply(mid) < need {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo // from below, so that rounding never lifts a bound
}
