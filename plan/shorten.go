package plan

import (
	"math"
	"time"

	"github.com/flotilla-llm/flotilla/internal/route"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// A rehearsal of more than shortFrom calls leaves the middle out: it runs the
// head, in which windows open and buckets drain, steadyCalls of steady state, and
// the tail. What was left out is carried at the rate of the steady state.
const (
	shortFrom    = 100_000
	steadyCalls  = 20_000
	settleTime   = 90 * time.Second // the polite ramp, and half a minute
	worthCutting = 0.8              // of a job: what is left out must be more than the rest
)

// Batches end many rows at once, and at the end of a job they are waited for. So
// of routes with batches more is rehearsed: so many calls at least, and what
// takes so long at best.
const (
	leastHybrid = 100_000
	hybridTime  = 30 * time.Minute
	leastBatch  = 200_000
)

// cut is what of a job is rehearsed.
type cut struct {
	all, rows int
	from, to  int // the steady state, in settled calls
	route     sched.Route
	budget    float64 // nano-dollars for these rows
	even      bool    // the whole is as the part, but for the overhead
}

func (j *Job) rows() (n int) {
	for i := range j.Classes {
		n += j.Classes[i].Rows
	}
	return n
}

// cut says which part of the job to rehearse for a route.
func (w *supposed) cut(r sched.Route, budget float64) cut {
	n := w.job.rows()
	c := cut{all: n, rows: n, route: r, budget: budget}
	if n <= shortFrom || w.job.entire || w.changes() {
		return c
	}
	t := w.task(r)
	switch {
	case !r.Batch:
		head := w.settled(t, n)
		tail := 2 * w.windows()
		c.shorten(head, steadyCalls, tail)
	case r.Target == 0:
		rows := max(leastHybrid, int(t.Fit(hybridTime, math.Inf(1)).Rows))
		c.shorten(rows/2, rows*7/20, rows*3/20)
	default:
		c.shorten(leastBatch/2, leastBatch*7/20, leastBatch*3/20)
	}
	if c.rows == n {
		return c
	}
	c.scale(w, r)
	return c
}

// settled is after how many calls a job by sync runs as it will to its end: the
// windows are open and no bucket gives more than its refill. In between the
// fluid time of a call grows, and it never falls.
func (w *supposed) settled(t route.Task, n int) int {
	const part = 0.02
	slope := func(share float64) float64 {
		return quickest(scaled(t, share+part)) - quickest(scaled(t, share))
	}
	last := slope(1 - part)
	lo, hi := 0.0, 1-part
	for range 12 {
		if mid := (lo + hi) / 2; slope(mid) < last*0.99 {
			lo = mid
		} else {
			hi = mid
		}
	}
	ramp := t.Fit(settleTime, math.Inf(1)).Rows
	return int(hi*float64(n) + ramp)
}

func (c *cut) shorten(head, steady, tail int) {
	if rows := head + steady + tail; float64(rows) < worthCutting*float64(c.all) {
		c.rows, c.from, c.to = rows, head, head+steady
	}
}

// scale fits budget and target to the rows that are rehearsed. A budget goes
// with the rows. A target comes nearer by what batches take for the others;
// where that leaves no time to speak of, the job is rehearsed whole.
func (c *cut) scale(w *supposed, r sched.Route) {
	left := c.all - c.rows
	if c.budget > 0 {
		c.budget *= float64(c.rows) / float64(c.all)
		c.even = true
	}
	if r.Target > 0 && r.Target != sched.Never {
		rate := 0.0
		t := w.task(r)
		for k := range t.Orgs {
			rate += t.Orgs[k].Batch.Rate()
		}
		c.route.Target = r.Target - seconds(float64(left)/max(rate, 1e-3))
		if c.route.Target < leastTarget {
			c.rows, c.route, c.even = c.all, r, false
		}
	}
}

// leastTarget is the nearest target that a shortened rehearsal may have.
const leastTarget = 40 * time.Minute

// windows is how many calls may be in flight in all lanes together.
func (w *supposed) windows() (n int) {
	for i := range w.job.Fleet.Orgs {
		if w.job.Fleet.Orgs[i].NoSync {
			continue
		}
		for _, pool := range w.pools {
			n += w.job.cap(w.family(pool))
		}
	}
	return n
}

// changes reports whether there is no steady state: a daily cap that the job
// meets, or batches whose speed goes by the hour.
func (w *supposed) changes() bool {
	if h := w.scenario.Batches.Hours; h.From != h.To {
		return true
	}
	tokens := 0.0
	for i := range w.job.Classes {
		c := &w.job.Classes[i]
		tokens += float64(c.Rows) * (c.In + c.Out)
	}
	for i := range w.scenario.Orgs {
		if d := w.scenario.Orgs[i].Daily.Tokens; d > 0 && tokens > float64(d) {
			return true
		}
	}
	return false
}

// carryOn adds the rows that were left out to a trial, at the rate of the
// steady state.
func (w *supposed) carryOn(t *trial, c cut, m *meter) {
	left := float64(c.all - c.rows)
	if !m.second.passed || m.second.at <= m.first.at {
		t.stretch(left/float64(c.rows), 1)
		return
	}
	if c.even {
		fixed := w.scenario.Batches.Overhead.Seconds()
		t.stretch(left/float64(c.rows), max(0, 1-fixed/max(t.took.Seconds(), 1)))
		return
	}
	sync, batch := m.rates()
	extra := left / (sync + batch)
	t.took += seconds(extra)
	t.add(extra*sync, extra*batch)
	span := (m.second.at - m.first.at).Seconds()
	for i := range t.lanes {
		for l := range t.lanes[i].Clocks {
			in := m.second.lanes[i].Clocks[l] - m.first.lanes[i].Clocks[l]
			t.lanes[i].Clocks[l] += time.Duration(float64(in) * extra / span)
		}
	}
}

// add counts rows at the mean cost that their tier has had.
func (t *trial) add(sync, batch float64) {
	each := func(cost, rows float64) float64 {
		if rows == 0 {
			return 0
		}
		return cost / rows
	}
	s, b := sync*each(t.syncCost, t.syncRows), batch*each(t.batchCost, t.batchRows)
	t.syncCost, t.batchCost, t.cost = t.syncCost+s, t.batchCost+b, t.cost+s+b
	t.syncRows, t.batchRows, t.settled = t.syncRows+sync, t.batchRows+batch, t.settled+sync+batch
}

// stretch makes a trial longer by a share of its rows, and of that part of its time.
func (t *trial) stretch(by, part float64) {
	t.took += seconds(t.took.Seconds() * part * by)
	t.add(t.syncRows*by, t.batchRows*by)
}
