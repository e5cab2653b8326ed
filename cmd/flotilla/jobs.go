package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla/journal"
)

// jobsFlags find the journal.
type jobsFlags struct {
	settings settingsFlags
	json     bool
}

// newJobsCmd is what the journal knows.
func newJobsCmd() *cobra.Command {
	list := newJobsListCmd("jobs [ID]", cobra.MaximumNArgs(1))
	list.Short = "Show, pause, cancel, export, audit or remove the jobs of the journal"
	list.Long = "What the journal knows of jobs. IDs may be shortened as long as they are one job's."
	list.Example = "  flotilla jobs --since 30d\n  flotilla jobs show 7f3a --follow\n  flotilla jobs export 7f3a > results.jsonl"
	list.AddCommand(newJobsListCmd("list", noArgs), newJobsShowCmd(),
		newSignalCmd("pause", "Send nothing new of a running job", journal.Pause),
		newSignalCmd("resume", "Let a paused job go on", journal.Go),
		newJobsCancelCmd(), newJobsExportCmd(), newJobsAuditCmd(), newJobsPruneCmd(), newJobsRmCmd())
	return list
}

// oneJob takes one ID.
func oneJob(cmd *cobra.Command, args []string) error {
	return exactArgs(1, "the ID of one job")(cmd, args)
}

func (f *jobsFlags) add(cmd *cobra.Command) {
	f.addPlace(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print as JSON")
}

// addPlace declares where the journal is.
func (f *jobsFlags) addPlace(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.settings.journal, "journal", "", "journal `PATH` (default: the nearest .flotilla upwards)")
	cmd.Flags().StringVar(&f.settings.config, "config", "", "configuration `FILE` instead of ./flotilla.yaml")
	group(cmd, groupAdvanced, "config")
}

// errNoJournal says that nothing was ever run here.
var errNoJournal = errors.New("there is no journal here yet")

// path is where the journal is, or would be.
func (f *jobsFlags) path(cmd *cobra.Command) (string, error) {
	f.settings.speed = 1
	s, err := f.settings.load(cmd)
	if err != nil {
		return "", err
	}
	return journal.Locate(s.Journal, ".")
}

// open opens the journal there is; it creates none.
func (f *jobsFlags) open(cmd *cobra.Command) (*journal.Journal, error) {
	path, err := f.path(cmd)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(fmt.Errorf("%w: %s", errNoJournal, path), "flotilla run makes it; --journal PATH names another one")
	}
	return journal.Open(cmd.Context(), path, journal.Options{})
}

// with runs f on the journal and closes it.
func (f *jobsFlags) with(cmd *cobra.Command, do func(*journal.Journal) error) error {
	j, err := f.open(cmd)
	if err != nil {
		return err
	}
	return errors.Join(do(j), j.Close())
}

// withNew is with, on a journal that is made where there is none.
func (f *jobsFlags) withNew(cmd *cobra.Command, do func(*journal.Journal) error) error {
	path, err := f.path(cmd)
	if err != nil {
		return err
	}
	j, err := journal.Open(cmd.Context(), path, journal.Options{})
	if err != nil {
		return err
	}
	return errors.Join(do(j), j.Close())
}

// withJob runs f on the job that an argument names.
func (f *jobsFlags) withJob(cmd *cobra.Command, id string, do func(*journal.Journal, *journal.JobInfo) error) error {
	return f.with(cmd, func(j *journal.Journal) error {
		info, err := j.Find(cmd.Context(), id)
		if err != nil {
			return err
		}
		return do(j, &info)
	})
}

// rowCounts are a job's rows by outcome.
type rowCounts struct {
	N         int `json:"n"`
	Succeeded int `json:"succeeded"`
	Errored   int `json:"errored"`
	Expired   int `json:"expired"`
	Canceled  int `json:"canceled"`
	Pending   int `json:"pending"`
	InDoubt   int `json:"in_doubt"` // attempts
}

func (c *rowCounts) settled() int { return c.N - c.Pending }

func countsOf(ctx context.Context, j *journal.Journal, info *journal.JobInfo) (rowCounts, error) {
	st, err := j.StateOf(ctx, info.ID)
	if err != nil {
		return rowCounts{}, err
	}
	n := st.Counts
	return rowCounts{
		N: info.N, Succeeded: n[journal.Succeeded], Errored: n[journal.Errored], Expired: n[journal.Expired],
		Canceled: n[journal.Canceled], Pending: n[journal.Pending], InDoubt: st.Doubts,
	}, nil
}
