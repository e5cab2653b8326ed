package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// randomJob is one of a hundred jobs: of one family and one to three orgs of some
// usage tier; mostly with latencies and turnaround that were measured, else as
// assumed.
func randomJob(seed uint64) Job {
	rng := rand.New(rand.NewPCG(seed, 0x4a0e57))
	pick := func(n int) int { return rng.IntN(n) }
	within := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	m := []struct{ model, pool, family string }{{sonnet, pool, "sonnet"}, {haiku, "haiku-4.5", "haiku"}, {opus, "opus-4.x", "opus"}}[pick(3)]
	j := Job{Start: epoch.Add(time.Duration(pick(24)) * time.Hour), Seed: seed, Prefer: flotilla.Prefer(pick(3)), Tier: Tier(pick(3))}
	n := int([]float64{AnyTier: within(2_000, 20_000), SyncTier: within(3_000, 20_000), BatchTier: within(3_000, 60_000)}[j.Tier])
	out := within(20, 300)
	j.Classes = []Class{{
		Model: m.model, Pool: m.pool, Family: m.family, Rows: n, In: within(100, 3_000), MaxTokens: math.Ceil(4 * out), Out: out,
		OutP95: out * (1.5 + rng.Float64()/3), OutSource: "--out-tokens",
	}}
	c := &j.Classes[0]
	c.InDev = c.In * rng.Float64() / 2
	if pick(3) == 0 {
		c.OutSource, c.OutRows = "journal", int64(within(100, 1_000))
	}
	limits := []emulator.Limits{startTier, scaleTier, {Requests: 4_000, Input: 4_000_000, Output: 800_000}}[pick(3)]
	over(1+pick(3), limits)(&j)
	if pick(6) > 0 {
		j.Pace = map[string]Pace{m.family: {First: seconds(within(0.3, 1.5)), PerSecond: within(50, 150)}}
	}
	if pick(6) > 0 {
		for i := range j.Fleet.Orgs {
			j.Fleet.Orgs[i].Turnaround = flotilla.Turnaround{Overhead: seconds(within(40, 90)), RowRate: within(1, 4), Parallel: 4 + pick(8)}
		}
	}
	if pick(3) == 0 {
		j.Deadline = j.Start.Add(seconds(within(600, 6*3600)))
	}
	return j
}

// happens is how a job goes by a route in one more world, of seeds that the
// forecast does not have, and with chances that it does not know of.
func (j *Job) happens(c *Candidate, seed uint64) *Outcome {
	rng := rand.New(rand.NewPCG(seed, 0x7e57))
	const worlds = 1009
	w := j.suppose(belief{seed: seed, k: rng.IntN(worlds), n: worlds})
	sc := &w.scenario
	sc.Stragglers.Share = 0.005 + 0.005*rng.Float64()
	sc.InputNoise = 0.05 + 0.05*rng.Float64()
	sc.Batches.SD = 0.4 + 0.2*rng.Float64()
	s := w.setting(c.of.route, j.rows(), scatter(seed), 0, &meter{})
	return Rehearse(emulator.NewModel(*sc, scatter(seed), j.Start), longest, s)[0]
}

// held is one setting's forecast beside what came of it.
type held struct {
	name          string
	within        bool
	width, money  float64
	batch         bool
	took, p5, p95 time.Duration
	unsure        bool // of unsureDollars
}

// unsureDollars are settings whose dollars no one figure tells within 5 %, for
// they differ by more from run to run. In 39 a batch takes two minutes and more,
// the whole job by both tiers 2:40: when sync is through, what batches still hold
// is at the edge of being worth the wait, and by chance a run awaits it at half
// price or answers it by sync.
var unsureDollars = []uint64{39}

func hold(t *testing.T, seed uint64) held {
	j := randomJob(seed)
	f := foresee(t, j)
	c := &f.Candidates[f.Chosen]
	o := j.happens(c, seed+1_000_000)
	took := o.Makespan()
	return held{
		name:   fmt.Sprintf("%d %s × %d", seed, c.Name, j.rows()),
		within: !o.Stalled && c.P5 <= took && took <= c.P95,
		width:  (c.P95 - c.P5).Seconds() / c.P50.Seconds(),
		money:  math.Abs(float64(c.CostP50)/float64(o.Cost) - 1),
		batch:  c.BatchRows > 0, took: took, p5: c.P5, p95: c.P95,
		unsure: slices.Contains(unsureDollars, seed),
	}
}

// Over a hundred random settings the outcome lies between p5 and p95 in at least
// 84; the ranges are narrow enough to be of use; dollars are within 5 % but in
// the settings named above.
func TestForecastsAreHonest(t *testing.T) {
	t.Parallel()
	const settings = 100
	all := make([]held, settings)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			for k := i; k < settings; k += 2 {
				all[k] = hold(t, uint64(k)+1)
			}
		})
	}
	wg.Wait()
	var sync, batch, money []float64
	within := 0
	var lines []string
	for _, h := range all {
		if h.within {
			within++
		} else {
			lines = append(lines, fmt.Sprintf("%-22s %v, foretold %v–%v", h.name, h.took.Round(time.Second), h.p5.Round(time.Second), h.p95.Round(time.Second)))
		}
		if h.batch {
			batch = append(batch, h.width)
		} else {
			sync = append(sync, h.width)
		}
		if h.unsure {
			t.Logf("%s: dollars off by %.4f, an exception (TestUnsureDollars)", h.name, h.money)
			continue
		}
		money = append(money, h.money)
		if h.money > 0.05 {
			t.Errorf("%s: dollars off by %.4f", h.name, h.money)
		}
	}
	for _, s := range [][]float64{sync, batch, money} {
		slices.Sort(s)
	}
	t.Logf("%d of %d within p5–p95; median width %.3f of %d by sync, %.3f of %d with batches; dollars off by %.4f at most, %.4f in the middle\n%s",
		within, settings, sync[len(sync)/2], len(sync), batch[len(batch)/2], len(batch), money[len(money)-1], money[len(money)/2], strings.Join(lines, "\n"))
	if within < 84 {
		t.Errorf("%d of %d outcomes within p5–p95", within, settings)
	}
	if w := sync[len(sync)/2]; w > 0.20 {
		t.Errorf("median width of forecasts by sync %.3f", w)
	}
	if w := batch[len(batch)/2]; w > 0.60 {
		t.Errorf("median width of forecasts with batches %.3f", w)
	}
}

// Where dollars are unsure, the forecast says so: over 100 runs they lie in its
// p5–p95 in at least 84, and their mean is within 5 % of its middle. And no
// setting is an exception whose dollars are sure.
func TestUnsureDollars(t *testing.T) {
	t.Parallel()
	const runs = 100
	for _, seed := range unsureDollars {
		j := randomJob(seed)
		f := foresee(t, j)
		c := &f.Candidates[f.Chosen]
		within, near, sum, squares := 0, 0, 0.0, 0.0
		for k := range uint64(runs) {
			o := j.happens(c, seed+1_000_000+1000*k)
			off := float64(o.Cost)/float64(c.CostP50) - 1
			sum, squares = sum+off, squares+off*off
			if math.Abs(off) <= 0.05 {
				near++
			}
			if cost := flotilla.Money(o.Cost); c.CostP5 <= cost && cost <= c.CostP95 {
				within++
			}
		}
		mean := sum / runs
		sd := math.Sqrt(squares/runs - mean*mean)
		t.Logf("%d %s × %d: $%.2f–%.2f–%.2f foretold; of %d runs %d within, %d within 5 %% of the middle, their mean %+.4f, deviation %.4f",
			seed, c.Name, j.rows(), c.CostP5.Float(), c.CostP50.Float(), c.CostP95.Float(), runs, within, near, mean, sd)
		if within < 84 || math.Abs(mean) > 0.05 {
			t.Errorf("setting %d: %d of %d within p5–p95, the mean off by %+.4f", seed, within, runs, mean)
		}
		if sd < 0.03 {
			t.Errorf("setting %d is no exception: its dollars deviate by %.4f", seed, sd)
		}
	}
}
