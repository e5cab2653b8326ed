package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/route"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Forecast is how a job may go, by each of the routes it could take.
type Forecast struct {
	Candidates []Candidate // cheapest first
	Chosen     int         // index of the one that is taken
	Orgs       []string    // that the job is to be kept on: all, or those that its cached beginnings are written to
	Why        string      // for people

	// The shortest times at which the job could be carried by sync, by the limits
	// alone and with manners, and what they are due to (facts/control.md C.1).
	Bound, Polite           time.Duration
	BoundLimit, PoliteLimit string

	// Feasible: the chosen candidate keeps deadline and cap. Where it does not,
	// the others say what is missing and what would fit.
	Feasible   bool
	Shortest   time.Duration  // the job could take, money aside; Never: it does not end
	Missing    flotilla.Money // dollars by which the cap falls short; 0: none
	RowsInTime int            // rows that fit into the deadline, money aside
	RowsWithin int            // rows that fit into the cap, time aside
	RowsFit    int            // rows that fit into both

	FurtherOrg time.Duration  // what one more org like the best would save of the chosen route; 0: nothing
	HalfBatch  flotilla.Money // what batches for half the rows would save of sync alone; 0: nothing
	SlowedBy   time.Duration  // by how much the cap on money slows the chosen route; 0: it does not

	OutTokens float64 // of an answer, mean over the job
	OutSource string  // where that comes from, for people
	OutBound  bool    // it is an upper bound
}

// Never is the time of what does not end.
const Never = sched.Never

// Candidate is one route and how the job may go by it: quantiles of the
// wall-clock time from the start, and of the dollars.
type Candidate struct {
	Name  string
	Route flotilla.Route

	First                    time.Duration // until the first call has finished
	P5, P50, P90, P95        time.Duration // Never: it is not expected to end
	CostP5, CostP50, CostP95 flotilla.Money
	Worst                    flotilla.Money // every answer as long as max_tokens allows
	SyncRows, BatchRows      int            // as expected
	BatchSize                int            // rows of one batch, on average; 0: there is none
	Binding                  []flotilla.Binding
	Lanes                    []flotilla.LaneReport // Org, Pool, Tier, Cap, Peak; N and Cost of the sync ones
	Meets                    bool                  // deadline and cap
	Rehearsals               int
	InTime                   bool // the deadline
	Affordable               bool // the cap

	of     way
	trials []*trial
}

// Foresee rehearses a job by each of its routes, several times on virtual time,
// and says how it may go. Equal jobs have equal forecasts. It is an error for a
// job to have no calls or no orgs; a context that ends ends the rehearsals.
func Foresee(ctx context.Context, j Job) (*Forecast, error) {
	if j.rows() == 0 || len(j.Fleet.Orgs) == 0 {
		return nil, errors.New("foreseeing a job: it has no calls or no orgs")
	}
	j = j.fewest()
	ways := j.ways()
	of, err := j.rehearse(ctx, ways, j.rehearsals())
	if err != nil {
		return nil, fmt.Errorf("foreseeing a job: %w", err)
	}
	if more, ok := j.thrift(of); ok {
		also, err := j.rehearse(ctx, []way{more}, j.rehearsals())
		if err != nil {
			return nil, fmt.Errorf("foreseeing a job: %w", err)
		}
		of = append(of, also...)
	}
	f := &Forecast{}
	for i := range j.Fleet.Orgs {
		f.Orgs = append(f.Orgs, j.Fleet.Orgs[i].Name)
	}
	j.choose(f, of)
	j.answer(f)
	if err := j.slowed(ctx, f); err != nil {
		return nil, fmt.Errorf("foreseeing a job: %w", err)
	}
	return f, nil
}

// rehearsals is how many of each candidate: the larger a job, the less is left
// to chance.
func (j *Job) rehearsals() int {
	switch n := j.rows(); {
	case j.Rehearsals > 0:
		return j.Rehearsals
	case n <= 5_000:
		return 9
	case n <= 30_000:
		return 7
	}
	return 5
}

// rehearse runs each way in n worlds, as many at a time as there are processors.
func (j *Job) rehearse(ctx context.Context, ways []way, n int) ([]*Candidate, error) {
	out := make([]*Candidate, len(ways))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, runtime.GOMAXPROCS(0)))
	for i, w := range ways {
		out[i] = &Candidate{Name: w.name, Route: j.of(w.route), of: w, trials: make([]*trial, n)}
	}
	for k := range n {
		for i, w := range ways {
			g.Go(func() error {
				if err := ctx.Err(); err != nil {
					return err
				}
				out[i].trials[k] = j.try(w.route, belief{seed: j.Seed, k: k, n: n}, j.budget(w.route))
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, c := range out {
		c.sum(j)
	}
	return out, nil
}

// budget is the cap that a route is rehearsed with: none where it cannot bind,
// and none where the route costs more in any case, so that its price is known.
func (j *Job) budget(r sched.Route) float64 {
	if j.Cap <= 0 || j.worst(r) <= j.Cap {
		return 0
	}
	w := j.suppose(belief{seed: j.Seed, n: 1})
	if least, ok := cheapest(w.task(r)); !ok || least > j.Cap.Float() {
		return 0
	}
	return float64(j.Cap)
}

// cheapest is what a task costs at least.
func cheapest(t route.Task) (dollars float64, ok bool) {
	s, ok := t.Cheapest(route.Never)
	return s.Cost, ok
}

// sum makes a forecast of the trials.
func (c *Candidate) sum(j *Job) {
	n := len(c.trials)
	took, cost := make([]float64, n), make([]float64, n)
	sync, batch, size := 0.0, 0.0, 0.0
	var firsts []time.Duration
	for i, t := range c.trials {
		took[i], cost[i] = math.NaN(), math.NaN()
		if t.ends {
			took[i], cost[i] = t.took.Seconds(), t.cost
		}
		sync += t.syncRows / float64(n)
		batch += t.batchRows / float64(n)
		size += t.batch / float64(n)
		firsts = append(firsts, t.first)
	}
	slices.Sort(firsts)
	finer := finerSync
	if batch > 0 {
		finer = finerBatch
	}
	wall, money := spreadOf(took, finer), spreadOf(cost, finerMoney)
	target := c.of.route.Target
	wall.held = target > 0 && target != Never
	money.held = wall.held
	c.First, c.Rehearsals = firsts[n/2], n
	c.P5, c.P50, c.P90, c.P95 = wall.time(5), wall.time(50), wall.time(90), wall.time(95)
	c.Worst = j.worst(c.of.route)
	c.CostP5, c.CostP50, c.CostP95 = min(money.money(5), c.Worst), min(money.money(50), c.Worst), min(money.money(95), c.Worst)
	if b := flotilla.Money(j.budget(c.of.route)); b > 0 && c.P95 != Never {
		c.CostP95 = min(c.CostP95, b) // never beyond the cap, whatever happens
		c.CostP50 = min(c.CostP50, c.CostP95)
		c.CostP5 = min(c.CostP5, c.CostP50)
	}
	c.SyncRows, c.BatchRows, c.BatchSize = int(math.Round(sync)), int(math.Round(batch)), int(math.Round(size))
	if c.Name == ThriftName && !j.Deadline.IsZero() && sync-j.alone() < 0.002*(sync+batch) {
		c.Name = BatchName
	}
	c.Binding = j.binding(c.of.route, c.trials, c.P50)
	c.Lanes = c.laneReports(sync)
}
