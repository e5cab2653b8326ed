package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// jobLine is a job in a list.
type jobLine struct {
	ID       string          `json:"id"`
	State    string          `json:"state"`
	Rows     rowCounts       `json:"rows"`
	SpentUSD flotilla.Money  `json:"spent_usd"`
	Open     int             `json:"open_batches"` // at the provider
	Created  time.Time       `json:"created"`
	Ended    *time.Time      `json:"ended"`
	Emulated string          `json:"emulated,omitempty"`
	Kind     string          `json:"kind"`             // run, judge, measure, or of a gateway: serve, batch
	Client   string          `json:"client,omitempty"` // of the gateway, whose job it is
	CapUSD   *flotilla.Money `json:"cap_usd"`          // set while it runs; null: it was not
	Command  string          `json:"command"`
}

// newJobsListCmd lists jobs; with an ID it is jobs show.
func newJobsListCmd(use string, args cobra.PositionalArgs) *cobra.Command {
	var flags jobsFlags
	var since time.Duration
	var follow bool
	cmd := &cobra.Command{
		Use:     use,
		Short:   "List the jobs of the journal, newest first",
		Example: "  flotilla jobs list --since 7d --json",
		Args:    args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return flags.show(cmd, args[0], follow)
			}
			return flags.list(cmd, since, follow)
		},
	}
	flags.add(cmd)
	given(cmd.Flags(), "since", "TIME", "only those begun or ended in the last TIME, such as 30d", "", parseSpan, func(d time.Duration) { since = d })
	addFollow(cmd, &follow)
	return cmd
}

func (f *jobsFlags) list(cmd *cobra.Command, since time.Duration, follow bool) error {
	lines := []jobLine{}
	err := f.with(cmd, func(j *journal.Journal) (err error) {
		if follow {
			if err := followJobs(cmd.Context(), j, cmd.ErrOrStderr()); err != nil {
				return err
			}
		}
		lines, err = listJobs(cmd.Context(), j, since)
		return err
	})
	if err != nil && !errors.Is(err, errNoJournal) { // no journal, no jobs
		return err
	}
	if f.json {
		return printJSON(cmd.OutOrStdout(), lines)
	}
	return printJobs(cmd.OutOrStdout(), lines)
}

func listJobs(ctx context.Context, j *journal.Journal, since time.Duration) ([]jobLine, error) {
	var from time.Time
	if since > 0 {
		from = time.Now().Add(-since)
	}
	infos, err := j.Jobs(ctx, from)
	if err != nil {
		return nil, err
	}
	lines := make([]jobLine, 0, len(infos))
	for i := range infos {
		line, err := lineOf(ctx, j, &infos[i])
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func lineOf(ctx context.Context, j *journal.Journal, info *journal.JobInfo) (jobLine, error) {
	rows, err := countsOf(ctx, j, info)
	return jobLine{
		ID: info.Key, State: info.Standing(), Rows: rows, SpentUSD: info.Spent, Open: info.Batches, Created: info.Created, Ended: someTime(info.Ended),
		Emulated: info.Realm.Emulated, Kind: info.Kind, Client: info.Client, CapUSD: info.Cap, Command: info.Command,
	}, err
}

func printJobs(w io.Writer, lines []jobLine) error {
	if len(lines) == 0 {
		_, err := fmt.Fprintln(w, "no jobs")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "job\tstate\trows\terrored\tspent\tbegun\tcommand")
	for i := range lines {
		l := &lines[i]
		spent := l.SpentUSD.String()
		if l.Emulated != "" {
			spent += " emulated"
		}
		state := l.State
		if l.Open > 0 {
			state += ", " + batchesText(l.Open) + " open"
		}
		fmt.Fprintf(t, "%s\t%s\t%s/%s\t%s\t%s\t%s\t%s\n", l.ID, state, whole(l.Rows.settled()), whole(l.Rows.N),
			whole(l.Rows.Errored), spent, l.Created.Local().Format("2006-01-02 15:04"), l.Command)
	}
	return t.Flush()
}
