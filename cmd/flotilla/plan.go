package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
)

// bareJob is a job that no file describes: plan alone takes one.
type bareJob struct {
	n, in int
}

func newPlanCmd() *cobra.Command {
	f := &runFlags{dryRun: true, bare: &bareJob{}, judge: &judgeFlags{}}
	cmd := &cobra.Command{
		Use:   "plan [INPUT…]",
		Short: "Say beforehand how long a job will take, what it will cost, and by which route",
		Long: `Say beforehand how long a job will take, what it will cost, and by which route (sync
Messages, Message Batches, or both) run would carry it, or with --rubric, judge.
Takes every flag of both, and is run -n or judge -n; or, without a file, --n,
--in-tokens, --out-tokens and --model.

It rehearses the job against an emulation of each org's limits. Nothing is sent, and
neither key nor network is needed.`,
		Example: `  flotilla plan requests.jsonl --deadline 08:00
  flotilla plan --n 141600 --in-tokens 400 --out-tokens 60 --model claude-sonnet-4-6 --prefer fast
  flotilla plan --rubric alignment gen.parquet --repeats 3
  flotilla plan requests.jsonl --max-spend 40 --json`,
		RunE: func(cmd *cobra.Command, inputs []string) error {
			f.dryRun = true // whatever -n says
			if err := f.judgesOrRuns(); err != nil {
				return err
			}
			return f.run(cmd, planInputs(inputs))
		},
	}
	f.add(cmd)
	f.addBare(cmd)
	cmd.Flags().Lookup("model").Usage = "`MODEL` of rows that name none; with --rubric the judge, repeatable"
	return cmd
}

// judgesOrRuns tells which of the two commands is foretold: that of judge has a
// rubric.
func (f *runFlags) judgesOrRuns() error {
	j := f.judge
	switch {
	case len(j.rubrics) > 0:
		return nil
	case len(j.models) > 1:
		return withHint(errors.New("--model was given twice, and no --rubric"), "several models are judges: --rubric NAME|FILE")
	case len(j.models) == 1:
		f.model = j.models[0]
	}
	f.judge = nil
	return nil
}

// planInputs leaves out the word run or judge in "flotilla plan run INPUT…".
func planInputs(args []string) []string {
	if len(args) == 0 || args[0] != "run" && args[0] != "judge" {
		return args
	}
	if _, err := os.Stat(args[0]); !errors.Is(err, fs.ErrNotExist) {
		return args
	}
	return args[1:]
}

func (f *runFlags) addBare(cmd *cobra.Command) {
	fs := cmd.Flags()
	given(fs, "n", "ROWS", "so many calls, without a file", "", atLeast(1), func(n int) { f.bare.n = n })
	given(fs, "in-tokens", "N", "input tokens of each of them", "", atLeast(1), func(n int) { f.bare.in = n })
	group(cmd, groupRequest, "n", "in-tokens")
}

// noFile says that plan was given figures in the place of a file.
func (f *runFlags) noFile(inputs []string) bool {
	return f.bare != nil && len(inputs) == 0 && (f.bare.n > 0 || f.bare.in > 0)
}

// mostBare is how many rows a plan without a file takes: what a rehearsal takes
// grows with them.
const mostBare = 2_000_000

// checkBare refuses figures that are too few, or beside a file.
func (f *runFlags) checkBare(inputs []string) error {
	b := f.bare
	switch {
	case b == nil || b.n == 0 && b.in == 0:
		return nil
	case b.n > mostBare:
		return fmt.Errorf("--n %s is more than a plan takes: %s rows at most", whole(b.n), whole(mostBare))
	case len(inputs) > 0:
		return errors.New("--n and --in-tokens stand in the place of a file: give one or the other")
	case b.n == 0 || b.in == 0 || f.model == "":
		return withHint(errors.New("without a file, --n, --in-tokens and --model are needed"),
			"flotilla plan --n 141600 --in-tokens 400 --out-tokens 60 --model claude-sonnet-4-6")
	case f.outTokens.mean == 0 && f.maxTokens == nil:
		return withHint(errors.New("without a file, --out-tokens or --max-tokens is needed"), "--out-tokens 60, or 60,150 with the longest of twenty")
	}
	return nil
}
