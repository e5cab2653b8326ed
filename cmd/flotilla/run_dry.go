package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
)

// dry reads and prices a job. It reaches no network, takes no journal and needs
// no key.
func (r *runner) dry(ctx context.Context) (err error) {
	s := r.settings
	shape, err := r.flags.shape(s)
	if err != nil {
		return err
	}
	for _, w := range s.Warnings {
		warn(r.err, w)
	}
	c := r.flags.fleetConfig(s)
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
	return r.printDry()
}

func (r *runner) printDry() error {
	p := &r.plan
	orgs := "no key is set"
	if n := len(r.settings.Orgs); n > 0 {
		orgs = plural(n, "org")
	}
	fc := r.forecast()
	lines := []string{
		r.whatText(),
		joined("; ", "sync, "+orgs, r.capText()),
		fmt.Sprintf("%s expected, at most %s; %s input tokens", p.Expected, p.Worst, brief(float64(p.Tokens))),
	}
	if len(r.settings.Orgs) > 0 && fc.latest > 0 {
		lines = append(lines, fmt.Sprintf("between %s (bound by %s) and %s (bound by %s, with manners)",
			span(fc.bound.Time), fc.bound.Limit, span(fc.polite.Time), fc.polite.Limit))
	}
	if slow := r.slowText(); slow != "" {
		lines = append(lines, slow)
	}
	lines = append(lines, "nothing was sent; answers that the journal has already are not taken off")
	for _, line := range lines {
		if _, err := fmt.Fprintln(r.err, "flotilla: "+line); err != nil {
			return err
		}
	}
	return nil
}
