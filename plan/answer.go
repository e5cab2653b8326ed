package plan

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/route"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// reasons are why a candidate was chosen, for people.
var reasons = map[route.Reason]string{
	route.Only: "the only one", route.Cheapest: "the cheapest in time", route.Quickest: "the quickest inside the cap",
	route.OverCap: "the cheapest: none is inside the cap", route.TooLate: "the quickest inside the cap: none is in time",
}

// reason names no deadline and no cap where there is none.
func (j *Job) reason(why route.Reason) string {
	switch {
	case why == route.Cheapest && j.Deadline.IsZero() && j.Prefer == flotilla.Cheap:
		return "the cheapest within a day"
	case why == route.Cheapest && j.Deadline.IsZero():
		return "the cheapest within an hour or twice the quickest's time"
	case j.Cap == 0 && why == route.Quickest:
		return "the quickest"
	case j.Cap == 0 && why == route.TooLate:
		return "the quickest: none is in time"
	}
	return reasons[why]
}

// choose orders the candidates by price and picks one by the rules of interface.md.
func (j *Job) choose(f *Forecast, of []*Candidate) {
	slices.SortStableFunc(of, func(a, b *Candidate) int { return cmp.Compare(a.CostP50, b.CostP50) })
	all := slices.Clone(of)
	of = slices.DeleteFunc(of, func(c *Candidate) bool { return j.onlySync(c) || onlyBatch(c, all) })
	if left := slices.DeleteFunc(slices.Clone(of), j.runsDry); len(left) > 0 {
		of = left
	}
	var list []route.Candidate
	for _, c := range of {
		c.InTime = j.Deadline.IsZero() || c.P90 <= j.until()
		c.Affordable = j.Cap == 0 || c.CostP95 <= j.Cap
		c.Meets = c.InTime && c.Affordable
		list = append(list, route.Candidate{P90: c.P90, Cost: int64(c.CostP50), Most: int64(c.CostP95), SyncCalls: int64(c.SyncRows)})
		f.Candidates = append(f.Candidates, *c)
	}
	choice := route.Choose(list, j.wish())
	f.Chosen, f.Why = choice.Index, j.reason(choice.Why)
	f.Feasible = f.Candidates[f.Chosen].Meets
}

// onlySync reports whether a candidate with batches has come out as sync alone,
// which is a candidate of its own.
func (j *Job) onlySync(c *Candidate) bool {
	return c.of.route.Batch && !c.of.route.NoSync && c.BatchRows == 0 && c.P50 != Never
}

// onlyBatch reports whether a candidate has come out as batches alone, with one
// of that name beside it.
func onlyBatch(c *Candidate, of []*Candidate) bool {
	return c.Name == BatchName && c.of.name == ThriftName &&
		slices.ContainsFunc(of, func(x *Candidate) bool { return x.of.name == BatchName })
}

// runsDry reports whether a candidate spends the cap before its end.
func (j *Job) runsDry(c *Candidate) bool { return c.P50 == Never && j.budget(c.of.route) > 0 }

// answer fills in what goes beyond the candidates: bounds, what would fit, what
// one could have besides.
func (j *Job) answer(f *Forecast) {
	w := j.suppose(belief{seed: j.Seed, n: 1})
	chosen := &f.Candidates[f.Chosen]
	f.bounds(w)
	j.fits(f, w)
	step := stepper{w: w, route: chosen.of.route, p50: chosen.P50}
	f.FurtherOrg = step.furtherOrg()
	f.HalfBatch = j.half(w, chosen)
	f.lengths(j)
}

// bounds are the longest of the bounds by pool: pools share no limit but a
// family's cap, which each is taken to have for itself.
func (f *Forecast) bounds(w *supposed) {
	t := w.task(sched.Route{})
	for pool := range w.pools {
		p := route.Problem{Soft: t.Soft, Ramp: t.Ramp}
		for k := range t.Orgs {
			p.Lanes = append(p.Lanes, t.Orgs[k].Lanes[pool])
		}
		for i := range t.Classes {
			if c := &t.Classes[i]; c.Pool == pool && c.Rows > 0 {
				p.Work.Requests += c.Rows
				p.Work.Input += c.Rows * c.Input
				p.Work.Output += c.Rows * c.Output
				p.Work.Latency += seconds(c.Rows * c.Latency.Seconds())
				p.Work.Longest = max(p.Work.Longest, c.Longest)
				if p.Work.Shortest == 0 || c.Shortest < p.Work.Shortest {
					p.Work.Shortest = c.Shortest
				}
			}
		}
		physical, polite := route.SyncBound(p)
		if physical.Time >= f.Bound {
			f.Bound, f.BoundLimit = physical.Time, physical.Limit.String()
		}
		if polite.Time >= f.Polite {
			f.Polite, f.PoliteLimit = polite.Time, polite.Limit.String()
		}
	}
}

// everything leaves both tiers open.
var everything = sched.Route{Batch: true}

// fits says what of the job fits into deadline and cap, over all tiers that it
// may use, and what is missing.
func (j *Job) fits(f *Forecast, w *supposed) {
	f.Shortest = Never
	least := flotilla.Money(math.MaxInt64)
	for i := range f.Candidates {
		c := &f.Candidates[i]
		f.Shortest = min(f.Shortest, c.P50)
		if c.InTime {
			least = min(least, c.CostP95)
		}
	}
	if least == math.MaxInt64 { // none is in time: what all rows cost at any time
		for i := range f.Candidates {
			least = min(least, f.Candidates[i].CostP95)
		}
	}
	if j.Cap != 0 {
		f.Missing = max(0, least-max(j.Cap, 0))
	}
	r := everything
	switch j.Tier {
	case SyncTier:
		r = sched.Route{}
	case BatchTier:
		r = sched.Route{Batch: true, NoSync: true}
	}
	t := w.task(r)
	by, budget := route.Never, math.Inf(1)
	if !j.Deadline.IsZero() {
		by = j.until()
	}
	if j.Cap != 0 {
		budget = max(j.Cap, 0).Float()
	}
	f.RowsInTime = j.whole(t.Fit(by, math.Inf(1)))
	f.RowsWithin = j.whole(t.Fit(route.Never, budget))
	f.RowsFit = j.whole(t.Fit(by, budget))
}

// whole is how many rows a split carries, the last digits of a sum of shares
// being chance.
func (j *Job) whole(s route.Split) int { return min(int(s.Rows*(1+1e-6)), j.rows()) }

// half is what batches for half of the rows would save of sync alone.
func (j *Job) half(w *supposed, chosen *Candidate) flotilla.Money {
	if chosen.BatchRows > 0 {
		return 0
	}
	t := w.task(everything)
	rows, saved := 0.0, 0.0
	for i := range t.Classes {
		c := &t.Classes[i]
		rows += c.Rows
		if !c.Alone {
			saved += c.Rows * (c.Sync - c.Batch)
		}
	}
	if _, batch := j.open(); batch < route.BatchFrom || rows == 0 {
		return 0
	}
	return flotilla.USD(saved / 2)
}

// lengths says what answers are taken to be long, over all classes.
func (f *Forecast) lengths(j *Job) {
	rows, most := 0, 0
	for i := range j.Classes {
		c := &j.Classes[i]
		rows += c.Rows
		f.OutTokens += float64(c.Rows) * min(c.Out, c.MaxTokens)
		f.OutBound = f.OutBound || c.OutBound
		if c.Rows > most {
			most, f.OutSource = c.Rows, c.OutSource
		}
	}
	f.OutTokens /= float64(rows)
}

// slowed finds by how much the cap slows the chosen route: the same rehearsals
// without it.
func (j *Job) slowed(ctx context.Context, f *Forecast) error {
	c := &f.Candidates[f.Chosen]
	if j.budget(c.of.route) == 0 || c.P50 == Never {
		return nil
	}
	free := *j
	free.Cap = 0
	const times = 3
	of, err := free.rehearse(ctx, []way{c.of}, times)
	if err != nil {
		return err
	}
	if with, without := c.P50, of[0].P50; without < with && with-without > worthSaying(with) {
		f.SlowedBy = with - without
	}
	return nil
}

// worthSaying is the least difference of two medians that is more than chance.
func worthSaying(d time.Duration) time.Duration { return max(d/50, 5*time.Second) }

// alone is how many of the job's rows no batch may carry.
func (j *Job) alone() (n float64) {
	for i := range j.Classes {
		n += float64(j.Classes[i].Alone)
	}
	return n
}

// laneReports are the lanes of a candidate's first rehearsal, with rows and
// dollars of the sync ones in proportion to all.
func (c *Candidate) laneReports(sync float64) (out []flotilla.LaneReport) {
	t := c.trials[0]
	sum := int64(0)
	for i := range t.lanes {
		if t.lanes[i].Tier == sched.Sync {
			sum += t.lanes[i].Succeeded
		}
	}
	for i := range t.lanes {
		v := &t.lanes[i]
		r := flotilla.LaneReport{Org: v.Org, Pool: t.world.poolNamed(v.Pool), Tier: [...]string{"sync", "batch"}[v.Tier], Cap: v.Cap, Peak: v.Peak}
		if v.Tier == sched.Sync && sum > 0 {
			share := float64(v.Succeeded) / float64(sum)
			r.N = int(math.Round(sync * share))
			r.Cost = flotilla.Money(t.syncCost * share)
		}
		out = append(out, r)
	}
	return out
}
