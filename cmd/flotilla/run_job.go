package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
)

// shape is what the flags say of requests, texts of files read.
func (f *runFlags) shape(s *Settings) (job.Shape, error) {
	shape := job.Shape{
		IDFields: f.idFields, Repeats: f.repeats, Dedupe: f.dedupe,
		Version: s.Version, Betas: s.Betas,
	}
	var err error
	if shape.Provider, err = flotilla.Provider(s.BaseURL); err != nil || f.judge != nil {
		return shape, err // a rubric says the rest
	}
	shape.Model, shape.MaxTokens = f.model, f.maxTokens
	for _, text := range []struct {
		flag, value string
		to          *string
	}{{"--prompt", f.prompt, &shape.Prompt}, {"--system", f.system, &shape.System}, {"--params", f.params, &shape.Params}} {
		if *text.to, err = job.ReadText(text.value); err != nil {
			return shape, fmt.Errorf("%s: %w", text.flag, err)
		}
		if text.value != "" && *text.to == "" {
			return shape, fmt.Errorf("%s is empty", text.flag)
		}
	}
	return shape, nil
}

// jobConfig is what the job package is asked to do.
func (r *runner) jobConfig(shape job.Shape, mark string) job.Config {
	f, s := r.flags, r.settings
	opt := flotilla.Options{Prefer: f.prefer, MaxSpend: s.MaxSpend, MaxWait: f.maxWait, MaxWaitDaily: f.maxWait, Drain: drainFor, Route: &r.route}
	now := r.now()
	r.deadline = f.deadline.from(now())
	opt.Deadline = r.deadline
	if s.MaxSpendPerDay > 0 && r.journal != nil {
		r.purse = &purse{journal: r.journal, limit: s.MaxSpendPerDay, now: now}
		opt.Purse = r.purse
	}
	return job.Config{
		Inputs: r.inputs, Stdin: r.in, Shape: shape,
		Output:  r.output(),
		SkipBad: f.skipBad, Limit: f.limit, OutTokens: f.outTokens.mean, OutP95: f.outTokens.p95, Retry: f.retry, NoCache: f.noCache, Reuse: f.reuse, FailFast: f.failFast,
		NoSync: s.noSync(), Dir: r.spoolDir(), Command: r.command, Emulated: mark, Prices: f.prices(), Craft: r.craft(), Kind: f.kind(),
		KeyVariable: s.keyVariable,
		Options:     opt, Now: now, Say: func(text string) { warn(r.err, text) }, Settled: r.settled, Learned: r.heardLength,
	}
}

// output is where results go.
func (r *runner) output() job.Output {
	f := r.flags
	return job.Output{
		Path: f.output, Stdout: r.out, Terminal: terminalOf(r.out) != nil,
		Keep: f.keep, ByInput: f.order == orderInput, Overwrite: f.overwrite,
	}
}

// settled is told by the job of every row.
func (r *runner) settled(p job.Progress) {
	r.mu.Lock()
	r.last = p
	r.mu.Unlock()
}

// heardLength is told by the job how long a model's answers are.
func (r *runner) heardLength(model string, out, p95 float64) {
	if r.report != nil {
		r.relearn.learned(model, out, p95)
	}
}

// counts is how far the job is, for progress.
func (r *runner) counts() counts {
	r.mu.Lock()
	p := r.last
	r.mu.Unlock()
	c := counts{rows: r.plan.Rows, done: r.plan.Settled + r.plan.Cached, spent: r.plan.Spent - r.plan.Held + p.Cost, calls: p.Settled, out: p.Output}
	if p.Settled > 0 {
		c.done, c.errored = p.Done, p.Failed
	}
	if r.plan.Pending > 0 {
		c.in = r.plan.Tokens * int64(p.Settled) / int64(r.plan.Pending)
	}
	return c
}

// carry makes the calls, showing how far they are, and tells how it ended.
func (r *runner) carry(ctx context.Context, run *job.Run) error {
	if r.plan.Pending > 0 {
		r.progress.start(watched{
			job: r.plan.Job, cap: r.settings.MaxSpend, deadline: r.deadline, counts: r.counts, snapshot: r.fleet.Snapshot,
		})
	}
	r.relearn = newRelearning(ctx, r)
	defer r.relearn.end()
	ended := make(chan struct{})
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		r.hearSignals(ctx, ended)
	}()
	s, report, err := run.Carry(ctx)
	close(ended)
	<-heard
	if report.Cause == flotilla.CapReached {
		r.progress.stopped("the cap on money")
	}
	r.progress.end()
	return r.finish(&s, &report, err)
}

// hearSignals answers the first signal at once, in words, and ends everything
// at the second.
func (r *runner) hearSignals(ctx context.Context, ended <-chan struct{}) {
	select {
	case <-ctx.Done():
		if r.plan.Pending > 0 {
			r.sayStopping()
		}
	case <-ended:
		return
	}
	select {
	case <-stopNow(ctx):
		r.fleet.Abort()
	case <-ended:
	}
}

// drainFor is how long what is in flight may go on after a first signal
// (interface.md, "Exit codes").
const drainFor = 20 * time.Second

// sayStopping tells what a first signal began.
func (r *runner) sayStopping() {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	what := "calls in flight may end, " + span(drainFor) + " at most"
	if s, err := r.fleet.Snapshot(ctx); err == nil {
		if what = stoppingText(&s); what == "" {
			return // it is over already
		}
	}
	_, _ = fmt.Fprintf(r.err, "flotilla: stopping: %s; Ctrl-C again stops at once\n", what)
}

// stoppingText says what becomes of what is under way; empty: nothing is.
func stoppingText(s *flotilla.Snapshot) string {
	n := 0
	for i := range s.Lanes {
		if s.Lanes[i].Tier != tierNameBatch {
			n += s.Lanes[i].InFlight
		}
	}
	calls, batches := "", ""
	if n > 0 {
		calls = fmt.Sprintf("%s in flight may end, %s at most", plural(n, "call"), span(drainFor))
	}
	if len(s.Batches) > 0 {
		batches = batchesText(len(s.Batches)) + " run on at the provider"
	}
	return joined("; ", calls, batches)
}

// finish says how the run ended and writes the summary.
func (r *runner) finish(s *job.Summary, report *flotilla.Report, err error) error {
	if r.flags.summary != "" && s.JobID != "" {
		err = errors.Join(err, s.WriteFile(r.flags.summary))
	}
	code := job.ExitCode(report.Cause, err, s)
	if err != nil {
		return exitWith(code, err)
	}
	r.nameDayCap(report)
	if noKeyLeft(s, report) {
		r.tellNoKey(s, report)
		return exitWith(job.ExitError, flotilla.ErrNoOrg)
	}
	r.tell(s, report)
	if code == job.ExitOK {
		return nil
	}
	return exitWith(code, nil)
}

// noKeyLeft says that no key of ours was accepted for calls, though it may have
// been for the free read before: what no waiting mends (interface.md, "Exit
// codes").
func noKeyLeft(s *job.Summary, report *flotilla.Report) bool {
	if report.Cause != flotilla.LanesClosed || s.Pending == 0 || len(report.Closed) == 0 {
		return false
	}
	for _, l := range report.Lanes {
		if l.Succeeded > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(report.Closed, func(c flotilla.ClosedLane) bool { return c.Class != "auth" })
}

// nameDayCap says of a cap per day what it is and what of it is used: the fleet
// knows the part that was granted to it.
func (r *runner) nameDayCap(report *flotilla.Report) {
	if report.Budget == nil || report.Budget.Per == 0 {
		return
	}
	report.Budget.Cap = r.settings.MaxSpendPerDay
	if spent, err := r.journal.SpentOn(context.Background(), r.now()()); err == nil {
		report.Budget.Spent = spent
	}
}
