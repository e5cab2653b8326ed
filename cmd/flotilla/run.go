package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

func newRunCmd() *cobra.Command { return (&runFlags{}).command() }

// command is run with these flags.
func (f *runFlags) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run INPUT… [-o OUT]",
		Short: "Carry every row of a file to a result",
		Long: `Carry every row to a result: of JSON lines (.jsonl, .gz, .zst), CSV, Parquet, or - for
standard input. A row is a batch request, a Messages body, or anything at all with
--prompt. Interrupt it at any moment; the same command goes on.

Templates (--prompt, --system, strings of --params) are Go's: {{.question}}, and
{{field "Prompt text"}} for a name with spaces or signs. Functions:
` + job.TemplateFunctions + `.`,
		Example: `  flotilla run prompts.csv --prompt '{{.question}}' --model claude-haiku-4-5 --max-tokens 300 -o out.jsonl
  flotilla run requests.jsonl -o out.jsonl --max-spend 40 --deadline 08:00
  flotilla run requests.jsonl -n`,
		RunE: func(cmd *cobra.Command, inputs []string) error { return f.run(cmd, inputs) },
	}
	f.add(cmd)
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, inputs []string) error {
	if err := f.check(inputs); err != nil {
		return err
	}
	s, err := f.settings.load(cmd)
	if err != nil {
		return err
	}
	f.apply(s)
	if err := errors.Join(s.checkFloors(), f.checkTiers(s)); err != nil {
		return err
	}
	r := &runner{
		flags: f, settings: s, inputs: inputs, command: commandLine(cmd, inputs),
		in: cmd.InOrStdin(), out: cmd.OutOrStdout(), err: &lockedWriter{w: cmd.ErrOrStderr()}, errTerminal: terminalOf(cmd.ErrOrStderr()),
	}
	if f.dryRun {
		return r.dry(cmd.Context())
	}
	return r.run(cmd.Context())
}

// runner is one invocation of run on its way.
type runner struct {
	flags    *runFlags
	settings *Settings
	inputs   []string
	command  string // for people
	in       io.Reader
	out, err io.Writer

	errTerminal *terminal // that standard error leads to; nil: none

	journal  *journal.Journal
	book     *book          // of the job, once begun
	store    flotilla.Store // the journal
	shares   *shares
	purse    *purse // nil: no cap per day
	fleet    *flotilla.Fleet
	maxConns int // of the fleet to an org; 0: as many as it likes
	infos    []flotilla.OrgInfo
	trace    io.WriteCloser // nil: none
	progress *progress
	deadline time.Time // zero: none

	relearn *relearning
	route   flotilla.Route // that the job takes: chosen once its plan is known
	profile profile        // what was measured of the provider
	report  *planReport    // what was said beforehand; nil: nothing yet

	mu   sync.Mutex
	last job.Progress // as the job told it last
	plan job.Plan
}

// run opens everything, in the order in which it can go wrong cheaply, carries
// the job and closes everything again.
func (r *runner) run(ctx context.Context) (err error) {
	defer keepOnBrokenPipe()()
	s := r.settings
	if err := s.NeedOrgs(); err != nil {
		return err
	}
	shape, err := r.flags.shape(s)
	if err != nil {
		return err
	}
	path, err := journal.Locate(s.Journal, ".")
	if err != nil {
		return err
	}
	if err := r.apart(path); err != nil {
		return err
	}
	s.knownLimits(ctx, r.flags.prices())
	for _, w := range s.Warnings {
		warn(r.err, w)
	}
	if r.journal, err = journal.Open(ctx, path, journal.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.journal.Close()) }()
	if r.journal.Exclusive() {
		warn(r.err, path+" is on a network file system: one process at a time can use it")
	}
	if err := r.connect(ctx); err != nil {
		return err
	}
	defer func() {
		if e := r.disconnect(); err == nil {
			err = e
		}
	}()
	return r.job(ctx, shape)
}

// connect makes the fleet and learns who the orgs are.
func (r *runner) connect(ctx context.Context) (err error) {
	if r.trace, err = openTrace(r.flags.trace); err != nil {
		return err
	}
	r.shares, r.store = &shares{journal: r.journal}, testStore(r.journal)
	r.progress = newProgress(r.view())
	c := r.config()
	if limit, _, err := fileLimit(); err == nil {
		r.boundConns(&c, limit)
		r.maxConns = c.MaxConns
	}
	if r.fleet, err = flotilla.New(c); err != nil {
		return err
	}
	if r.infos, err = connect(ctx, r.fleet, r.err); err != nil {
		return errors.Join(err, r.disconnect())
	}
	return nil
}

// config is what the run asks of its fleet.
func (r *runner) config() flotilla.Config {
	c := r.flags.fleetConfig(r.settings)
	c.MaxConns = r.maxConns
	c.Store, c.Slots, c.Memory, c.Notify = r.store, r.shares, r.shares, r.progress.notify
	if r.trace != nil {
		c.Trace = r.trace
	}
	return c
}

// testStore lets a test put something between a fleet and its journal.
var testStore = func(s flotilla.Store) flotilla.Store { return s }

func (r *runner) disconnect() error {
	err := r.fleet.Close()
	if r.trace != nil {
		err = errors.Join(err, r.trace.Close())
	}
	return err
}

// job carries the job itself.
func (r *runner) job(ctx context.Context, shape job.Shape) (err error) {
	mark, err := emulatedMark(r.infos)
	if err != nil {
		return err
	}
	r.shares.learn(journal.Realm{Provider: shape.Provider, Emulated: mark}, r.infos, r.fleet.Now)
	if err := r.takeProfile(ctx, mark); err != nil {
		return err
	}
	run, err := job.Open(ctx, carrier{r}, r.jobConfig(shape, mark))
	if err != nil {
		return r.flags.fromFlag(err)
	}
	carried := false
	defer func() { err = errors.Join(err, run.Close(), r.takeBack(ctx, carried)) }()
	if err := run.Begin(ctx, r.books()); err != nil {
		return r.changedSince(ctx, err)
	}
	r.plan = run.Plan()
	if r.flags.cancels != 0 {
		return r.cancelAll(ctx, run)
	}
	if err := r.choose(ctx); err != nil {
		return err
	}
	if err := r.keepOn(ctx, r.report.KeptOn); err != nil {
		return err
	}
	if c := r.report.chosen(); c != nil {
		run.Promise(c.promise())
	}
	r.start(mark)
	if err := r.sayForgotten(ctx); err != nil {
		return err
	}
	if err := r.confirm(ctx); err != nil {
		return err // closing the journal gives the job back
	}
	carried = true
	return r.carry(ctx, run)
}

// books is the journal as the job sees it. The purse is of the job that begins.
func (r *runner) books() books {
	return books{r.journal, func(b *book) {
		r.book = b
		if r.purse != nil {
			r.purse.job = b.Job.ID
		}
	}}
}

func (r *runner) confirm(ctx context.Context) error {
	expected, worst := r.plan.Expected, r.plan.Worst
	if c := r.report.chosen(); c != nil {
		expected, worst = c.P50USD, c.WorstUSD
	}
	if !r.flags.needsAsking(r.settings, expected, terminalOf(r.in), r.errTerminal) {
		return nil
	}
	return ask(ctx, r.in, r.err, expected, worst)
}

// spoolDir is where copies of input go: beside the journal, where there is one.
func (r *runner) spoolDir() string {
	if r.journal == nil {
		return ""
	}
	return filepath.Dir(r.journal.Path())
}
