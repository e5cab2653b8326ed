package flotilla

import (
	"sort"
	"time"

	"github.com/flotilla-llm/flotilla/internal/route"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// bounds sets the shortest times in which the work that was done could have
// been done, pool by pool and tier by tier: these share no limit, so the longest
// stands.
func (f *Fleet) bounds(t *tally, views []sched.LaneView) {
	further := time.Duration(0)
	for _, p := range f.pools {
		batches := f.batchBound(t, p, views)
		t.report.Bound, t.report.PoliteBound = max(t.report.Bound, batches), max(t.report.PoliteBound, batches)
		further = max(further, batches)
		var orgs []string
		problem := route.Problem{Soft: f.cfg.SoftFloor, Ramp: route.Ramp(f.cfg.Ramp)}
		for _, id := range p.lanes {
			v := &views[id]
			if v.Closed && v.Succeeded == 0 {
				continue // it never served anybody
			}
			orgs = append(orgs, v.Org)
			problem.Lanes = append(problem.Lanes, boundLane(v, f.lanes[id].limit()))
			if l := t.lanes[id]; l != nil {
				l.work.addTo(&problem.Work)
			}
		}
		if problem.Work.Requests == 0 {
			continue
		}
		physical, polite := route.SyncBound(problem)
		t.report.Bound = max(t.report.Bound, physical.Time)
		t.report.PoliteBound = max(t.report.PoliteBound, polite.Time)
		further = max(further, withFurtherOrg(problem))
		for i := range t.report.Binding {
			if b := &t.report.Binding[i]; b.Pool == p.name && b.Tier == tierName(sched.Sync) {
				b.raise(problem, orgs, f.lanes[p.lanes[0]].limit())
			}
		}
	}
	t.report.FurtherOrg = t.report.PoliteBound - further
}

// batchBound is the least time in which the batch tier could have answered the
// rows it did, by how its batches were seen to proceed; 0: that is not known.
// Those of batches that earlier runs made had their time before.
func (f *Fleet) batchBound(t *tally, p *poolState, views []sched.LaneView) time.Duration {
	rows := 0.0
	var lanes []route.BatchLane
	for _, id := range p.batch {
		v := &views[id]
		if l := t.lanes[id]; l != nil {
			rows += float64(l.n - l.inherited)
		}
		lanes = append(lanes, route.BatchLane{
			Queue: float64(v.Queue), Others: float64(v.QueueOthers), Overhead: v.Overhead, RowRate: v.RowRate, Parallel: v.Parallel,
		})
	}
	if rows == 0 {
		return 0
	}
	if bound := route.BatchBound(lanes, rows); bound < route.Never {
		return bound
	}
	return 0
}

// boundLane is a lane as the bound sees it. The cap is the etiquette cap and not
// the share of it that happens to be ours at the end.
func boundLane(v *sched.LaneView, limit int) route.Lane {
	l := route.Lane{Cap: limit}
	for d, to := range [...]route.Dim{sched.Requests: route.Requests, sched.Input: route.Input, sched.Output: route.Output} {
		l.PerMinute[to] = v.Refill[d] * 60
		l.Capacity[to] = v.Capacity[d]
		l.Others[to] = v.Others[d]
	}
	return l
}

func (w *work) addTo(to *route.Work) {
	to.Requests += w.requests
	to.Input += w.input
	to.Output += w.output
	to.Latency += w.latency
	to.Longest = max(to.Longest, w.most)
	if to.Shortest == 0 || w.least > 0 && w.least < to.Shortest {
		to.Shortest = w.least
	}
}

// bindings turns the clocks of all lanes since the start into shares of the
// time in which calls waited or were worked on. Where there are two tiers, a lane
// that has nothing to send is as the route has it, and no waiting.
func bindings(views, before []sched.LaneView, tiers bool) []Binding {
	var out []Binding
	var total time.Duration
	for i := range views {
		for l := range sched.NumLimits {
			d := views[i].Clocks[l]
			if i < len(before) {
				d -= before[i].Clocks[l]
			}
			if d <= 0 || l == sched.LimitNone || tiers && l == sched.LimitWork {
				continue
			}
			total += d
			out = append(out, Binding{Limit: l.Name(), Org: views[i].Org, Pool: views[i].Pool, Tier: tierName(views[i].Tier), Share: float64(d)})
		}
	}
	for i := range out {
		out[i].Share /= float64(total)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Share > out[j].Share })
	return out
}
