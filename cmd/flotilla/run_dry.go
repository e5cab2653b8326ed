package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/jobbook"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/price"
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
		if err := r.supposeProfile(""); err != nil {
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
	mark, err := r.peekJournal(ctx, shape.Provider)
	if err != nil {
		return err
	}
	if r.journal != nil {
		defer func() { err = errors.Join(err, r.journal.Close()) }()
	}
	if err := r.supposeProfile(mark); err != nil {
		return err
	}
	run, err := r.open(ctx, r.fleet, shape, mark)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	if r.journal != nil {
		if err := run.Peek(ctx, jobbook.Books{Journal: r.journal}); err != nil {
			return err
		}
	}
	r.plan = run.Plan()
	for _, w := range r.plan.Warnings {
		warn(r.err, w)
	}
	return r.printDry(ctx)
}

// peekJournal opens the journal there is, to look at it; it makes none. mark is
// the provenance of the newest job that the provider carried: whether an
// emulator answers there, only it would say.
func (r *runner) peekJournal(ctx context.Context, provider string) (mark string, err error) {
	path, err := journal.Locate(r.settings.Journal, ".")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if r.journal, err = journal.Open(ctx, path, journal.Options{}); err != nil {
		return "", err
	}
	jobs, err := r.journal.Jobs(ctx, time.Time{})
	for i := range jobs {
		if jobs[i].Realm.Provider == provider {
			mark = jobs[i].Realm.Emulated
			break
		}
	}
	r.shares = &shares{journal: r.journal, realm: journal.Realm{Provider: provider, Emulated: mark}, now: time.Now}
	return mark, err
}

// printDry prints the forecast where results go.
func (r *runner) printDry(ctx context.Context) error {
	now := r.now()()
	if at := r.flags.deadline.from(now); r.plan.Pending > 0 && !at.IsZero() && !at.After(now) {
		return &exitError{job.ExitDeadline, withHint(fmt.Errorf("the deadline %s has passed: nothing would be sent", at.Local().Format("2006-01-02 15:04:05 MST")),
			"the same command with a later --deadline, or without one")}
	}
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
	c := job.Class{
		Model: m.ID, Pool: m.Pool, Family: m.Family(), Rows: f.bare.n, In: float64(f.bare.in), MaxTokens: float64(f.bareRoom()),
		Bytes: float64(bytesOfText*f.bare.in + bytesAround), Out: float64(f.outTokens.mean), OutP95: float64(f.outTokens.p95), OutSource: job.OutGiven,
		Worst: flotilla.Money(f.bare.n) * m.Worst(int64(f.bare.in), int64(f.bareRoom()), false, false, false, false, false),
	}
	if c.Out == 0 {
		c.Out, c.OutSource = c.MaxTokens, job.OutBound
	}
	c.Out = min(c.Out, c.MaxTokens)
	c.Expected = flotilla.Money(f.bare.n) * m.Cost(price.Usage{Input: int64(f.bare.in), Output: int64(c.Out)})
	p = job.Plan{
		Rows: c.Rows, Pending: c.Rows, Models: []string{m.ID}, Priced: table.Date.Format("2006-01-02"), Tokens: int64(c.Rows) * int64(f.bare.in),
		Classes: []job.Class{c}, Expected: c.Expected, Worst: c.Worst,
	}
	return p, nil
}

// What a row of a batch takes besides its text, and a token of text: about four
// bytes of English.
const bytesOfText, bytesAround = 4, 200

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
