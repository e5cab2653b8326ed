package jobbook

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// Archive gives a job to be read, by whoever runs it: it is job.Journal and
// job.Book, and changes nothing.
type Archive struct {
	Journal *journal.Journal
	Info    *journal.JobInfo
}

// ErrChanged says that inputs and flags no longer make the job.
var ErrChanged = errors.New("the job's inputs are not what they were")

// errArchive says that a job is only read.
var errArchive = errors.New("the job is only read")

// Begin makes sure that inputs and flags still make this job; the error is
// [ErrChanged] where they do not.
func (a Archive) Begin(_ context.Context, spec job.Spec) (job.Book, error) {
	if spec.Identity != a.Info.Identity {
		return nil, ErrChanged
	}
	return a, nil
}

// ID is the number that records carry.
func (a Archive) ID() int64 { return a.Info.ID }

// Key is the short id, for people.
func (a Archive) Key() string { return a.Info.Key }

// Standing is how every call stands.
func (a Archive) Standing(ctx context.Context) (job.Standing, error) {
	st, err := a.Journal.StateOf(ctx, a.Info.ID)
	if err != nil {
		return nil, err
	}
	return standing{st}, nil
}

// Answers yields what has settled, in the order of settling.
func (a Archive) Answers(ctx context.Context) iter.Seq2[job.Answer, error] {
	return answersOf(a.Journal.AnswersOf(ctx, a.Info.ID, 0))
}

// Answer reads one.
func (a Archive) Answer(ctx context.Context, at int64) (job.Answer, error) {
	one, err := a.Journal.Answer(ctx, at)
	return AnswerOf(&one), err
}

// Cached finds nothing.
func (a Archive) Cached(_ context.Context, n int, _ func(int) ([16]byte, int)) ([]int64, error) {
	return make([]int64, n), nil
}

// Adopt refuses.
func (a Archive) Adopt(_ context.Context, adoptions []job.Adoption) error {
	if len(adoptions) > 0 {
		return errArchive
	}
	return nil
}

// Append refuses.
func (a Archive) Append(records []flotilla.Record) error {
	if len(records) > 0 {
		return errArchive
	}
	return nil
}

// Batches are none to take over.
func (a Archive) Batches(context.Context) ([]flotilla.OpenBatch, error) { return nil, nil }

// OutStats knows nothing.
func (a Archive) OutStats(context.Context, string) (n int64, mean, p95 float64, err error) {
	return 0, 0, 0, nil
}

// Out says that nothing of a file is known.
func (a Archive) Out(context.Context, string) (int64, error) { return 0, nil }

// Wrote forgets it.
func (a Archive) Wrote(int64) {}

// Spent is what the job had cost when it was looked up.
func (a Archive) Spent(context.Context) (flotilla.Money, error) { return a.Info.Spent, nil }

// Totals are left alone.
func (a Archive) Totals(context.Context) (json.RawMessage, error) { return nil, nil }

// Signal is none.
func (a Archive) Signal(context.Context) (job.Signal, error) { return job.GoOn, nil }

// Cap is none.
func (a Archive) Cap(context.Context) (flotilla.Money, bool, error) { return 0, false, nil }

// End changes nothing.
func (a Archive) End(context.Context, bool, json.RawMessage) error { return nil }
