package plan

import (
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/route"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Names of candidates.
const (
	SyncName   = "sync"   // sync alone
	BatchName  = "batch"  // batches; sync takes what no batch may carry
	HybridName = "hybrid" // both tiers at full until they meet
	ThriftName = "thrift" // batches, and by sync what they will not have answered in time
)

// way is a route that is forecast.
type way struct {
	name  string
	route sched.Route
}

// ways are the routes that a job could take.
func (j *Job) ways() []way {
	sync, batch := j.open()
	both := []way{{SyncName, sched.Route{}}}
	switch {
	case j.Tier == BatchTier && batch > 0, !sync && batch > 0:
		return []way{{BatchName, sched.Route{Batch: true, NoSync: true}}}
	case j.Tier != AnyTier, batch < route.BatchFrom:
		return both
	case !j.Deadline.IsZero():
		both = append(both, way{ThriftName, sched.Route{Batch: true, Target: before(j.until())}})
	}
	if j.Deadline.IsZero() || j.Cap != 0 { // a cap goes before a deadline
		both = append(both, way{BatchName, sched.Route{Batch: true, Target: sched.Never}})
	}
	return append(both, way{HybridName, sched.Route{Batch: true}})
}

// open says whether sync is open to the job, and to how many of its rows batch is.
func (j *Job) open() (sync bool, batch int) {
	batches := false
	for i := range j.Fleet.Orgs {
		sync = sync || !j.Fleet.Orgs[i].NoSync
		batches = batches || !j.Fleet.Orgs[i].NoBatch
	}
	if batches {
		for i := range j.Classes {
			batch += j.Classes[i].Rows - j.Classes[i].Alone
		}
	}
	return sync, batch
}

// until is how long the job may take; 0: there is no deadline.
func (j *Job) until() time.Duration {
	if j.Deadline.IsZero() {
		return 0
	}
	return max(j.Deadline.Sub(j.Start), 1)
}

// thrift is the cheap way that is in time where batches alone are not, and there
// is no deadline: what preference takes for in time, with a margin for chance.
func (j *Job) thrift(of []*Candidate) (way, bool) {
	if j.Tier != AnyTier || !j.Deadline.IsZero() || j.Prefer == flotilla.Fast {
		return way{}, false
	}
	quickest, batch := time.Duration(sched.Never), time.Duration(-1)
	for _, c := range of {
		quickest = min(quickest, c.P90)
		if c.Name == BatchName {
			batch = c.P90
		}
	}
	by := j.wish().By(quickest)
	if batch <= by { // there is none, or it is in time
		return way{}, false
	}
	return way{ThriftName, sched.Route{Batch: true, Target: before(by)}}, true
}

// before is what a thrifty route aims at to be in time: a little sooner, for
// what chance does to the last batches and calls.
func before(d time.Duration) time.Duration { return d - min(d/10, 5*time.Minute) }

func (j *Job) wish() route.Wish {
	return route.Wish{
		Prefer:   [...]route.Prefer{flotilla.Balanced: route.Balanced, flotilla.Fast: route.Fast, flotilla.Cheap: route.Cheap}[j.Prefer],
		Deadline: j.until(), Cap: int64(j.Cap),
	}
}

// of is a route as a Fleet takes it.
func (j *Job) of(r sched.Route) flotilla.Route {
	out := flotilla.Route{Batch: r.Batch, NoSync: r.NoSync}
	switch {
	case r.Target == sched.Never:
		out.Patient = true
	case r.Target > 0:
		out.Target = j.Start.Add(r.Target)
	}
	return out
}
