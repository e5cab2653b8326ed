package main

import (
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// pool is that of the judge's model.
const pool = "sonnet-4.x"

// taught is what the profile knows of an org; without one, nothing is known and
// headers will tell.
func taught(p *lab.Profile, name string, now time.Time) flotilla.Org {
	o := flotilla.Org{Name: name}
	if p != nil {
		p.Teach(&o, "", now)
	}
	return o
}

// syncLanes are the sync lanes of some orgs as a Fleet opens them.
func syncLanes(sc *emulator.Scenario, orgs []string, p *lab.Profile) (out []sched.LaneConfig) {
	for i := range sc.Orgs {
		name := sc.Orgs[i].Name
		if !slices.Contains(orgs, name) {
			continue
		}
		l := sched.LaneConfig{Org: name, Pool: pool, Group: int32(i), Cap: flotilla.DefaultConc(family)}
		if p != nil {
			o := taught(p, name, p.Measured)
			known := o.PerMinute[pool]
			l.PerMinute = [sched.NumDims]float64{sched.Requests: known.Requests, sched.Input: known.Input, sched.Output: known.Output}
			l.TokensPerDay = o.TokensPerDay
		}
		out = append(out, l)
	}
	return out
}

// batchLanes are their batch lanes.
func batchLanes(sc *emulator.Scenario, orgs []string, p *lab.Profile) (out []sched.LaneConfig) {
	for i := range sc.Orgs {
		name := sc.Orgs[i].Name
		if !slices.Contains(orgs, name) {
			continue
		}
		l := sched.LaneConfig{Org: name, Pool: pool, Tier: sched.Batch, Group: -1}
		if p != nil {
			o := taught(p, name, p.Measured)
			l.Queue, l.BatchRPM = o.BatchQueue, o.BatchRPM
			l.Overhead, l.RowRate, l.Parallel = o.Turnaround.Overhead, o.Turnaround.RowRate, o.Turnaround.Parallel
		}
		out = append(out, l)
	}
	return out
}
