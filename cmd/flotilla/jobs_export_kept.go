package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/jobbook"
	"github.com/flotilla-llm/flotilla/journal"
)

// gatewayJob says that a job is of no command, but of calls or a batch of a
// gateway's clients.
func gatewayJob(info *journal.JobInfo) bool {
	return info.Kind == journal.KindServe || info.Kind == journal.KindBatch
}

// exportKept writes the kept answers of a gateway's job, which no command of
// run's made: as JSON lines, to a file that is not there yet or to stdout.
func exportKept(ctx context.Context, j *journal.Journal, info *journal.JobInfo, path string, stdout io.Writer) (err error) {
	id, done, err := namesOf(ctx, info)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	to := stdout
	if path != "" && path != "-" {
		if !strings.HasSuffix(path, ".jsonl") {
			return withHint(fmt.Errorf("output %s: the answers of a gateway's job are written as JSON lines", path), "name it .jsonl")
		}
		f, taken := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if taken != nil {
			return withHint(fmt.Errorf("output: %w", taken), "give -o a name that is free")
		}
		defer func() {
			if err = errors.Join(err, f.Close()); err != nil {
				_ = os.Remove(path) // it is of no use, and in the way of the next try
			}
		}()
		to = f
	}
	w := bufio.NewWriterSize(to, 1<<16)
	written, lacking, err := writeKept(ctx, j, info, id, w)
	if err = errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if written == 0 && lacking > 0 {
		return withHint(fmt.Errorf("job %s has %s, and the journal has none of them", info.Key, plural(lacking, "answer")),
			"flotilla serve keeps answers only with --cache")
	}
	return nil
}

// namesOf names the rows of a gateway's job: a batch has its client's names,
// calls have none of their own.
func namesOf(ctx context.Context, info *journal.JobInfo) (id func(row int) string, done func() error, err error) {
	if info.Kind == journal.KindServe {
		return job.RowName, func() error { return nil }, nil
	}
	rows, err := job.OpenRows(ctx, info.Shape, "")
	if err != nil {
		return nil, nil, fmt.Errorf("reading the requests of job %s for their ids: %w", info.Key, err)
	}
	return rows.ID, rows.Close, nil
}

// writeKept writes the lines of a job's answers, and counts those that were not
// kept.
func writeKept(ctx context.Context, j *journal.Journal, info *journal.JobInfo, id func(int) string, w io.Writer) (written, lacking int, err error) {
	st, err := j.StateOf(ctx, info.ID)
	if err != nil {
		return 0, 0, err
	}
	var line []byte
	for a, err := range j.AnswersOf(ctx, info.ID, 0) {
		if err != nil {
			return written, lacking, err
		}
		if !st.Stands(&a) {
			continue
		}
		if a.Type == journal.Succeeded && a.Body == nil {
			lacking++
			continue
		}
		one := jobbook.AnswerOf(&a)
		line = job.AppendLine(line[:0], id(a.Row), &one)
		if _, err := w.Write(line); err != nil {
			return written, lacking, err
		}
		written++
	}
	return written, lacking, nil
}
