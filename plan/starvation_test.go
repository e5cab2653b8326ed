package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// starved is a job under a scheduler that starves batches, with a deadline.
type starved struct {
	scenario string
	hour     float64 // of the day it begins at, UTC
	within   time.Duration
	n        int
	seed     uint64
}

// hindsight is how many rows somebody would send by sync who knows the
// scheduler's rates: all but those that batches can end by the deadline, with
// each org's places never empty, below the depth and the size that starve.
func (s *starved) hindsight(sc *emulator.Scenario) int {
	const perSecond, places, overhead, step = 2, 8, 60, 10
	rows := 0.0
	for at := overhead; at < int(s.within.Seconds()); at += step {
		speed := 1.0
		hours := sc.Batches.Hours
		if h := int(s.hour+float64(at)/3600) % 24; hours.From != hours.To && h >= hours.From && h < hours.To {
			speed = hours.Factor
		}
		rows += perSecond * places * step * speed * float64(len(sc.Orgs))
	}
	return max(0, s.n-int(rows))
}

func starvations() (all []starved) {
	hours := func(h ...int) (out []time.Duration) {
		for _, x := range h {
			out = append(out, time.Duration(x)*time.Hour)
		}
		return out
	}
	for _, n := range []int{headlineN, 20_000} {
		for _, name := range []string{"starved-batch-depth", "starved-batch-size"} {
			for _, within := range hours(2, 8, 14) {
				all = append(all, starved{name, 9, within, n, 1})
			}
		}
		// Begun before the slow hours, shortly before, within, and at their end.
		for _, begin := range []float64{5, 8.5, 9, 13, 18.5} {
			for _, within := range hours(2, 8, 14) {
				all = append(all, starved{"starved-batch-hour", begin, within, n, 2})
			}
		}
	}
	return all
}

// carry rehearses it, with hedges in the tail as the program has them where there
// is a deadline.
func (s *starved) carry(t *testing.T, changes ...func(*Setting)) (o *Outcome, best int, beyond float64) {
	sc := named(t, s.scenario)
	set := judgeJob(&sc, s.n, s.seed, sched.Route{Batch: true, Target: s.within}, changes...)
	set.Stream.Deadline, set.Core.Hedge = s.within, true
	o = at(t, sc, s.hour, s.seed, set)
	best = s.hindsight(&sc)
	beyond = float64(o.SyncRows-best) / float64(s.n)
	if o.Makespan() > s.within {
		t.Errorf("%+v took %v", *s, o.Makespan())
	}
	if beyond > .05 {
		t.Errorf("%+v: %d rows by sync, %d in hindsight: %.2f %% of N beyond", *s, o.SyncRows, best, 100*beyond)
	}
	return o, best, beyond
}

// TestStarvation: under each of control.md D's schedulers the deadline is met by
// rescue, and sync takes at most 5 % of N more than hindsight would send.
func TestStarvation(t *testing.T) {
	t.Parallel()
	all := starvations()
	lines := make([]string, len(all))
	head := fmt.Sprintf("%-20s %5s %8s %8s %9s %8s %8s %9s %7s %8s %7s",
		"scenario", "begin", "within", "rows", "wall", "sync", "optimum", "beyond", "batches", "canceled", "$")
	t.Cleanup(func() { t.Logf("\n%s\n%s", head, strings.Join(lines, "\n")) })
	for i, s := range all {
		t.Run(fmt.Sprintf("%s %v %v %d", s.scenario, s.hour, s.within, s.n), func(t *testing.T) {
			t.Parallel()
			o, best, beyond := s.carry(t)
			lines[i] = fmt.Sprintf("%-20s %5.1f %8s %8d %9s %8d %8d %8.2f%% %7d %8d %7.2f", s.scenario, s.hour, s.within, s.n,
				o.Makespan().Round(time.Second), o.SyncRows, best, 100*beyond, o.Made, o.Cancels, dollars(o.Cost))
		})
	}
}

// The same at random, half of the jobs killed on their way and gone on with.
func TestStarvationAtRandom(t *testing.T) {
	t.Parallel()
	names := []string{"default", "starved-batch-depth", "starved-batch-size", "starved-batch-hour", "starved-batch-hour"}
	for seed := uint64(1); seed <= 20; seed++ {
		rng := rand.New(rand.NewPCG(seed, 0x73746172))
		s := starved{
			scenario: names[rng.IntN(len(names))], hour: float64(rng.IntN(48)) / 2, seed: seed,
			within: time.Duration(between(rng, 1, 10) * float64(time.Hour)), n: 5_000 + rng.IntN(100_000),
		}
		down := time.Duration(rng.Float64() * float64(s.within))
		o, _, _ := s.carry(t, func(set *Setting) {
			if seed%2 == 0 {
				set.Crashes = []Crash{{At: down, Back: down + 20*time.Second}}
			}
		})
		if o.Lost > 0 {
			t.Errorf("%+v: %d batches lost", s, o.Lost)
		}
	}
}
