package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
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
job was run.`,
		Example: "  flotilla jobs export 7f3a > results.jsonl\n  flotilla jobs export 7f3a -o results.parquet",
		Args:    oneJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.withJob(cmd, args[0], func(j *journal.Journal, info *journal.JobInfo) error {
				o := job.Output{Path: out, Stdout: cmd.OutOrStdout(), Terminal: terminalOf(cmd.OutOrStdout()) != nil}
				return exportJob(cmd.Context(), j, info, o)
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "`FILE`: .jsonl (.gz, .zst), .csv, .parquet (default: standard output)")
	return cmd
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
	out.Keep, out.ByInput = f.keep, f.order == orderInput
	run, err := job.Open(ctx, fleet, job.Config{
		Inputs: inputs, Shape: shape, Output: out, SkipBad: f.skipBad, Emulated: info.Realm.Emulated, Prices: f.prices(), Now: time.Now,
	})
	if err != nil {
		return withHint(err, "the inputs are read again for their ids: run this where the job was run")
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	if err := run.Begin(ctx, archive{j, info}); err != nil {
		return err
	}
	// A run that is interrupted before it begins writes what there is.
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err = run.Carry(done)
	return err
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

// archive gives a job to be read: it is job.Journal and job.Book, and changes
// nothing.
type archive struct {
	journal *journal.Journal
	info    *journal.JobInfo
}

// errArchive says that a job is only read.
var errArchive = errors.New("the job is only read")

// Begin makes sure that inputs and flags still make this job.
func (a archive) Begin(_ context.Context, spec job.Spec) (job.Book, error) {
	if spec.Identity != a.info.Identity {
		return nil, withHint(fmt.Errorf("the inputs of job %s are not what they were", a.info.Key), "its command was: "+a.info.Command)
	}
	return a, nil
}

func (a archive) ID() int64   { return a.info.ID }
func (a archive) Key() string { return a.info.Key }

func (a archive) Standing(ctx context.Context) (job.Standing, error) {
	st, err := a.journal.StateOf(ctx, a.info.ID)
	if err != nil {
		return nil, err
	}
	return standingOf{st}, nil
}

func (a archive) Answers(ctx context.Context) iter.Seq2[job.Answer, error] {
	return answersOf(a.journal.AnswersOf(ctx, a.info.ID, 0))
}

func (a archive) Answer(ctx context.Context, at int64) (job.Answer, error) {
	one, err := a.journal.Answer(ctx, at)
	return answerOf(&one), err
}

func (a archive) Cached(_ context.Context, n int, _ func(int) ([16]byte, int)) ([]int64, error) {
	return make([]int64, n), nil
}

func (a archive) Adopt(_ context.Context, adoptions []job.Adoption) error {
	if len(adoptions) > 0 {
		return errArchive
	}
	return nil
}

func (a archive) Append(records []flotilla.Record) error {
	if len(records) > 0 {
		return errArchive
	}
	return nil
}

func (a archive) Batches(context.Context) ([]flotilla.OpenBatch, error) { return nil, nil }

func (a archive) OutStats(context.Context, string) (n int64, mean, p95 float64, err error) {
	return 0, 0, 0, nil
}

func (a archive) Out(context.Context, string) (int64, error)        { return 0, nil }
func (a archive) Wrote(int64)                                       {}
func (a archive) Spent(context.Context) (flotilla.Money, error)     { return a.info.Spent, nil }
func (a archive) Totals(context.Context) (json.RawMessage, error)   { return nil, nil }
func (a archive) Signal(context.Context) (job.Signal, error)        { return job.GoOn, nil }
func (a archive) Cap(context.Context) (flotilla.Money, bool, error) { return 0, false, nil }
func (a archive) End(context.Context, bool, json.RawMessage) error  { return nil }
