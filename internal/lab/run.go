package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
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

func totals(records []Record, wall time.Duration) Totals {
	t := Totals{WallS: wall.Seconds()}
	var out int64
	var latencies []float64
	for i := range records {
		r := &records[i]
		n := max(1, r.Rows)
		t.Calls += n
		out += r.Usage.Output
		switch {
		case r.OK():
			t.Succeeded += n
			if r.Tier == "" {
				latencies = append(latencies, float64(r.Latency())/1e6)
			}
		case r.Is(wire.Acceleration):
			t.Accelerated++
		case r.Status == 429:
			t.Steady++
		case r.Is(wire.Overloaded):
			t.Overloaded++
		default:
			t.Other++
		}
	}
	if minutes := wall.Minutes(); minutes > 0 {
		t.CallsPerMin, t.OutputPerMin = float64(t.Succeeded)/minutes, float64(out)/minutes
	}
	if t.Calls > 0 {
		all := float64(t.Calls)
		t.AcceleratedShare, t.SteadyShare, t.OverloadedShare = float64(t.Accelerated)/all, float64(t.Steady)/all, float64(t.Overloaded)/all
	}
	slices.Sort(latencies)
	t.P50Ms, t.P95Ms = quantile(latencies, 0.5), quantile(latencies, 0.95)
	return t
}

// quantile of sorted values, by the nearest rank; 0 of none.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// bill adds the records up; what no finished step has is at the end of the
// account, under Discarded.
func (b *Bench) bill(records []Record) Bill {
	var bill Bill
	done := b.finished()
	for i := range records {
		r := &records[i]
		if r.Cost == 0 {
			continue
		}
		bill.Total += r.Cost
		if r.Step != "" && !done[r.Step] {
			bill.Discarded.Calls++
			bill.Discarded.Sum += r.Cost
		}
		bill.line(r, b.env.table())
	}
	b.mu.Lock()
	bill.InDoubt = b.purse.inDoubt
	b.mu.Unlock()
	return bill
}

func (bill *Bill) line(r *Record, table *price.Table) {
	tier := cmp.Or(r.Tier, Sync)
	i := slices.IndexFunc(bill.Lines, func(l BillLine) bool { return l.Org == r.Org && l.Model == r.Model && l.Tier == tier })
	if i < 0 {
		m, _ := table.Lookup(r.Model)
		bill.Lines = append(bill.Lines, BillLine{
			Org: r.Org, Model: r.Model, Tier: tier, InPrice: m.Prices.In.String(), OutPrice: m.Prices.Out.String(), Half: tier == Batch,
		})
		i = len(bill.Lines) - 1
	}
	l := &bill.Lines[i]
	l.Calls += max(1, r.Rows)
	l.Input += r.Usage.Input
	l.CacheWrite += r.Usage.CacheWrite5m + r.Usage.CacheWrite1h
	l.CacheRead += r.Usage.CacheRead
	l.Output += r.Usage.Output
	l.Sum += r.Cost
}

// File is where a result is stored.
func (e *Env) File(experiment string) string {
	return filepath.Join(e.dir(), experiment+"-"+e.window()+".json")
}

// Store writes the result's file, whole or not at all.
func (r *Result) Store(env *Env) error {
	if err := r.Check(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("writing the result of %s: %w", r.Experiment, err)
	}
	path := env.File(r.Experiment)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the directory of results: %w", err)
	}
	next := path + ".new"
	if err := os.WriteFile(next, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the result of %s: %w", r.Experiment, err)
	}
	return os.Rename(next, path)
}

// storeUnlessBetter does not put half a result in the place of a whole one.
func (r *Result) storeUnlessBetter(env *Env) error {
	if old, err := Read(env.File(r.Experiment)); err == nil && old.Stopped == "" {
		return nil
	}
	return r.Store(env)
}

// Read reads a stored result and holds it to the schema.
func Read(path string) (*Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a result: %w", err)
	}
	var r Result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}

// ReadAll reads all results of a directory, oldest first; files that are no
// results are named in the error beside those that are.
func ReadAll(dir string) ([]*Result, error) {
	paths, err := filepath.Glob(filepath.Join(cmp.Or(dir, defaultDir), "*.json"))
	if err != nil {
		return nil, err
	}
	var results []*Result
	var bad []error
	for _, path := range paths {
		r, err := Read(path)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		results = append(results, r)
	}
	slices.SortStableFunc(results, func(a, b *Result) int { return a.Ended.Compare(b.Ended) })
	return results, errors.Join(bad...)
}
