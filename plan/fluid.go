package plan

import (
	"math"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/route"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/price"
)

// task is the job as internal/route sees it: rates without chance, for bounds,
// for what fits, and for what a limit that is raised would save. Only those
// tiers are open that a route may take.
func (w *supposed) task(r sched.Route) route.Task {
	j := w.job
	t := route.Task{Soft: j.Fleet.SoftFloor, Ramp: route.Ramp(j.Fleet.Ramp)}
	for i := range j.Classes {
		t.Classes = append(t.Classes, w.classes(&j.Classes[i], r.Batch)...)
	}
	for i := range j.Fleet.Orgs {
		t.Orgs = append(t.Orgs, w.site(&j.Fleet.Orgs[i], r))
	}
	return t
}

// classes are a class's calls that a batch may carry, and the others.
func (w *supposed) classes(c *Class, batch bool) []route.Class {
	latency := w.latency(c)
	one := route.Class{
		Rows: float64(c.Rows - c.Alone), Pool: slices.Index(w.pools, c.Pool), Input: c.In, Output: min(c.Out, c.MaxTokens),
		Latency: latency, Shortest: latency / 2, Longest: latency, Alone: !batch,
	}
	orgs := len(w.job.Fleet.Orgs)
	sync := c.usage(orgs, false, 0)
	one.Input -= float64(sync.CacheRead) // what a cache gives counts against no limit
	if m, ok := w.job.prices().Lookup(c.Model); ok {
		one.Sync = m.Cost(sync).Float()
		one.Batch = m.Cost(c.usage(orgs, true, w.scenario.Batches.CacheHits)).Float()
	}
	two := one
	two.Rows, two.Alone = float64(c.Alone), true
	return []route.Class{one, two}
}

// latency is how long a call of a class takes on average: lognormals have means
// above their medians, and stragglers count.
func (w *supposed) latency(c *Class) time.Duration {
	l := w.pace(c)
	mean := l.TTFT.Seconds() * math.Exp(l.TTFTSD*l.TTFTSD/2)
	if l.Prefill > 0 {
		mean += c.In / l.Prefill
	}
	if l.PerSecond > 0 {
		mean += min(c.Out, c.MaxTokens) / l.PerSecond * math.Exp(l.PerSecondSD*l.PerSecondSD/2)
	}
	s := w.scenario.Stragglers
	return seconds(mean * (1 + s.Share*((s.Min+s.Max)/2-1)))
}

// pace is the latency of a class in this world.
func (w *supposed) pace(c *Class) emulator.Latency {
	if l, ok := w.scenario.Families[price.FamilyOf(modelName(w.models[c.Pool]))]; ok {
		return l
	}
	return w.scenario.Latency
}

func (w *supposed) site(o *flotilla.Org, r sched.Route) route.Site {
	s := route.Site{}
	var families []string
	for _, pool := range w.pools {
		family := w.family(pool)
		if !slices.Contains(families, family) {
			families = append(families, family)
		}
		l := route.Lane{}
		if !o.NoSync && !r.NoSync {
			known := o.PerMinute[pool]
			l.Cap = w.job.cap(family)
			l.PerMinute = [route.NumDims]float64{known.Requests, known.Input, known.Output}
		}
		s.Lanes = append(s.Lanes, l)
		s.Group = append(s.Group, slices.Index(families, family))
	}
	if b := w.scenario.Batches; !o.NoBatch && r.Batch {
		s.Batch = route.BatchLane{
			Queue: float64(o.BatchQueue), Overhead: b.Overhead,
			RowRate: orDefault(b.RowsPerSecond, assumedRowRate), Parallel: int(orDefault(float64(b.AtOnce), assumedParallel)),
		}
	}
	return s
}

func orDefault(v, otherwise float64) float64 {
	if v > 0 {
		return v
	}
	return otherwise
}

// family is the one whose cap a pool's lanes share.
func (w *supposed) family(pool string) string {
	for i := range w.job.Classes {
		if c := &w.job.Classes[i]; c.Pool == pool {
			return c.Family
		}
	}
	return ""
}

// cap is how many calls of a family may be in flight in one org.
func (j *Job) cap(family string) int {
	if n := j.Fleet.Conc[family]; n > 0 {
		return n
	}
	return flotilla.DefaultConc(family)
}

// scaled is a task with so many of its rows, all classes alike.
func scaled(t route.Task, share float64) route.Task {
	t.Classes = slices.Clone(t.Classes)
	for i := range t.Classes {
		t.Classes[i].Rows *= share
	}
	return t
}

// quickest is the shortest time that a task could take, in seconds; +Inf: never.
func quickest(t route.Task) float64 {
	s, ok := t.Fastest(math.Inf(1))
	if !ok {
		return math.Inf(1)
	}
	return s.Time.Seconds()
}
