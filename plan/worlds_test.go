package plan

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// epoch begins at a whole minute, as acceleration ceilings do.
var epoch = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// Limits of facts/control.md part 0.
var (
	startTier = emulator.Limits{Requests: 1_000, Input: 2_000_000, Output: 400_000}
	scaleTier = emulator.Limits{Requests: 10_000, Input: 10_000_000, Output: 2_000_000}
)

// world is a scenario of facts/control.md part F: 0.6 s to the first token, 75
// tokens a second, buckets of a minute, truthful headers.
func world(orgs []emulator.Org, changes ...func(*emulator.Scenario)) emulator.Scenario {
	sc := emulator.Scenario{
		Name: "part-f", Orgs: orgs,
		Latency:    emulator.Latency{TTFT: 600 * time.Millisecond, TTFTSD: 0.35, PerSecond: 75, PerSecondSD: 0.25, Prefill: 40_000},
		Answer:     emulator.Answer{SD: 0.2},
		InputNoise: 0.05,
	}
	for _, change := range changes {
		change(&sc)
	}
	return sc
}

// one is a single org.
func one(l emulator.Limits, changes ...func(*emulator.Org)) []emulator.Org {
	orgs := emulator.Uniform(1, l)
	for _, change := range changes {
		change(&orgs[0])
	}
	return orgs
}

// work is the shape of a job's calls.
type work struct {
	n         int
	in, out   int64   // medians, tokens
	inSD      float64 // of the logarithm
	inMost    int64
	maxTokens int64  // 0: twice out and 100
	salt      uint64 // tells the bodies of two jobs apart
	model     string // "": claude-sonnet-4-6
}

func (w work) limit() int64 {
	if w.maxTokens > 0 {
		return w.maxTokens
	}
	return 2*w.out + 100
}

// calls gives the job's calls: the same each time, and with other lengths for
// each seed.
func (w work) calls(seed uint64) func(i int) Call {
	name := w.model
	if name == "" {
		name = "claude-sonnet-4-6"
	}
	model, ok := emulator.ModelIndex(name)
	if !ok {
		panic("no model " + name)
	}
	return func(i int) Call {
		a := emulator.Arrival{Model: model, Hash: bodyHash(seed, w.salt, i), Est: w.in, MaxTokens: w.limit()}
		rng := rand.New(rand.NewPCG(seed<<8^w.salt, uint64(i)))
		if w.inSD > 0 {
			a.Est = int64(float64(w.in) * math.Exp(w.inSD*rng.NormFloat64()))
			a.Est = max(1, min(a.Est, w.inMost))
		}
		a.Out = max(1, min(w.limit(), int64(float64(w.out)*math.Exp(0.2*rng.NormFloat64()))))
		return Call{Arrival: a, Sched: sched.Call{In: int32(a.Est), MaxOut: int32(w.limit()), Worst: worst(a.Est, w.limit())}}
	}
}

// The jobs of rows 1 to 4: each bound by what it is named for.
var (
	rpmWork  = work{n: 10_000, in: 800, out: 20}
	itpmWork = work{n: 10_000, in: 8_000, out: 20}
	otpmWork = work{n: 10_000, in: 500, out: 700} // with a cap of 200
	capWork  = work{n: 10_000, in: 500, out: 300} // at Scale limits
)

// worst is an upper bound of a call's nano-dollars at Sonnet's prices: the
// input as a cache write, half as long again as estimated.
func worst(in, maxTokens int64) int64 { return (in+in/2+100)*3750 + maxTokens*15_000 }

func bodyHash(seed, salt uint64, i int) (h [16]byte) {
	binary.LittleEndian.PutUint64(h[:8], seed<<32^salt)
	binary.LittleEndian.PutUint64(h[8:], uint64(i)+1)
	return h
}

const pool = "sonnet-4.x"

// lanes opens one lane per org with the etiquette cap of 100.
func lanes(sc *emulator.Scenario) []sched.LaneConfig {
	out := make([]sched.LaneConfig, len(sc.Orgs))
	for i := range sc.Orgs {
		out[i] = sched.LaneConfig{Org: sc.Orgs[i].Name, Pool: pool, Group: int32(i), Cap: 100}
	}
	return out
}

// setting is a job over all orgs of a scenario, its answers streamed.
func setting(sc *emulator.Scenario, w work, seed uint64, changes ...func(*Setting)) Setting {
	s := Setting{
		Core:  sched.Config{Seed: seed},
		Lanes: lanes(sc), N: w.n, Calls: w.calls(seed), Streamed: true,
		Stream: sched.StreamConfig{N: int64(w.n)},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// day is more than any world here takes, but for those with a daily cap.
const day = 24 * time.Hour

// rehearse runs one job alone.
func rehearse(sc emulator.Scenario, seed uint64, s Setting) *Outcome {
	return Rehearse(emulator.NewModel(sc, seed, epoch), day, s)[0]
}
