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
	"github.com/flotilla-llm/flotilla/internal/jobbook"
	"github.com/flotilla-llm/flotilla/internal/judge"
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
	panel, err := f.panel(func(text string) { warn(cmd.ErrOrStderr(), text) })
	if err != nil {
		return err
	}
	r := &runner{
		crew:  newCrew(s, f, cmd.ErrOrStderr()),
		panel: panel, flags: f, inputs: inputs, command: commandLine(cmd, inputs), in: cmd.InOrStdin(), out: cmd.OutOrStdout(),
	}
	if f.dryRun {
		return r.dry(cmd.Context())
	}
	return r.run(cmd.Context())
}

// runner is one invocation of run on its way.
type runner struct {
	crew
	flags   *runFlags
	panel   *judge.Panel // of judge; nil: the command is run
	inputs  []string
	command string // for people
	in      io.Reader
	out     io.Writer

	book     *jobbook.Book // of the job, once begun
	purse    *purse        // nil: no cap per day
	progress *progress
	deadline time.Time // zero: none
	ui       ui

	relearn *relearning
	route   flotilla.Route // that the job takes: chosen once its plan is known
	report  *planReport    // what was said beforehand; nil: nothing yet

	mu   sync.Mutex
	last job.Progress // as the job told it last
	plan job.Plan
}

// run opens everything, in the order in which it can go wrong cheaply, carries
// the job and closes everything again.
func (r *runner) run(ctx context.Context) (err error) {
	defer keepOnBrokenPipe()()
	if err := r.settings.NeedOrgs(); err != nil {
		return err
	}
	shape, err := r.flags.shape(r.settings)
	if err != nil {
		return err
	}
	path, err := journal.Locate(r.settings.Journal, ".")
	if err != nil {
		return err
	}
	if err := r.apart(path); err != nil {
		return err
	}
	if err := r.ui.listen(ctx, r.flags.ui); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.ui.close()) }()
	r.progress = newProgress(r.view())
	r.notify, r.observe = r.progress.notify, r.ui.board.observe
	return r.with(ctx, path, func() error { return r.job(ctx, shape) })
}

// job carries the job itself.
func (r *runner) job(ctx context.Context, shape job.Shape) (err error) {
	mark, err := r.known(ctx)
	if err != nil {
		return err
	}
	run, err := r.open(ctx, carrier{r}, shape, mark)
	if err != nil {
		return err
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
	if err := r.show(ctx, mark, run); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.ui.close()) }() // while there is a journal to look into
	err = r.carry(ctx, run)
	r.stay(ctx)
	return err
}

// open reads every row of the job.
func (r *runner) open(ctx context.Context, fleet job.Fleet, shape job.Shape, mark string) (*job.Run, error) {
	run, err := job.Open(ctx, fleet, r.jobConfig(shape, mark))
	if err != nil {
		return nil, r.flags.fromFlag(err)
	}
	if r.panel == nil {
		return run, nil
	}
	if err := r.panel.Check(); err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return run, nil
}

// books is the journal as the job sees it. The purse is of the job that begins.
func (r *runner) books() jobbook.Books {
	return jobbook.Books{Journal: r.journal, Began: func(b *jobbook.Book) {
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
