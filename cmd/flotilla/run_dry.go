package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
)

// dry reads, prices and foretells a job. It reaches no network, takes no journal
// and needs no key.
func (r *runner) dry(ctx context.Context) (err error) {
	for _, w := range r.settings.Warnings {
		warn(r.err, w)
	}
	if r.flags.noFile(r.inputs) {
		if r.plan, err = r.flags.barePlan(); err != nil {
			return err
		}
		return r.printDry(ctx)
	}
	shape, err := r.flags.shape(r.settings)
	if err != nil {
		return err
	}
	c := r.flags.fleetConfig(r.settings)
	if len(c.Orgs) == 0 {
		c.Orgs = []flotilla.Org{{Name: "none", Key: "none"}} // weighs bodies, and is never asked anything
	}
	if r.fleet, err = flotilla.New(c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.fleet.Close()) }()
	run, err := job.Open(ctx, r.fleet, r.jobConfig(shape, ""))
	if err != nil {
		return r.flags.fromFlag(err)
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	r.plan = run.Plan()
	for _, w := range r.plan.Warnings {
		warn(r.err, w)
	}
	return r.printDry(ctx)
}

// printDry prints the forecast where results go.
func (r *runner) printDry(ctx context.Context) error {
	p, err := r.foretell(ctx)
	if err != nil {
		return err
	}
	if r.flags.json {
		return printJSON(r.out, p)
	}
	if err := p.print(r.out); err != nil {
		return err
	}
	_, err = io.WriteString(r.err, "flotilla: nothing was sent\n")
	return err
}

// barePlan is the plan of a job that figures describe in the place of a file.
func (f *runFlags) barePlan() (p job.Plan, err error) {
	table := f.prices()
	m, ok := table.Lookup(f.model)
	if !ok {
		return p, f.fromFlag(&flotilla.UnknownModelError{Model: f.model})
	}
	n := flotilla.Money(f.bare.n)
	room := f.bareRoom()
	p = job.Plan{
		Rows: f.bare.n, Pending: f.bare.n, Models: []string{m.ID}, Priced: table.Date.Format("2006-01-02"), Tokens: int64(f.bare.n) * int64(f.bare.in),
		Worst: n * m.Worst(int64(f.bare.in), int64(room), false, false, false, false, false),
	}
	return p, nil
}

// bareRoom is max_tokens of a job without a file: as given, else what leaves
// answers of the expected length room enough.
func (f *runFlags) bareRoom() int {
	if f.maxTokens != nil {
		return *f.maxTokens
	}
	return max(f.outTokens.p95, 4*f.outTokens.mean)
}

// roomText says which max_tokens was taken where nobody gave one.
func (f *runFlags) roomText() string {
	if f.bare == nil || f.bare.n == 0 || f.maxTokens != nil {
		return ""
	}
	return fmt.Sprintf("max_tokens of %s, four times the mean or the P95", whole(f.bareRoom()))
}
