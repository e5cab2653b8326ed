package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

func newJobsCancelCmd() *cobra.Command {
	var flags jobsFlags
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Give up the rows of a job that are pending, and end its batches",
		Long: `Give up the rows of a job that are pending: they count as canceled, and what is in
flight ends. What is done stays; --retry canceled sends them after all.

Batches at the provider are canceled and their ends are waited for, which takes
minutes: rows that they had answered count as done. That needs the keys of their orgs
and the job's inputs; begin it in the directory in which the job was begun.`,
		Example: "  flotilla jobs cancel 7f3a",
		Args:    oneJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			var open *journal.JobInfo
			var path string
			err := flags.withJob(cmd, args[0], func(j *journal.Journal, info *journal.JobInfo) (err error) {
				switch {
				case info.Kind == journal.KindServe && info.Holder != nil: // nobody would read the word that is left
					return withHint(fmt.Errorf("job %s is the calls of a gateway's client, which cannot be canceled", info.Key),
						"their programs end them; flotilla serve keys revoke NAME keeps out new ones")
				case info.Kind == journal.KindServe:
					return fmt.Errorf("job %s is the calls of a gateway's client: those that have no answer will get none", info.Key)
				case info.Holder != nil:
					return j.Signal(cmd.Context(), info.ID, journal.Cancel)
				case info.Kind == journal.KindBatch:
					return withHint(fmt.Errorf("job %s is a batch of a gateway that does not run", info.Key),
						"flotilla serve goes on with it; then flotilla jobs cancel, or its client, can end it")
				case info.Batches > 0:
					open, path = info, j.Path() // another handle on the journal ends them
					return nil
				}
				n, err := cancelPending(cmd.Context(), j, info)
				if err == nil {
					_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s canceled\n", plural(n, "row"))
				}
				return err
			})
			if err != nil || open == nil {
				return err
			}
			return cancelBatches(cmd, open, path)
		},
	}
	flags.add(cmd)
	return cmd
}

// cancelBatches runs the command of a job that nobody carries, in order to end
// its batches and nothing else.
func cancelBatches(cmd *cobra.Command, info *journal.JobInfo, path string) error {
	f, again, inputs, err := runAgain(cmd, info)
	if err == nil {
		f.cancels = info.ID
		f.settings.journal, f.settings.orgs = path, nil
		f.summary, f.trace, f.retry, f.deadline, f.spend = "", "", nil, deadline{}, spendCaps{}
		if f.output == "" {
			again.SetOut(io.Discard) // an earlier run has written its lines
		}
		err = f.run(again, inputs)
	}
	var exit *exitError
	switch {
	case errors.As(err, &exit) && exit.code == job.ExitRows:
		return nil // rows were canceled, as was asked
	case err == nil || errors.As(err, &exit):
		return err
	}
	return withHint(fmt.Errorf("job %s has %s open, and its command cannot be run again: %w", info.Key, batchesText(info.Batches), err),
		"go where the job was begun, set the keys of its orgs, and try again; the command was "+info.Command)
}

// cancelBlock bounds one transaction.
const cancelBlock = 1000

// cancelPending settles what is pending of a job that nobody runs. Its lines are
// written by the next run of its command.
func cancelPending(ctx context.Context, j *journal.Journal, info *journal.JobInfo) (n int, err error) {
	held, err := j.Begin(ctx, journal.JobSpec{
		Identity: info.Identity, Provider: info.Realm.Provider, Emulated: info.Realm.Emulated,
		Command: info.Command, Inputs: info.Inputs, N: info.N,
	})
	if err != nil {
		return 0, err
	}
	state := journal.Stopped
	defer func() { err = errors.Join(err, held.End(ctx, state, nil)) }()
	st, err := held.State(ctx)
	if err != nil {
		return 0, err
	}
	var records []flotilla.Record
	for row := range st.Rows() {
		if st.Outcome(row) != journal.Pending {
			continue
		}
		records = append(records, flotilla.Record{Kind: flotilla.OutcomeRecord, Job: held.ID, Row: row, At: time.Now(), Type: journal.Canceled.String()})
		if len(records) == cancelBlock {
			if err := j.Append(records); err != nil {
				return n, err
			}
			n, records = n+len(records), records[:0]
		}
	}
	if err := j.Append(records); err != nil {
		return n, err
	}
	state = journal.Finished
	return n + len(records), nil
}

// errOtherJob says that inputs or what their requests come from have changed.
var errOtherJob = errors.New("its inputs are not what they were")

// cancelAll ends the job's batches, where this is the job: it is told what
// another process would be told.
func (r *runner) cancelAll(ctx context.Context, run *job.Run) error {
	if r.book.Job.ID != r.flags.cancels {
		return errOtherJob
	}
	if err := r.journal.Signal(ctx, r.flags.cancels, journal.Cancel); err != nil {
		return err
	}
	return r.carry(ctx, run)
}

// carrier is the run's fleet as its job uses it.
type carrier struct{ r *runner }

// Weigh is part of job.Fleet.
func (c carrier) Weigh(body []byte) (flotilla.Facts, error) { return c.r.fleet.Weigh(body) }

// Carry is part of job.Fleet. Where batches are to be ended it sends nothing: it
// waits for the word that the job is canceled, and then ends them.
func (c carrier) Carry(ctx context.Context, src flotilla.Source, opt flotilla.Options) (flotilla.Report, error) {
	if c.r.flags.cancels == 0 || opt.CancelBatches {
		return c.r.fleet.Carry(ctx, src, opt)
	}
	<-ctx.Done()
	return flotilla.Report{Cause: flotilla.Interrupted}, nil
}
