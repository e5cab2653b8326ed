package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// A Run is one invocation of a job: Open reads everything, Begin takes the job
// in the journal, Carry makes the calls.
type Run struct {
	cfg   Config
	fleet Fleet
	form  outForm
	x     *index
	book  Book
	w     *writer
	src   *source

	batches []flotilla.OpenBatch // of earlier runs, not taken in
	inBatch callSet              // their calls
	lengths lengths
	sample  map[string][]int64 // output tokens of a model's first answers, while they are counted

	limit    int // calls below it are this run's
	tally    *tally
	refused  []Answer // of earlier runs, by 400 or 404, until all is read
	chains   chains
	progress Progress
	plan     Plan
	promise  *Forecast // nil: none was made
}

// Plan is what is known of a run before it sends anything.
type Plan struct {
	Job      string // short id; empty before Begin
	Resumed  bool   // earlier runs of it settled rows
	Rows     int    // of this run
	Settled  int    // by earlier runs
	Cached   int    // settled now by answers of other jobs or files
	Told     int    // settled now by what the rows themselves say
	Equal    int    // rows whose body an earlier row has
	Pending  int    // without a result
	Batched  int    // of the pending ones, in batches of earlier runs
	Open     []flotilla.OpenBatch
	Rejected int // set aside by --skip-bad
	InDoubt  int // attempts of earlier runs whose outcome is unknown
	Models   []string
	Priced   string // date of the price table
	Tokens   int64  // estimated input tokens of the pending rows
	Classes  []Class
	Caching  Caching
	Expected flotilla.Money
	Worst    flotilla.Money // of the pending rows
	Spent    flotilla.Money // by earlier runs, Held included
	Held     flotilla.Money // reserved by them for the batches in Open, at the begin of this run
	Warnings []string
}

// Open reads, checks and counts every row of every input. Nothing is sent and
// nothing is written. The Run must be closed.
func Open(ctx context.Context, fleet Fleet, cfg Config) (_ *Run, err error) {
	if cfg.Prices == nil {
		cfg.Prices = price.Published()
	}
	if cfg.Say == nil {
		cfg.Say = func(string) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	build, err := newBuilder(&cfg.Shape)
	if err != nil {
		return nil, err
	}
	build.craft = cfg.Craft
	r := &Run{cfg: cfg, fleet: fleet, tally: newTally(), sample: map[string][]int64{}}
	r.lengths = lengths{length{mean: float64(cfg.OutTokens), p95: float64(cfg.OutP95), source: OutGiven}, map[string]length{}}
	var inputs []*input
	defer func() {
		if err != nil && r.x == nil {
			for _, in := range inputs {
				_ = in.close()
			}
		}
	}()
	for _, name := range cfg.Inputs {
		in, err := openInput(name, cfg.Stdin, cfg.Dir)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
	}
	check := checker{prices: cfg.Prices, version: cfg.Shape.Version, capped: cfg.Options.MaxSpend != 0 || cfg.Options.Purse != nil || len(cfg.Options.Pots) > 0, asIs: cfg.AsIs}
	s := newScan(build, inputs, fleet, check)
	s.skipBad, s.out = cfg.SkipBad, cfg.OutTokens
	form, err := cfg.Output.form()
	if err != nil {
		return nil, err
	}
	if cfg.SkipBad {
		rejected := cfg.Output.rejectedName()
		for _, in := range cfg.Inputs {
			if sameFile(in, rejected) {
				return nil, WithHint(fmt.Errorf("rows set aside go to %s, which is the input %s", rejected, in), "rename the input, or give -o another name")
			}
		}
	}
	if form == outTable || keepsSome(cfg.Output.Keep) {
		s.x.columns = &columns{}
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	if err := s.x.checkKeep(cfg.Output.Keep); err != nil {
		return nil, err
	}
	if cfg.NoSync {
		if err := s.x.refuseAlone(); err != nil {
			return nil, err
		}
	}
	r.x = s.x
	return r, r.opened()
}

// opened works out what the index says of the run.
func (r *Run) opened() error {
	x := r.x
	r.limit = x.calls()
	if r.cfg.Limit > 0 {
		r.limit = min(r.limit, r.cfg.Limit*x.asks*x.repeats)
	}
	n := 0
	for call := range r.limit {
		if x.holds(call) {
			n++
		}
	}
	for _, k := range x.kinds {
		if !slices.Contains(r.plan.Models, k.model) {
			r.plan.Models = append(r.plan.Models, k.model)
		}
	}
	r.plan.Rows, r.plan.Pending, r.plan.Equal, r.plan.Rejected = n, n, x.equal, len(x.rejected)
	r.plan.Priced = r.cfg.Prices.Date.Format("2006-01-02")
	r.plan.Warnings = lifecycle(r.cfg.Prices, r.plan.Models, r.cfg.Now())
	if n == 0 {
		r.plan.Warnings = append(r.plan.Warnings, "the input has no rows")
	}
	r.forecast(func(call int) bool { return x.holds(call) && !x.follows(call) && !x.told(call) })
	var err error
	r.form, err = r.cfg.Output.check(r.cfg.Inputs, n)
	return err
}

// Plan is what is known so far.
func (r *Run) Plan() Plan { return r.plan }

// Close lets go of the inputs, and of OUT where Carry did not.
func (r *Run) Close() error {
	var err error
	if r.w != nil && r.w.broken == nil {
		err = r.w.close()
	}
	return errors.Join(err, r.x.close())
}

// Begin takes the job in the journal and finds out what is settled, by earlier
// runs and by answers kept elsewhere. An OUT that is there is checked before
// anything of it, or in the journal, is changed.
func (r *Run) Begin(ctx context.Context, j Journal) (err error) {
	if r.book, err = j.Begin(ctx, r.spec()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.book.End(context.WithoutCancel(ctx), false, nil))
		}
	}()
	standing, err := r.book.Standing(ctx)
	if err != nil {
		return err
	}
	if err := r.follow(ctx, standing); err != nil {
		return err
	}
	adopt, err := r.adoptable(ctx, standing)
	if err != nil {
		return err
	}
	known := holding{
		outcome: func(call int) Outcome {
			if o := standing.Outcome(call); o != Pending || adopt.at(call) == 0 {
				return o
			}
			return r.adoptedAs(call)
		},
		at: func(call int) int64 {
			if standing.Outcome(call) != Pending {
				return standing.At(call)
			}
			return max(adopt.at(call), 0)
		},
	}
	if r.x.build.craft != nil {
		c := &chaser{r: r, at: known.at}
		known.chase = func(call int) ([]uint64, error) { return c.of(ctx, call) }
	}
	r.w, err = openWriter(ctx, &r.cfg.Output, r.form, r.x, r.book, known, r.chains, r.cfg.Now(), r.cfg.Dir, r.cfg.Say)
	if err != nil {
		return err
	}
	if err := r.writeRejected(); err != nil {
		return err
	}
	adopted, err := r.adopt(ctx, standing, adopt)
	if err != nil {
		return err
	}
	if adopted {
		if standing, err = r.book.Standing(ctx); err != nil {
			return err
		}
	}
	return r.begun(ctx, standing)
}

// spec is what a journal finds the job by.
func (r *Run) spec() Spec {
	s := &r.cfg.Shape
	return Spec{
		Identity: r.x.identity(r.cfg.Salt), Provider: s.Provider, Emulated: r.cfg.Emulated, Command: r.cfg.Command,
		Inputs: r.cfg.Inputs, N: r.x.calls(), Template: r.x.template(), Fresh: r.cfg.NoCache,
		Client: r.cfg.Client, Kind: r.cfg.Kind, Shape: r.x.kept(),
	}
}

// begun prepares the sending, once all that is known elsewhere was taken over.
func (r *Run) begun(ctx context.Context, standing Standing) (err error) {
	p := &r.plan
	p.Job, p.InDoubt = r.book.Key(), standing.Doubts()
	if p.Spent, err = r.book.Spent(ctx); err != nil {
		return err
	}
	r.src = &source{
		x: r.x, w: r.w, name: r.book.Key(), limit: r.limit, noSync: r.cfg.NoSync, standing: standing,
		again: map[int]resend{}, back: map[int]setback{}, settled: newCallSet(r.x.calls()), canary: canary{out: -1},
		failFast: r.cfg.FailFast, hook: r.settled, append: r.append, chains: r.chains, anew: r.anew,
	}
	if err := r.w.open(ctx, standing); err != nil {
		return err
	}
	if err := r.catchUp(ctx, standing); err != nil {
		return err
	}
	if err := r.adoptAnew(ctx); err != nil {
		return err
	}
	standing = r.src.standing
	p.Settled = -p.Cached - p.Told
	for call := range r.limit {
		if r.x.holds(call) && standing.Outcome(call) != Pending && !r.src.again[call].craft {
			p.Settled++
		}
		if r.src.wants(call) {
			r.src.left++
		}
	}
	p.Pending, p.Resumed = r.src.left, p.Settled > 0
	if err := r.learn(ctx, standing); err != nil {
		return err
	}
	if err := r.stock(ctx); err != nil {
		return err
	}
	for i := range p.Open {
		p.Held += p.Open[i].Worst
	}
	if !r.cfg.AsIs {
		r.src.canary = canaries(r.x, r.limit, func(call int) bool { return standing.Outcome(call) == Succeeded }, r.src.free.has)
	}
	r.forecast(r.src.free.has)
	r.watch()
	return nil
}

// append puts the records of this job into the journal.
func (r *Run) append(records []flotilla.Record) error {
	for i := range records {
		records[i].Job = r.book.ID()
	}
	return r.book.Append(records)
}

// settled is told of every result before its line is written.
func (r *Run) settled(a *Answer, again resend) {
	if again.was.outcome != Pending {
		r.tally.drop(again.was)
	}
	r.tally.add(a, func() string { return r.idOf(a.Row) })
	r.settledLength(a)
	r.report(a)
}

func (r *Run) report(a *Answer) {
	p := &r.progress
	p.Settled++
	p.Cost += a.Cost
	p.Output += outputTokens(a.Body)
	p.Last = a.When
	o := &r.tally.outcomes
	p.Failed = o[Errored] + o[Expired] + o[Canceled]
	p.N, p.Done = r.plan.Rows, o[Succeeded]+p.Failed
	if r.cfg.Settled != nil {
		r.cfg.Settled(*p)
	}
}
