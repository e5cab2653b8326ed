package main

import (
	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla/internal/job"
)

func newJudgeCmd() *cobra.Command {
	return (&runFlags{judge: &judgeFlags{}}).judgeCommand()
}

// judgeCommand is judge with these flags: those of run, and who is to judge.
func (f *runFlags) judgeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "judge --rubric NAME|FILE… INPUT… [-o OUT]",
		Short: "Score completions by rubrics, as one job under one cap",
		Long: `Score completions: every row is judged by each rubric and model, and ends as scored,
truncated, refused, unparsable or failed. Only scored verdicts enter means; the summary
says how many there are of each. Reads what flotilla run wrote, or any file of rows
that have the fields of the rubric. Takes every flag of run; interrupt it at any
moment, and the same command goes on.

A rubric is a YAML file, or one of those built in: ` + builtinList() + `
(flotilla judge --show NAME prints one, to be copied and changed).`,
		Example: `  flotilla run q.csv --prompt '{{.question}}' --model claude-haiku-4-5 --max-tokens 500 -o gen.parquet
  flotilla judge --rubric alignment --rubric coherence gen.parquet -o verdicts.parquet
  flotilla judge --rubric mine.yaml --by topic --label truth answers.csv -o verdicts.jsonl
  flotilla judge --rubric correctness --model claude-haiku-4-5 --model claude-sonnet-4-6 --limit 500 solutions.jsonl`,
		RunE: func(cmd *cobra.Command, inputs []string) error {
			if f.judge.show != "" {
				return showRubric(cmd.OutOrStdout(), f.judge.show)
			}
			return f.run(cmd, inputs)
		},
	}
	f.add(cmd)
	asJudge(cmd)
	return cmd
}

// asJudge words flags of run as they are meant here, and hides those that are the
// rubric's.
func asJudge(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.Lookup("max-tokens").Usage = "most tokens of a verdict, in place of the rubric's"
	fs.Lookup("params").Usage = "`JSON|@FILE` merged into each body, over the rubric's params"
	fs.Lookup("repeats").Usage = "verdicts of each judge on each row: repeat 1 … K"
	for _, name := range []string{"prompt", "system"} {
		fs.Lookup(name).Hidden = true
	}
}

// craft is what makes requests and lines of a judge job; nil: it is a run's.
func (r *runner) craft() job.Craft {
	if r.panel == nil {
		return nil
	}
	return r.panel
}
