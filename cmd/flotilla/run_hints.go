package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// fromFlag names --model where an unknown model came from it, in place of the
// first row that it would have gone to.
func (f *runFlags) fromFlag(err error) error {
	var unknown *flotilla.UnknownModelError
	if f.model == "" || !errors.As(err, &unknown) || unknown.Model != f.model {
		return err
	}
	return withHint(fmt.Errorf("--model: %w", unknown), hintFor(err))
}

// changedSince says of an OUT that holds another job's results which one that
// is, and what has changed since: most often somebody went on with an edited
// prompt.
func (r *runner) changedSince(ctx context.Context, err error) error {
	var foreign *job.ForeignError
	out, absErr := filepath.Abs(r.flags.output)
	if absErr != nil || !errors.As(err, &foreign) {
		return err
	}
	jobs, listErr := r.journal.Jobs(ctx, time.Time{})
	if listErr != nil {
		return err
	}
	for i := range jobs {
		j := &jobs[i]
		if !slices.ContainsFunc(j.Outs, func(o journal.Out) bool { return o.Path == out && o.Durable > 0 }) {
			continue
		}
		return withHint(err, fmt.Sprintf("it holds results of job %s%s; give -o another name, or --overwrite moves the file aside", j.Key, r.since(jobs, j)))
	}
	return err
}

// since is what makes the job of this run another than one before it.
func (r *runner) since(jobs []journal.JobInfo, was *journal.JobInfo) string {
	mine := slices.IndexFunc(jobs, func(j journal.JobInfo) bool { return r.book != nil && j.Key == r.book.Key() })
	switch {
	case mine >= 0 && jobs[mine].Identity == was.Identity:
		return ", and --no-cache begins it anew"
	case was.Realm != r.shares.realm:
		return ", which others answered"
	}
	return fmt.Sprintf("; %s changed since, which makes another job (rows whose request is the same cost nothing: their answers are in the journal)",
		changed(flagTable(was.Command), flagTable(r.command)))
}

// shaping are the flags that make another job of equal inputs (interface.md,
// "Job identity").
var shaping = []string{"--prompt", "--system", "--model", "--max-tokens", "--params", "--id-field", "--repeats", "--dedupe", "--anthropic-version", "--beta", "--rubric", "--field", "--swap"}

// changed names what shapes requests and differs between two commands.
func changed(was, is map[string]string) string {
	var names []string
	for _, flag := range shaping {
		if was[flag] != is[flag] {
			names = append(names, flag)
		}
	}
	if len(names) == 0 && is["--rubric"] != "" {
		return "the input or a rubric"
	}
	if len(names) == 0 {
		return "the input"
	}
	return strings.Join(names, " and ")
}

// flagTable is what follows each flag of a command, as it is spelled.
func flagTable(command string) map[string]string {
	table := map[string]string{}
	for _, part := range strings.Split(command, " --")[1:] {
		flag, value, _ := strings.Cut(part, " ")
		for _, short := range []string{" -o ", " -y"} { // flags that are written with one letter
			value, _, _ = strings.Cut(value, short)
		}
		table["--"+flag] += value + "\n"
	}
	return table
}
