package plan

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/price"
)

// supposed is a provider as one rehearsal has it, and the job's calls in it.
type supposed struct {
	job      *Job
	scenario emulator.Scenario
	pools    []string       // of the job, in the order of its classes
	models   map[string]int // model that stands for a pool's in the emulator
	price    float64        // what a dollar of the emulator's is by the job's price table
	lots     []*lot
}

// suppose builds the provider that a belief describes. Per org, one batch's rate
// and overhead are the org's; the emulator has one batch scheduler for all, so
// there the mean of those that take batches holds.
func (j *Job) suppose(b belief) *supposed {
	w := &supposed{job: j, models: map[string]int{}}
	w.poolsOf()
	if j.World != nil {
		w.scenario = *j.World
		b.n = 1 // nothing is uncertain but chance
	} else {
		w.scenario = j.provider(w, b)
	}
	w.draw(b)
	return w
}

// poolsOf finds a model of the emulator's for each pool of the job. One that the
// emulator does not know stands in for another that nobody uses.
func (w *supposed) poolsOf() {
	used := map[string]bool{}
	stand := func(pool string, model int) {
		w.pools = append(w.pools, pool)
		w.models[pool] = model
		used[emulator.PoolOf(model)] = true
	}
	for i := range w.job.Classes {
		c := &w.job.Classes[i]
		if m, ok := emulator.ModelIndex(c.Model); ok && emulator.PoolOf(m) == c.Pool && !slices.Contains(w.pools, c.Pool) {
			stand(c.Pool, m)
		}
	}
	for i := range w.job.Classes {
		c := &w.job.Classes[i]
		if slices.Contains(w.pools, c.Pool) {
			continue
		}
		for _, m := range price.Published().Models() {
			if n, ok := emulator.ModelIndex(m.ID); ok && emulator.PoolOf(n) != "" && !used[emulator.PoolOf(n)] {
				stand(c.Pool, n)
				break
			}
		}
	}
}

// provider is the emulator's default scenario with the fleet's orgs in it.
func (j *Job) provider(w *supposed, b belief) emulator.Scenario {
	sc, err := emulator.Named("default")
	if err != nil {
		panic("plan: " + err.Error()) // it is built in
	}
	sc.Orgs = nil
	rate, overhead, parallel, n := 0.0, 0.0, 0, 0
	for i := range j.Fleet.Orgs {
		o := &j.Fleet.Orgs[i]
		sc.Orgs = append(sc.Orgs, j.org(w, o))
		if o.NoBatch {
			continue
		}
		r, h := b.turnaround(o, i)
		rate += cmp.Or(o.Turnaround.RowRate, assumedRowRate) * r
		overhead += cmp.Or(o.Turnaround.Overhead, assumedOverhead).Seconds() * h
		parallel += cmp.Or(o.Turnaround.Parallel, assumedParallel)
		n++
	}
	if n > 0 {
		sc.Batches.RowsPerSecond = rate / float64(n)
		sc.Batches.Overhead = seconds(overhead / float64(n))
		sc.Batches.AtOnce = int(math.Round(float64(parallel) / float64(n)))
	}
	sc.Batches.CacheHits = batchHitsLow + (batchHitsHigh-batchHitsLow)*b.share(ofHits)
	sc.Families = j.paces(w, &sc, b)
	return sc
}

// What batches do where nothing was measured (facts/control.md D).
const (
	assumedRowRate  = 2.0
	assumedOverhead = time.Minute
	assumedParallel = 8
)

func (j *Job) org(w *supposed, o *flotilla.Org) emulator.Org {
	e := emulator.Org{Name: o.Name, BatchQueue: o.BatchQueue, BatchRPM: int64(o.BatchRPM), Pools: map[string]emulator.Limits{}}
	for _, pool := range w.pools {
		l := o.PerMinute[pool]
		e.Pools[emulator.PoolOf(w.models[pool])] = emulator.Limits{Requests: int64(l.Requests), Input: int64(l.Input), Output: int64(l.Output)}
	}
	if o.TokensPerDay > 0 {
		e.Daily = emulator.DailyCap{Tokens: o.TokensPerDay, Known: true, Text: true}
	}
	return e
}

// paces are the latencies of the job's families, by the names of those that
// stand for them.
func (j *Job) paces(w *supposed, sc *emulator.Scenario, b belief) map[string]emulator.Latency {
	out := map[string]emulator.Latency{}
	for i := range j.Classes {
		c := &j.Classes[i]
		l, measured := j.pace(sc, c.Family)
		sd, r := paceAssumed, ofPace|ofAll
		if measured {
			sd, r = paceMeasured, kinds(ofPace, i)
		}
		slow := b.factor(r, sd)
		l.TTFT = time.Duration(float64(l.TTFT) * slow)
		l.PerSecond /= slow
		out[price.FamilyOf(modelName(w.models[c.Pool]))] = l
	}
	return out
}

// pace is a family's latency as far as it is known.
func (j *Job) pace(sc *emulator.Scenario, family string) (l emulator.Latency, measured bool) {
	l, ok := sc.Families[family]
	if !ok {
		l = sc.Latency
	}
	p, ok := j.Pace[family]
	if !ok {
		return l, false
	}
	l.TTFT, l.TTFTSD = cmp.Or(p.First, l.TTFT), cmp.Or(p.FirstSD, l.TTFTSD)
	l.PerSecond, l.PerSecondSD = cmp.Or(p.PerSecond, l.PerSecond), cmp.Or(p.RateSD, l.PerSecondSD)
	return l, true
}

// modelName is the name of a model index.
func modelName(index int) string {
	for _, m := range price.Published().Models() {
		if i, ok := emulator.ModelIndex(m.ID); ok && i == index {
			return m.ID
		}
	}
	return ""
}

func (j *Job) prices() *price.Table {
	if j.Fleet.Prices != nil {
		return j.Fleet.Prices
	}
	return price.Published()
}

// draw makes the job's calls as this world will answer them.
func (w *supposed) draw(b belief) {
	total, sum, ours, theirs := 0, 0.0, 0.0, 0.0
	for i := range w.job.Classes {
		total += w.job.Classes[i].Rows
	}
	in := b.factor(ofInput, inputEstimate)
	for i := range w.job.Classes {
		c := &w.job.Classes[i]
		out := b.out(c, i)
		for _, part := range []struct {
			rows  int
			alone bool
		}{{c.Rows - c.Alone, false}, {c.Alone, true}} {
			if part.rows > 0 {
				l := w.lot(c, part.alone, in, out)
				sum += float64(part.rows) / float64(total)
				l.share = sum
				w.lots = append(w.lots, l)
			}
		}
		u := price.Usage{Input: int64(c.In + .5), Output: int64(c.Out*out + .5)}
		if m, ok := w.job.prices().Lookup(c.Model); ok && m.Priced() {
			ours += float64(c.Rows) * float64(m.Cost(u))
		}
		if m, ok := price.Published().Lookup(modelName(w.models[c.Pool])); ok {
			theirs += float64(c.Rows) * float64(m.Cost(u))
		}
	}
	w.price = 1
	if theirs > 0 {
		w.price = ours / theirs
	}
}

// golden spreads the classes of a job evenly over its rows.
const golden = 0.6180339887498949

// call is row i of the job, from 0, in the rehearsal of a seed.
func (w *supposed) call(seed uint64, i int) Call {
	_, u := math.Modf(float64(i)*golden + 0.5)
	k := 0
	for k < len(w.lots)-1 && u >= w.lots[k].share {
		k++
	}
	l := w.lots[k]
	x := scatter(uint64(i) ^ l.hash ^ seed<<32)
	c := l.calls[x%sizes]
	putHash(&c.Arrival.Hash, seed, uint64(i)+1)
	return c
}

// scatter mixes the bits of a number (splitmix64).
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func putHash(h *[16]byte, seed, row uint64) {
	for b := range 8 {
		h[b], h[8+b] = byte(seed>>(8*b)), byte(row>>(8*b))
	}
}

// seconds is a number of them as a Duration.
func seconds(s float64) time.Duration {
	if s >= float64(math.MaxInt64)/1e9 {
		return math.MaxInt64
	}
	return time.Duration(s * 1e9)
}
