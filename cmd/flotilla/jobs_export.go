package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/jobbook"
	"github.com/flotilla-llm/flotilla/internal/judge"
	"github.com/flotilla-llm/flotilla/journal"
)

func newJobsExportCmd() *cobra.Command {
	var flags jobsFlags
	var out string
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write the results that the journal has of a job, as flotilla run does",
		Long: `Write the results that the journal has of a job, as flotilla run does. The journal
keeps answers by row, so the inputs are read again for their ids: run it where the
job was run. Of a gateway's calls it has the answers that flotilla serve --cache kept.`,
		Example: "  flotilla jobs export 7f3a > results.jsonl\n  flotilla jobs export 7f3a -o results.parquet",
		Args:    oneJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.withJob(cmd, args[0], func(j *journal.Journal, info *journal.JobInfo) error {
				if gatewayJob(info) {
					return exportKept(cmd.Context(), j, info, out, cmd.OutOrStdout())
				}
				o := job.Output{Path: out, Stdout: cmd.OutOrStdout(), Terminal: terminalOf(cmd.OutOrStdout()) != nil}
				return exportJob(cmd.Context(), j, info, o)
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "`FILE`: .jsonl (.gz, .zst), .csv, .parquet (default: standard output)")
	return cmd
}

// exportLines writes the settled rows of a job of any kind as JSON lines.
func exportLines(ctx context.Context, j *journal.Journal, info *journal.JobInfo, to io.Writer) error {
	if gatewayJob(info) {
		return exportKept(ctx, j, info, "", to)
	}
	return exportJob(ctx, j, info, job.Output{Stdout: to})
}

// exportJob writes the settled rows of a job. It reads the journal alone, so the
// job may be running.
func exportJob(ctx context.Context, j *journal.Journal, info *journal.JobInfo, out job.Output) (err error) {
	f, inputs, err := parseCommand(info.Command)
	if err != nil {
		return err
	}
	if slices.Contains(inputs, "-") {
		return fmt.Errorf("job %s read standard input, which cannot be read again", info.Key)
	}
	fleet, err := weigher(f, info)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.Close()) }()
	s := &Settings{BaseURL: info.Realm.Provider, Version: f.settings.version, Betas: f.settings.betas}
	if s.Version == "" {
		s.Version = flotilla.DefaultVersion
	}
	shape, err := f.shape(s)
	if err != nil {
		return err
	}
	craft, err := craftOf(info, f)
	if err != nil {
		return err
	}
	out.Keep, out.ByInput = f.keep, f.order == orderInput
	run, err := job.Open(ctx, fleet, job.Config{
		Inputs: inputs, Shape: shape, Output: out, SkipBad: f.skipBad, Emulated: info.Realm.Emulated, Prices: f.prices(), Now: time.Now, Craft: craft,
	})
	if err != nil {
		return withHint(err, "the inputs are read again for their ids: run this where the job was run")
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	if err := run.Begin(ctx, jobbook.Archive{Journal: j, Info: info}); err != nil {
		if errors.Is(err, jobbook.ErrChanged) {
			err = withHint(fmt.Errorf("the inputs of job %s are not what they were", info.Key), "its command was: "+info.Command)
		}
		return err
	}
	// A run that is interrupted before it begins writes what there is.
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err = run.Carry(done)
	return err
}

// craftOf is what made the requests of a job, as the journal has it; nil: it is a
// run's.
func craftOf(info *journal.JobInfo, f *runFlags) (job.Craft, error) {
	if info.Kind != journal.KindJudge {
		return nil, nil
	}
	kept, err := job.KeptCraft(info.Shape)
	if err != nil {
		return nil, err
	}
	return judge.Open(kept, f.prices())
}

// weigher is a fleet that is never connected.
func weigher(f *runFlags, info *journal.JobInfo) (*flotilla.Fleet, error) {
	return flotilla.New(flotilla.Config{
		Orgs: []flotilla.Org{{Name: "none", Key: "none"}}, BaseURL: info.Realm.Provider,
		Version: f.settings.version, Betas: f.settings.betas, Prices: f.prices(),
	})
}

// parseCommand reads the flags and inputs of a command that commandLine wrote.
func parseCommand(text string) (*runFlags, []string, error) {
	words := shellWords(text)
	if len(words) < 2 {
		return nil, nil, fmt.Errorf("the command %q cannot be read", text)
	}
	f := &runFlags{}
	if words[1] == "judge" {
		f.judge = &judgeFlags{}
	}
	cmd := &cobra.Command{}
	f.add(cmd)
	if err := cmd.ParseFlags(words[2:]); err != nil {
		return nil, nil, fmt.Errorf("reading the job's command: %w", err)
	}
	return f, cmd.Flags().Args(), nil
}

// shellWords splits what shellQuote joined.
func shellWords(text string) []string {
	var words []string
	var word strings.Builder
	quoted, any := false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'':
			quoted, any = !quoted, true
		case c == '\\' && !quoted && i+1 < len(text):
			i++
			word.WriteByte(text[i])
		case c == ' ' && !quoted:
			if any {
				words = append(words, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteByte(c)
			any = true
		}
	}
	if any {
		words = append(words, word.String())
	}
	return words
}
