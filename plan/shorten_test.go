package plan

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// personaN is how many calls the jobs of the headline have.
const personaN = 141_600

// over gives a job orgs that are alike: so many, with these limits in all pools.
func over(orgs int, l emulator.Limits, changes ...func(*Job)) func(*Job) {
	return func(j *Job) {
		var out []flotilla.Org
		for i := range orgs {
			o := flotilla.Org{Name: fmt.Sprintf("org-%d", i+1), BatchQueue: 200_000, BatchRPM: 1000, PerMinute: map[string]flotilla.Limits{}}
			for _, c := range j.Classes {
				o.PerMinute[c.Pool] = flotilla.Limits{Requests: float64(l.Requests), Input: float64(l.Input), Output: float64(l.Output)}
			}
			out = append(out, o)
		}
		j.Fleet.Orgs = out
		for _, change := range changes {
			change(j)
		}
	}
}

// sized gives the calls of a job other lengths.
func sized(in, out float64) func(*Job) {
	return func(j *Job) {
		for i := range j.Classes {
			c := &j.Classes[i]
			c.In, c.Out, c.MaxTokens, c.Worst = in, out, 4*out, 0
		}
	}
}

// asking another model.
func asking(model, pool, family string) func(*Job) {
	return func(j *Job) {
		c := &j.Classes[0]
		c.Model, c.Pool, c.Family, c.Worst = model, pool, family, 0
	}
}

// Twenty settings at N = 141,600, each rehearsed whole and without its middle,
// and one of batches at 400,000: the makespans agree within 2 %. By sync one
// rehearsal is enough. Of routes with batches the same job whole takes 1 % more
// or less from world to world (a standard deviation), and so does the shortened
// one, by chances of its own; there the means over as many worlds as a plan takes
// are compared, and no pair may be apart by twice as much.
func TestShortenedAgreesWithWhole(t *testing.T) {
	t.Parallel()
	sync, hybrid := sched.Route{}, sched.Route{Batch: true}
	batch := sched.Route{Batch: true, Target: sched.Never}
	scale := emulator.Limits{Requests: 10_000, Input: 10_000_000, Output: 2_000_000}
	drains := emulator.Limits{Requests: 10_000, Input: 10_000_000, Output: 120_000}
	for i, c := range []struct {
		name    string
		route   sched.Route
		n       int
		changes []func(*Job)
	}{
		{"the usual three orgs", sync, personaN, nil},
		{"a fast ramp", sync, personaN, []func(*Job){func(j *Job) { j.Fleet.Ramp = flotilla.RampFast }}},
		{"short answers", sync, personaN, []func(*Job){over(3, scale), sized(300, 20)}},
		{"long answers", sync, personaN, []func(*Job){sized(400, 400)}},
		{"very long answers", sync, personaN, []func(*Job){sized(400, 2_000)}},
		{"Haiku", sync, personaN, []func(*Job){asking(haiku, "haiku-4.5", "haiku"), over(3, scale)}},
		{"Opus", sync, personaN, []func(*Job){asking(opus, "opus-4.x", "opus"), over(3, scale)}},
		{"requests bind, one org", sync, personaN, []func(*Job){over(1, startTier)}},
		{"requests bind, three orgs", sync, personaN, []func(*Job){over(3, startTier)}},
		{"requests bind, five orgs", sync, personaN, []func(*Job){over(5, startTier)}},
		{"input binds", sync, personaN, []func(*Job){over(2, startTier), sized(4_000, 30)}},
		{"a full bucket of output drains", sync, personaN, []func(*Job){over(3, drains), sized(300, 60)}},
		{"a wide cap", sync, personaN, []func(*Job){func(j *Job) { j.Fleet.Conc = map[string]int{"sonnet": 200} }}},
		{"a narrow cap", sync, personaN, []func(*Job){func(j *Job) { j.Fleet.Conc = map[string]int{"sonnet": 20} }}},
		{"one org", sync, personaN, []func(*Job){over(1, scale)}},
		{"two orgs", sync, personaN, []func(*Job){over(2, scale)}},
		{"both tiers, requests bind, one org", hybrid, personaN, []func(*Job){over(1, startTier)}},
		{"both tiers, Opus of one org", hybrid, personaN, []func(*Job){asking(opus, "opus-4.x", "opus"), over(1, scale)}},
		{"both tiers, input binds", hybrid, personaN, []func(*Job){over(2, startTier), sized(4_000, 30)}},
		{"both tiers, long answers of one org", hybrid, personaN, []func(*Job){over(1, scale), sized(400, 400)}},
		{"batches of two orgs", batch, 400_000, []func(*Job){over(2, scale)}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			sc := named(t, "default")
			j := judged(&sc, c.n, c.changes...)
			agree(t, j, c.route, uint64(i)+1)
		})
	}
}

func agree(t *testing.T, j Job, r sched.Route, seed uint64) {
	t.Helper()
	worlds := 1
	if r.Batch {
		worlds = j.rehearsals()
	}
	var took, cost, wholeTook, wholeCost, most float64
	var calls cut
	for k := range worlds {
		b := belief{seed: seed + 100*uint64(k), n: 1}
		j.entire = false
		short := j.try(r, b, 0)
		calls = short.world.cut(r, 0)
		j.entire = true
		whole := j.try(r, b, 0)
		if !short.ends || !whole.ends {
			t.Fatalf("world %d: shortened ends %t, whole %t", k, short.ends, whole.ends)
		}
		took, cost = took+short.took.Seconds(), cost+short.cost
		wholeTook, wholeCost = wholeTook+whole.took.Seconds(), wholeCost+whole.cost
		most = max(most, math.Abs(short.took.Seconds()/whole.took.Seconds()-1))
	}
	n := float64(worlds)
	off, money := took/wholeTook-1, cost/wholeCost-1
	line := fmt.Sprintf("shortened %v, whole %v: %+.2f %%, at most %.2f %% in each of %d; dollars %+.2f %%",
		seconds(took/n), seconds(wholeTook/n), 100*off, 100*most, worlds, 100*money)
	t.Logf("%s; %d of %d calls rehearsed", line, calls.rows, calls.all)
	if math.Abs(off) > 0.02 || math.Abs(money) > 0.02 || most > 0.04 {
		t.Error(line)
	}
	if calls.rows == calls.all {
		t.Errorf("nothing was left out of %d calls", calls.all)
	}
}
