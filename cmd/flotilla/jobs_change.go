package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla/journal"
)

// newSignalCmd leaves word for the process that runs a job.
func newSignalCmd(name, short string, s journal.Signal) *cobra.Command {
	var flags jobsFlags
	cmd := &cobra.Command{
		Use:     name + " ID",
		Short:   short,
		Example: "  flotilla jobs " + name + " 7f3a",
		Args:    oneJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.withJob(cmd, args[0], func(j *journal.Journal, info *journal.JobInfo) error {
				if info.Kind == journal.KindServe {
					return withHint(fmt.Errorf("job %s is the calls of a gateway's client, which cannot be paused or resumed", info.Key),
						"the gateway's dashboard pauses lanes; flotilla serve keys gives a client another budget, or none")
				}
				if info.Holder == nil {
					return withHint(fmt.Errorf("job %s is not running: it is %s", info.Key, info.State), "the command that began it goes on: "+info.Command)
				}
				return j.Signal(cmd.Context(), info.ID, s)
			})
		},
	}
	flags.add(cmd)
	return cmd
}

func newJobsPruneCmd() *cobra.Command {
	var flags jobsFlags
	var compact bool
	older := 30 * 24 * time.Hour
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove the jobs that ended long ago, with their answers",
		Long: `Remove the jobs that ended long ago, with those of their answers that no other job
has from the cache. What they cost stays counted. Those with batches at the provider
stay.`,
		Example: "  flotilla jobs prune --older 90d --compact",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.with(cmd, func(j *journal.Journal) error {
				n, err := j.Prune(cmd.Context(), time.Now().Add(-older))
				if err == nil && compact {
					err = j.Compact(cmd.Context())
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s removed\n", plural(n, "job"))
				return err
			})
		},
	}
	flags.add(cmd)
	given(cmd.Flags(), "older", "TIME", "those that ended longer ago than this", "30d", parseSpan, func(d time.Duration) { older = d })
	cmd.Flags().BoolVar(&compact, "compact", false, "give the room back to the file system; needs as much free disk as the journal has")
	return cmd
}

func newJobsRmCmd() *cobra.Command {
	var flags jobsFlags
	var abandon bool
	cmd := &cobra.Command{
		Use:   "rm ID…",
		Short: "Remove jobs, with their answers",
		Long: `Remove jobs, with their answers. One that has batches at the provider is kept: they
may be answered and billed yet. What a job cost stays counted.`,
		Example: "  flotilla jobs rm 7f3a",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return oneJob(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.with(cmd, func(j *journal.Journal) error {
				for _, id := range args {
					info, err := j.Find(cmd.Context(), id)
					if err != nil {
						return err
					}
					counts, err := countsOf(cmd.Context(), j, &info)
					if err != nil {
						return err
					}
					remove := j.Remove
					if abandon {
						remove = j.Abandon
					}
					if err := remove(cmd.Context(), info.ID); err != nil {
						return err
					}
					fmt.Fprintf(cmd.ErrOrStderr(), "job %s removed, %s of it settled: %s\n", info.Key, plural(counts.settled(), "row"), info.Command)
				}
				return nil
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&abandon, "abandon", false, "also with batches at the provider, whose answers nobody will then collect")
	group(cmd, groupAdvanced, "abandon")
	return cmd
}
