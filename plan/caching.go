package plan

import (
	"math"
	"slices"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/route"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/price"
)

// Shares of marked rows of a batch that find their beginning in a cache, as the
// provider has seen them (facts/claude-api.md 4.7).
const batchHitsLow, batchHitsHigh = 0.30, 0.98

// marked reports whether any call of the job marks a beginning for a cache.
func (j *Job) marked() bool {
	return slices.ContainsFunc(j.Classes, func(c Class) bool { return c.Prefix > 0 })
}

// usage is what an average call of a class consumes, over so many orgs, each of
// which writes every beginning once by sync; by batch as the share of hits says.
func (c *Class) usage(orgs int, batch bool, hits float64) price.Usage {
	u := price.Usage{Output: round(min(c.Out, c.MaxTokens)), Batch: batch}
	read := 0.0
	if c.Prefix > 0 && c.Rows > 0 {
		read = c.Prefix * (1 - min(1, float64(max(c.Prefixes, 1)*orgs)/float64(c.Rows)))
		if batch {
			read *= hits
		}
	}
	u.CacheRead = round(read)
	if written := round(c.Prefix - read); c.Hour {
		u.CacheWrite1h = written
	} else {
		u.CacheWrite5m = written
	}
	u.Input = max(0, round(c.In-c.Prefix))
	return u
}

func round(x float64) int64 { return int64(math.Round(x)) }

// worthKeeping is the least share of a job's dollars for which its calls are
// kept on fewer orgs.
const worthKeeping = 0.01

// timely is how much of the time allowed fewer orgs may take at best: the rest
// is for what is not known.
const timely = 0.8

// fewest is the job on as few of its orgs as its time allows, where its calls
// mark beginnings for caches, which each org writes for itself. Without a
// deadline the time is what the preference takes for in time. The orgs that
// carry the most stay.
func (j *Job) fewest() Job {
	out := *j
	if !j.marked() || j.Prefer == flotilla.Fast && j.Deadline.IsZero() || len(j.Fleet.Orgs) < 2 {
		return out
	}
	all := j.suppose(belief{seed: j.Seed, n: 1}).task(sched.Route{})
	by := j.wish().By(seconds(quickest(all))).Seconds() * timely
	whole, _ := all.Cheapest(route.Never)
	order := j.strongest()
	for k := 1; k < len(order); k++ {
		few := *j
		few.Fleet.Orgs = nil
		for i := range j.Fleet.Orgs {
			if slices.Contains(order[:k], i) {
				few.Fleet.Orgs = append(few.Fleet.Orgs, j.Fleet.Orgs[i])
			}
		}
		t := few.suppose(belief{seed: j.Seed, n: 1}).task(sched.Route{})
		cost, ok := t.Cheapest(route.Never)
		if ok && quickest(t) <= by && whole.Cost-cost.Cost >= worthKeeping*whole.Cost {
			return few
		}
	}
	return out
}

// strongest are the numbers of the job's orgs, the quickest alone first.
func (j *Job) strongest() []int {
	type org struct {
		i    int
		time float64
	}
	var orgs []org
	for i := range j.Fleet.Orgs {
		one := *j
		one.Fleet.Orgs = j.Fleet.Orgs[i : i+1]
		orgs = append(orgs, org{i, quickest(one.suppose(belief{seed: j.Seed, n: 1}).task(sched.Route{}))})
	}
	slices.SortStableFunc(orgs, func(a, b org) int {
		switch {
		case a.time < b.time:
			return -1
		case a.time > b.time:
			return 1
		}
		return 0
	})
	var out []int
	for _, o := range orgs {
		out = append(out, o.i)
	}
	return out
}
