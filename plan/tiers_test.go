package plan

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// named is a scenario of the command.
func named(t testing.TB, name string) emulator.Scenario {
	t.Helper()
	sc, err := emulator.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// judgeWork is what a judge's calls look like: 400 tokens in, 60 out. The
// scenario draws the answers.
func judgeWork(seed uint64, model string) func(i int) Call {
	index, ok := emulator.ModelIndex(model)
	if !ok {
		panic("no model " + model)
	}
	const in, maxTokens = 400, 256
	most := worst(in, maxTokens)
	return func(i int) Call {
		a := emulator.Arrival{Model: index, Est: in, MaxTokens: maxTokens}
		binary.LittleEndian.PutUint64(a.Hash[:8], seed<<32^0x6a75646765)
		binary.LittleEndian.PutUint64(a.Hash[8:], uint64(i)+1)
		return Call{Arrival: a, Sched: sched.Call{In: in, MaxOut: maxTokens, Worst: most}}
	}
}

// bothTiers opens a sync and a batch lane per org with the etiquette caps.
func bothTiers(sc *emulator.Scenario, model string, cap int) []sched.LaneConfig {
	index, _ := emulator.ModelIndex(model)
	p := emulator.PoolOf(index)
	var out []sched.LaneConfig
	for i := range sc.Orgs {
		out = append(out, sched.LaneConfig{Org: sc.Orgs[i].Name, Pool: p, Group: int32(i), Cap: cap})
	}
	for i := range sc.Orgs {
		o := &sc.Orgs[i]
		out = append(out, sched.LaneConfig{
			Org: o.Name, Pool: p, Tier: sched.Batch, Group: -1,
			Queue: o.BatchQueue, BatchRPM: float64(o.BatchRPM),
		})
	}
	return out
}

const (
	sonnet = "claude-sonnet-4-6"
	haiku  = "claude-haiku-4-5"
	opus   = "claude-opus-4-8"
)

// judgeJob is a job of so many judge's calls over both tiers.
func judgeJob(sc *emulator.Scenario, n int, seed uint64, route sched.Route, changes ...func(*Setting)) Setting {
	s := Setting{
		Core: sched.Config{Seed: seed}, Lanes: bothTiers(sc, sonnet, 100), N: n, Calls: judgeWork(seed, sonnet), Streamed: true,
		Stream: sched.StreamConfig{N: int64(n), Route: route},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// at rehearses one job on a model that starts at the given time of day, and
// holds it to what every job owes.
func at(t testing.TB, sc emulator.Scenario, hour float64, seed uint64, s Setting) *Outcome {
	t.Helper()
	start := epoch.Add(time.Duration((hour - 9) * float64(time.Hour)))
	o := Rehearse(emulator.NewModel(sc, seed, start), 48*time.Hour, s)[0]
	o.owes(t)
	return o
}

// owes: every call ends once, none is lost, and no rows are bought twice.
func (o *Outcome) owes(t testing.TB) {
	t.Helper()
	if o.Stalled || o.Settled != o.N || o.Succeeded != o.N {
		t.Errorf("%d of %d calls settled, %d succeeded, stalled %v", o.Settled, o.N, o.Succeeded, o.Stalled)
	}
	if o.SyncRows+o.BatchRows != o.N {
		t.Errorf("%d rows by sync and %d by batch of %d", o.SyncRows, o.BatchRows, o.N)
	}
	if o.Doubled > 0 {
		t.Errorf("%d batches were bought twice", o.Doubled)
	}
}

func dollars(nanos int64) float64 { return float64(nanos) / 1e9 }
