package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// randomWorlds is how many worlds row 28 draws.
const randomWorlds = 1500

// randomRow is row 28: no world stalls the scheduler, and where headers tell
// the truth almost nothing is refused.
func randomRow() row {
	return row{
		n: 28, name: number(randomWorlds) + " random worlds", seeds: []uint64{1},
		checks: []check{
			most("stalls", 0), most("refused, truthful headers, %", .1), most("refused, all worlds, %", 3),
			most("above a cap", 0), most("slowest of truthful, T/(T_P + 1 min)", 3), most("lost", 0),
		},
		run: func(t *testing.T, seed uint64) []float64 {
			var sum randomSum
			for i := range uint64(randomWorlds) {
				sum.play(t, seed<<32+i)
			}
			return []float64{
				float64(sum.stalls), 100 * sum.truthful.share(), 100 * sum.all.share(),
				float64(sum.above), sum.slowest, float64(sum.lost),
			}
		},
	}
}

type refusedOf struct{ refused, attempts int }

func (r refusedOf) share() float64 { return float64(r.refused) / float64(r.attempts) }

type randomSum struct {
	stalls, above, lost int
	truthful, all       refusedOf
	slowest             float64
}

func (sum *randomSum) play(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 28))
	sc, honest := randomWorld(rng)
	w := randomWork(rng, &sc)
	set := setting(&sc, w, seed)
	set.Streamed = rng.IntN(2) == 0
	set.Core.Hedge = rng.IntN(2) == 0
	limit := 1 + rng.IntN(120)
	for i := range set.Lanes {
		set.Lanes[i].Cap = limit
	}
	o := rehearse(sc, seed, set)
	if o.Stalled {
		sum.stalls++
		t.Errorf("world %d stalls: %d of %d settled; %+v\n%+v", seed, o.Settled, o.N, sc, o.Lanes)
		return
	}
	for _, p := range o.PeakByLane {
		if p > limit {
			sum.above++
			t.Errorf("world %d: %d in flight above the cap of %d", seed, p, limit)
		}
	}
	refused := o.Failures - o.Faults
	sum.all.refused += refused
	sum.all.attempts += o.Attempts
	if sc.Flaky.Cut == 0 { // else a call may be unlucky three times
		sum.lost += o.N - o.Succeeded
	}
	if honest {
		sum.truthful.refused += refused
		sum.truthful.attempts += o.Attempts
		b := boundsOf(&sc, limit, o)
		sum.slowest = max(sum.slowest, o.Makespan().Seconds()/(b.time(polite)+60))
	}
}

// randomWorld draws a world, and says whether its headers tell the whole truth.
func randomWorld(rng *rand.Rand) (sc emulator.Scenario, honest bool) {
	honest = true
	rare := func(p float64, f func()) {
		if rng.Float64() < p {
			f()
			honest = false
		}
	}
	orgs := make([]emulator.Org, 1+rng.IntN(4))
	for i := range orgs {
		o := &orgs[i]
		o.Name = "org-" + string(rune('a'+i))
		o.Limits.Requests = int64(between(rng, 50, 10_000))
		o.Limits.Input = int64(float64(o.Limits.Requests) * between(rng, 300, 4_000))
		o.Limits.Output = int64(float64(o.Limits.Requests) * between(rng, 60, 1_000))
		o.Capacity = []float64{1, 1, .3, .1}[rng.IntN(4)]
		randomColleague(rng, o)
		rare(.08, func() { o.Hidden = time.Duration(between(rng, .5, 3) * 1e9) })
		rare(.08, func() { o.ReserveOutput = true })
		rare(.08, func() { o.Concurrency = 2 + rng.IntN(60) })
		rare(.10, func() { randomAcceleration(rng, o) })
		rare(.20, func() { randomHeaders(rng, o) })
	}
	sc = world(orgs, func(sc *emulator.Scenario) {
		sc.Latency.TTFT = time.Duration(between(rng, .1, 3) * 1e9)
		sc.Latency.PerSecond = between(rng, 20, 200)
		sc.Stragglers = emulator.Stragglers{Share: .0075 * float64(rng.IntN(3)), Min: 4, Max: 10}
		if rng.IntN(5) == 0 && !shared(orgs) { // others do not slow down: their load would grow without end
			sc.LoadKnee = between(rng, 30, 300)
		}
		rare(.15, func() {
			sc.Storm = emulator.Storm{Start: time.Duration(rng.IntN(120)) * time.Second, Every: 10 * time.Minute, Streams: .02, Phases: []emulator.StormPhase{
				{For: time.Duration(1+rng.IntN(60)) * time.Second, Share: between(rng, .5, .95)},
			}}
		})
		rare(.15, func() { sc.Flaky = emulator.Flaky{Before: .02, After: .01, Cut: .01, Reused: .05} })
	})
	return sc, honest
}

func shared(orgs []emulator.Org) bool {
	return slices.ContainsFunc(orgs, func(o emulator.Org) bool { return len(o.Colleagues) > 0 })
}

// randomColleague: a fifth of the orgs has one, who takes up to half.
func randomColleague(rng *rand.Rand, o *emulator.Org) {
	if rng.IntN(5) > 0 {
		return
	}
	c := emulator.Colleague{Kind: "poisson", Share: between(rng, .05, .5), In: int64(between(rng, 200, 3_000)), Out: 60}
	// The share is of input; its requests must leave some of theirs.
	c.In = max(c.In, int64(2*c.Share*float64(o.Limits.Input)/float64(o.Limits.Requests)))
	c.Out = min(c.Out, c.In*o.Limits.Output/o.Limits.Input)
	c.Out = max(c.Out, 1)
	if rng.IntN(2) == 0 {
		c.Off = time.Duration(30+rng.IntN(120)) * time.Second
		c.On = c.Off
	}
	o.Colleagues = []emulator.Colleague{c}
}

func randomAcceleration(rng *rand.Rand, o *emulator.Org) {
	o.Acceleration.Kind = []string{"additive", "ratio"}[rng.IntN(2)]
	o.Acceleration.First = between(rng, .1, .5)
	o.Acceleration.Step = max(1, o.Limits.Input/50)
}

func randomHeaders(rng *rand.Rand, o *emulator.Org) {
	h := &o.Headers
	switch rng.IntN(6) {
	case 0:
		h.Missing = true
	case 1:
		h.Drop = between(rng, .1, .9)
	case 2:
		h.Factor = between(rng, 1.1, 2)
	case 3:
		h.Constant, h.Factor = true, between(rng, 1, 1.7)
	case 4:
		h.Stale = between(rng, .1, .5)
	case 5:
		h.DateSkew = time.Duration(between(rng, -30, 30) * 1e9)
	}
}

// randomWork draws calls that the smallest bucket can carry.
func randomWork(rng *rand.Rand, sc *emulator.Scenario) work {
	in, out := math.Inf(1), math.Inf(1)
	for i := range sc.Orgs {
		o := &sc.Orgs[i]
		in = min(in, o.Capacity*float64(o.Limits.Input))
		out = min(out, o.Capacity*float64(o.Limits.Output))
	}
	w := work{n: 100 + rng.IntN(600)}
	w.in = int64(between(rng, 20, max(30, .05*in)))
	w.inMost = int64(max(30, .4*in))
	if rng.IntN(3) == 0 {
		w.inSD = between(rng, .3, 1.2)
	}
	w.out = int64(between(rng, 3, max(4, min(1_000, .05*out))))
	w.maxTokens = int64(float64(w.out)*between(rng, 1.2, 4)) + 10
	return w
}

// between draws evenly on a logarithmic scale where both ends are positive.
func between(rng *rand.Rand, lo, hi float64) float64 {
	if lo > 0 {
		return lo * math.Pow(hi/lo, rng.Float64())
	}
	return lo + (hi-lo)*rng.Float64()
}
