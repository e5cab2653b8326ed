package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// Run carries an experiment out and stores its result. An experiment that was
// interrupted (ctx) stores nothing but what it needs to go on; one that stopped
// itself stores what it found, says why, and goes on too when it is run again.
// The error is a *RefusedError before anything was sent.
func Run(ctx context.Context, env *Env, x Experiment) (*Result, error) {
	estimate := x.Estimate(env)
	if err := mayRun(env, x, &estimate); err != nil {
		return nil, err
	}
	b, err := newBench(env, x.Name())
	if err != nil {
		return nil, err
	}
	defer b.close()
	r, err := x.Run(ctx, b)
	if r == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return r, err
	}
	b.fill(r, x, estimate)
	if err != nil {
		r.Stopped = err.Error()
		if stopped(err) {
			return r, errors.Join(err, r.storeUnlessBetter(env))
		}
		return r, err
	}
	if err := r.Store(env); err != nil {
		return r, err
	}
	return r, b.partial.remove()
}

// stopped says that an experiment ended itself, by the rules.
func stopped(err error) bool {
	var abort *AbortError
	var budget *BudgetError
	return errors.As(err, &abort) || errors.As(err, &budget)
}

func mayRun(env *Env, x Experiment, estimate *Estimate) error {
	if estimate.Refused != "" {
		return &RefusedError{Experiment: x.Name(), Why: estimate.Refused, Hint: estimate.Hint}
	}
	if len(env.Distinct()) == 0 {
		return &RefusedError{Experiment: x.Name(), Why: "no org to measure", Hint: "set ANTHROPIC_API_KEY, or name orgs in flotilla.yaml"}
	}
	for _, l := range estimate.Lines {
		if _, ok := env.Model(l.Model); !ok {
			return &RefusedError{
				Experiment: x.Name(), Why: "no price is known for model " + l.Model,
				Hint: "flotilla limits lists models; --price in=…,out=… prices one that is not in the table",
			}
		}
	}
	if cost := estimate.Cost(env.table()); env.MaxSpend > 0 && cost > env.MaxSpend {
		return &RefusedError{
			Experiment: x.Name(), Why: fmt.Sprintf("it is expected to cost %s, the cap is %s", cost, env.MaxSpend),
			Hint: fmt.Sprintf("raise the cap to --max-spend %.2f, or see --estimate for what costs how much", math.Ceil(cost.Float()*130)/100),
		}
	}
	return nil
}

// fill adds what the bench knows to what the experiment found.
func (b *Bench) fill(r *Result, x Experiment, estimate Estimate) {
	env := b.env
	r.Schema, r.Experiment, r.Question, r.Window = schemaVersion, x.Name(), x.Question(), env.window()
	r.Emulated, r.BaseURL, r.Seed = env.Emulated, env.BaseURL, env.Seed
	r.Started, r.Ended = b.partial.head.Started, b.clock.Wall(b.clock.Now()).UTC()
	r.Versions = Versions{
		Flotilla: cmp.Or(env.Build, "dev"), Go: runtime.Version(), API: env.version(), PriceTable: env.table().Date.Format(time.DateOnly),
	}
	r.Orgs = nil
	for i := range env.Orgs {
		r.Orgs = append(r.Orgs, OrgNote{Name: env.Orgs[i].Name, ID: env.Orgs[i].ID, SameAs: env.Orgs[i].SameAs})
	}
	r.Hypothesis, r.Estimate = x.Hypothesis(env), estimate
	if r.Config == nil {
		r.Config = map[string]any{}
	}
	done := b.finished()
	records := b.Records()
	counted := slices.DeleteFunc(slices.Clone(records), func(c Record) bool { return c.Step != "" && !done[c.Step] })
	r.Raw = counted
	r.Totals = totals(counted, b.clock.Now())
	r.Emptied = b.emptied(counted)
	r.Cost = b.bill(records)
	r.Cost.Estimated = estimate.Cost(env.table())
	for i := range r.Metrics {
		r.Metrics[i].tidy()
	}
}

// tidy makes a metric that JSON can hold.
func (m *Metric) tidy() {
	for _, v := range []*float64{&m.Value, &m.Low, &m.High} {
		if math.IsNaN(*v) || math.IsInf(*v, 0) {
			*v, m.Provisional = 0, true
			m.Note = cmp.Or(m.Note, "not determined")
		}
	}
}
