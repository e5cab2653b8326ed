package jobbook

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// Book is a job of a journal, taken by this process: it is job.Book.
type Book struct {
	*journal.Job
	Fresh bool // begun by --no-cache
	Ended bool

	journal *journal.Journal
}

// ID is the number that records carry.
func (b *Book) ID() int64 { return b.Job.ID }

// Key is the short id, for people.
func (b *Book) Key() string { return b.Job.Key }

// Standing is how every call stands.
func (b *Book) Standing(ctx context.Context) (job.Standing, error) {
	st, err := b.State(ctx)
	if err != nil {
		return nil, err
	}
	return standing{st}, nil
}

// standing is a journal's state as a run reads it.
type standing struct{ *journal.State }

func (s standing) Outcome(call int) job.Outcome { return job.Outcome(s.State.Outcome(call)) }
func (s standing) Doubts() int                  { return s.State.Doubts }

// AnswerOf is an answer of a journal as a run reads it.
func AnswerOf(a *journal.Answer) job.Answer {
	return job.Answer{
		At: a.ID, Row: a.Row, Outcome: job.Outcome(a.Type), Body: a.Body, Org: a.Org, Tier: a.Tier, Model: a.Model,
		When: a.At, Cost: a.Cost, Attempts: a.Attempts, Latency: a.Latency, Status: a.Status, StopReason: a.StopReason,
		Hash: a.Hash, Cached: a.Cached, Emulated: a.Emulated,
	}
}

func answersOf(all iter.Seq2[journal.Answer, error]) iter.Seq2[job.Answer, error] {
	return func(yield func(job.Answer, error) bool) {
		for a, err := range all {
			if !yield(AnswerOf(&a), err) || err != nil {
				return
			}
		}
	}
}

// Answers yields what has settled, in the order of settling.
func (b *Book) Answers(ctx context.Context) iter.Seq2[job.Answer, error] {
	return answersOf(b.Job.Answers(ctx, 0))
}

// Answer reads one.
func (b *Book) Answer(ctx context.Context, at int64) (job.Answer, error) {
	a, err := b.journal.Answer(ctx, at)
	return AnswerOf(&a), err
}

// Adopt settles calls by answers that are kept already.
func (b *Book) Adopt(ctx context.Context, adoptions []job.Adoption) error {
	out := make([]journal.Adoption, len(adoptions))
	for i, a := range adoptions {
		out[i] = journal.Adoption(a)
	}
	return b.Job.Adopt(ctx, out)
}

// Append makes records durable.
func (b *Book) Append(records []flotilla.Record) error { return b.journal.Append(records) }

// Totals is what the run before this one left.
func (b *Book) Totals(ctx context.Context) (json.RawMessage, error) {
	info, err := b.journal.Find(ctx, b.Job.Key)
	return info.Totals, err
}

// Signal is what a person last asked of the job.
func (b *Book) Signal(ctx context.Context) (job.Signal, error) {
	s, err := b.Job.Signal(ctx)
	return job.Signal(s), err
}

// End gives the job back.
func (b *Book) End(ctx context.Context, finished bool, totals json.RawMessage) error {
	b.Ended = true
	state := journal.Stopped
	if finished {
		state = journal.Finished
	}
	if len(totals) == 0 {
		return b.Job.End(ctx, state, nil)
	}
	return b.Job.End(ctx, state, totals)
}
