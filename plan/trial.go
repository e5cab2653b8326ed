package plan

import (
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/price"
)

// trial is how a job went in one world by one route.
type trial struct {
	ends  bool
	took  time.Duration
	first time.Duration // until the first call had finished

	cost, syncCost, batchCost float64 // nano-dollars by the job's price table
	syncRows, batchRows       float64
	settled                   float64
	batch                     float64 // rows of one, on average; 0: there was none

	lanes []sched.LaneView
	world *supposed
}

// How long a rehearsal goes on, on its own time: no job takes longer but one that
// waits for a cap per day to reopen, many times.
const (
	longest      = 10 * 24 * time.Hour
	longestDaily = 90 * 24 * time.Hour
)

func (w *supposed) longest() time.Duration {
	if w.changes() {
		return longestDaily
	}
	return longest
}

// try rehearses the job by a route in the world of a belief; budget is what may
// be spent, by the job's prices; 0: no cap.
func (j *Job) try(r sched.Route, b belief, budget float64) *trial {
	w := j.suppose(b)
	cut := w.cut(r, budget)
	m := &meter{from: cut.from, to: cut.to}
	seed := scatter(b.seed ^ uint64(b.k+1)<<32)
	s := w.setting(cut.route, cut.rows, seed, cut.budget, m)
	model := emulator.NewModel(w.scenario, seed, j.Start)
	o := Rehearse(model, w.longest(), s)[0]
	t := w.trial(o)
	if cut.rows < cut.all && t.ends {
		w.carryOn(t, cut, m)
	}
	return t
}

func (w *supposed) trial(o *Outcome) *trial {
	return &trial{
		ends: !o.Stalled && o.Settled == o.N, took: o.Makespan(), first: o.First - o.Began, settled: float64(o.Settled),
		cost: float64(o.Cost) * w.price, syncCost: float64(o.SyncCost) * w.price, batchCost: float64(o.BatchCost) * w.price,
		syncRows: float64(o.SyncRows), batchRows: float64(o.BatchRows), lanes: o.Lanes, world: w, batch: float64(o.BatchRows) / float64(max(o.Made, 1)),
	}
}

// setting is the job's first rows by a route, as its Fleet would carry them.
func (w *supposed) setting(r sched.Route, rows int, seed uint64, budget float64, m *meter) Setting {
	j := w.job
	s := Setting{
		Core: j.core(seed), N: rows, Lanes: w.lanes(r), Streamed: w.streamed(),
		Stream:  sched.StreamConfig{N: int64(rows), Route: r},
		Calls:   func(i int) Call { return w.call(seed, i) },
		Observe: m.observe, Made: func(c *sched.Core) { m.core = c },
	}
	if budget > 0 {
		s.Core.Ledgers = []sched.Ledger{{Limit: int64(budget / max(w.price, 1e-9)), Final: true}}
		s.Stream.Ledgers = []sched.LedgerID{0}
	}
	return s
}

// core is the configuration that a Fleet gives its scheduler.
func (j *Job) core(seed uint64) sched.Config {
	f := &j.Fleet
	return sched.Config{
		Seed: seed, Share: sched.ShareMode(f.Share), Ramp: sched.RampMode(f.Ramp), Hedge: f.Hedge,
		SoftFloor: f.SoftFloor, HardFloor: f.HardFloor, SoftTokens: f.SoftTokens, HardTokens: f.HardTokens,
		MaxAttempts: f.Retry.MaxAttempts, BaseDelay: f.Retry.BaseDelay, MaxDelay: f.Retry.MaxDelay,
		RetryPerMinute: f.Retry.BudgetPerMin, RetryPerSuccess: f.Retry.BudgetPerSucc,
	}
}

// lanes are those of the fleet's orgs, the tiers that a route leaves open.
func (w *supposed) lanes(r sched.Route) (out []sched.LaneConfig) {
	groups := map[string]int32{}
	for _, pool := range w.pools {
		name, family := emulator.PoolOf(w.models[pool]), w.family(pool)
		for i := range w.job.Fleet.Orgs {
			o := &w.job.Fleet.Orgs[i]
			if o.NoSync {
				continue
			}
			key := o.Name + "/" + family
			if _, ok := groups[key]; !ok {
				groups[key] = int32(len(groups))
			}
			l := sched.LaneConfig{Org: o.Name, Pool: name, Group: groups[key], Cap: w.job.cap(family), TokensPerDay: o.TokensPerDay}
			known := o.PerMinute[pool]
			l.PerMinute = [sched.NumDims]float64{sched.Requests: known.Requests, sched.Input: known.Input, sched.Output: known.Output}
			if o.Share != nil {
				mode := sched.ShareMode(*o.Share)
				l.Share = &mode
			}
			out = append(out, l)
		}
		if r.Batch {
			out = append(out, w.batchLanes(name)...)
		}
	}
	return out
}

func (w *supposed) batchLanes(name string) (out []sched.LaneConfig) {
	for i := range w.job.Fleet.Orgs {
		o := &w.job.Fleet.Orgs[i]
		if o.NoBatch {
			continue
		}
		out = append(out, sched.LaneConfig{
			Org: o.Name, Pool: name, Tier: sched.Batch, Group: -1, Queue: o.BatchQueue, BatchRPM: o.BatchRPM,
			Overhead: o.Turnaround.Overhead, RowRate: o.Turnaround.RowRate, Parallel: o.Turnaround.Parallel,
		})
	}
	return out
}

// streamed reports whether answers come as streams: a Fleet streams those that
// are expected to take over 3 s, or have room for more than 21,333 tokens.
func (w *supposed) streamed() bool {
	rows, long := 0, 0
	for i := range w.job.Classes {
		c := &w.job.Classes[i]
		rows += c.Rows
		if w.latency(c) > 3*time.Second || c.MaxTokens > 21_333 {
			long += c.Rows
		}
	}
	return 2*long > rows
}

// worst is what the job costs at most by a route, in nano-dollars: at batch
// price where nothing is rescued by sync, which without a deadline is so for a
// route that waits for batches for good.
func (j *Job) worst(r sched.Route) (sum price.Nanos) {
	waits := r.NoSync || r.Target == sched.Never && j.Deadline.IsZero()
	for i := range j.Classes {
		c := &j.Classes[i]
		all := c.Worst
		if all == 0 {
			m, _ := j.prices().Lookup(c.Model)
			all = price.Nanos(c.Rows) * m.Worst(int64(1.5*c.In)+100, int64(c.MaxTokens), c.Prefix > 0, c.Hour, false, false, false)
		}
		if r.Batch && waits && c.Rows > 0 {
			all -= price.Nanos(float64(all) * float64(c.Rows-c.Alone) / float64(c.Rows) / 2)
		}
		sum += all
	}
	return sum
}
