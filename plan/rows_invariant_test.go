package plan

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// invariantRows are rows 29 and 31: what holds in every world.
func invariantRows() []row {
	return []row{moneyRow(), replayRow()}
}

// moneyRow is row 29: the account never exceeds the cap, whatever the
// estimates are worth and wherever the process dies.
func moneyRow() row {
	const worlds, crashes = 40, 5
	return row{
		n: 29, name: "a dollar cap, wrong estimates, 5 crashes in each of 40 worlds", seeds: []uint64{1},
		checks: []check{
			most("spent + reserved, of the cap", 1), most("billed, of the account", 1), most("answers bought twice", 0),
			{"runs that the cap stopped", true, 5, 0},
		},
		run: func(t *testing.T, seed uint64) []float64 {
			var sum moneySum
			for i := range uint64(worlds) {
				sum.play(t, seed<<32+i, crashes)
			}
			return []float64{sum.most, sum.billed, float64(sum.twice), float64(sum.stopped)}
		},
	}
}

type moneySum struct {
	most, billed   float64
	twice, stopped int
}

// purse is a job over several processes: what a journal would know of it.
type purse struct {
	limit   int64
	account int64        // spent and reserved, by the last step
	settled map[int]bool // by call, over all processes
}

func (sum *moneySum) play(t *testing.T, seed uint64, crashes int) {
	rng := rand.New(rand.NewPCG(seed, 29))
	sc, _ := randomWorld(rng)
	sc.InputNoise = 0.3
	w := randomWork(rng, &sc)
	calls := misjudged(w.calls(seed), rng)
	total := int64(0)
	for i := range w.n {
		total += calls(i).Sched.Worst
	}
	p := &purse{limit: int64(between(rng, .02, .5) * float64(total)), settled: map[int]bool{}}
	m := emulator.NewModel(sc, seed, epoch)
	now := time.Duration(0)
	for i := range crashes + 1 {
		limit := now + time.Duration(between(rng, .1, 60)*1e9)
		if i == crashes {
			limit = now + 2*day
		}
		sum.process(t, m, &sc, w.n, calls, p, now, limit)
		now = limit
	}
	bill := m.Stats(now).Billed
	if p.account > 0 {
		sum.billed = max(sum.billed, float64(bill)/float64(p.account))
	}
	if len(p.settled) < w.n {
		sum.stopped++
	}
}

// misjudged gives estimates off by up to a factor of two and a bound that
// holds all the same.
func misjudged(calls func(i int) Call, rng *rand.Rand) func(i int) Call {
	off := between(rng, .5, 2)
	return func(i int) Call {
		c := calls(i)
		c.Sched.In = int32(off * float64(c.Sched.In))
		c.Sched.Worst = worst(6*c.Arrival.Est, c.Arrival.MaxTokens)
		return c
	}
}

// process is one life of the program, until it dies at limit.
func (sum *moneySum) process(t *testing.T, m *emulator.Model, sc *emulator.Scenario, n int, calls func(i int) Call, p *purse, begin, limit time.Duration) {
	var left []int
	for i := range n {
		if !p.settled[i] {
			left = append(left, i)
		}
	}
	core := sched.New(sched.Config{
		Epoch: m.Start(), Hedge: true, Ledgers: []sched.Ledger{{Limit: p.limit, Spent: p.account}},
	})
	s := setting(sc, work{n: len(left)}, 1)
	s.Brain, s.Begin = core, begin
	s.Stream.Ledgers = []sched.LedgerID{0}
	s.Calls = func(i int) Call { return calls(left[i]) }
	s.Observe = func(now time.Duration, _ sched.Event, acts []sched.Action) {
		limit, spent, reserved := core.Ledger(0)
		p.account = spent + reserved
		sum.most = max(sum.most, float64(p.account)/float64(limit))
		if p.account > limit {
			t.Errorf("%d of %d nano-dollars at %v", p.account, limit, now)
		}
		for _, act := range acts {
			if a, ok := act.(*sched.Settle); ok {
				if i := left[a.Call-1]; p.settled[i] {
					sum.twice++
				} else {
					p.settled[i] = true
				}
			}
		}
	}
	Rehearse(m, limit, s)
}

// replayRow is row 31: the log of a run, fed to a fresh core, gives the same
// actions.
func replayRow() row {
	const worlds = 40
	return row{
		n: 31, name: "the event logs of 40 runs replayed", seeds: []uint64{1},
		checks: []check{most("steps that differ", 0), {"steps", true, 10_000, 0}},
		run: func(t *testing.T, seed uint64) []float64 {
			differ, steps := 0, 0
			for i := range uint64(worlds) {
				d, n := replayed(t, seed<<32+i)
				differ += d
				steps += n
			}
			return []float64{float64(differ), float64(steps)}
		},
	}
}

func replayed(t *testing.T, seed uint64) (differ, steps int) {
	rng := rand.New(rand.NewPCG(seed, 31))
	sc, _ := randomWorld(rng)
	w := randomWork(rng, &sc)
	w.n = min(w.n, 200)
	set := setting(&sc, w, seed)
	set.Core.Hedge = true
	var log []byte
	var acts [][]byte
	set.Observe = func(now time.Duration, ev sched.Event, done []sched.Action) {
		var err error
		if log, err = sched.AppendEvent(log, now, ev); err != nil {
			t.Fatal(err)
		}
		line, err := sched.AppendActions(nil, now, done)
		if err != nil {
			t.Fatal(err)
		}
		acts = append(acts, line)
	}
	rehearse(sc, seed, set)
	cfg := set.Core
	cfg.Epoch = epoch
	_, err := sched.Replay(cfg, bytes.NewReader(log), func(now time.Duration, ev sched.Event, done []sched.Action) error {
		line, err := sched.AppendActions(nil, now, done)
		if steps >= len(acts) || !bytes.Equal(line, acts[steps]) {
			differ++
			t.Logf("world %d, step %d at %v, %T: %s", seed, steps, now, ev, line)
		}
		steps++
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return differ + len(acts) - steps, steps
}
