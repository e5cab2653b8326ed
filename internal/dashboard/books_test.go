package dashboard

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// books begins jobs in a journal, as the program does.
type books struct{ *journal.Journal }

func (b books) Begin(ctx context.Context, s job.Spec) (job.Book, error) {
	j, err := b.Journal.Begin(ctx, journal.JobSpec{
		Identity: s.Identity, Provider: s.Provider, Emulated: s.Emulated, Command: s.Command, Inputs: s.Inputs, N: s.N,
		Template: s.Template, Fresh: s.Fresh, Client: s.Client, Kind: s.Kind, Shape: s.Shape,
	})
	if err != nil {
		return nil, err
	}
	return &book{j, b.Journal}, nil
}

type book struct {
	*journal.Job
	journal *journal.Journal
}

func (b *book) ID() int64   { return b.Job.ID }
func (b *book) Key() string { return b.Job.Key }

type standingOf struct{ *journal.State }

func (s standingOf) Outcome(call int) job.Outcome { return job.Outcome(s.State.Outcome(call)) }
func (s standingOf) Doubts() int                  { return s.State.Doubts }

func (b *book) Standing(ctx context.Context) (job.Standing, error) {
	st, err := b.State(ctx)
	return standingOf{st}, err
}

func kept(a *journal.Answer) job.Answer {
	return job.Answer{
		At: a.ID, Row: a.Row, Outcome: job.Outcome(a.Type), Body: a.Body, Org: a.Org, Tier: a.Tier, Model: a.Model, When: a.At, Cost: a.Cost,
		Attempts: a.Attempts, Latency: a.Latency, Status: a.Status, StopReason: a.StopReason, Hash: a.Hash, Cached: a.Cached, Emulated: a.Emulated,
	}
}

func (b *book) Answers(ctx context.Context) iter.Seq2[job.Answer, error] {
	return func(yield func(job.Answer, error) bool) {
		for a, err := range b.Job.Answers(ctx, 0) {
			if !yield(kept(&a), err) || err != nil {
				return
			}
		}
	}
}

func (b *book) Answer(ctx context.Context, at int64) (job.Answer, error) {
	a, err := b.journal.Answer(ctx, at)
	return kept(&a), err
}

func (b *book) Adopt(ctx context.Context, list []job.Adoption) error {
	out := make([]journal.Adoption, len(list))
	for i, a := range list {
		out[i] = journal.Adoption(a)
	}
	return b.Job.Adopt(ctx, out)
}

func (b *book) Append(records []flotilla.Record) error { return b.journal.Append(records) }

func (b *book) Totals(ctx context.Context) (json.RawMessage, error) {
	info, err := b.journal.Find(ctx, b.Job.Key)
	return info.Totals, err
}

func (b *book) Signal(ctx context.Context) (job.Signal, error) {
	s, err := b.Job.Signal(ctx)
	return job.Signal(s), err
}

func (b *book) End(ctx context.Context, finished bool, totals json.RawMessage) error {
	state := journal.Stopped
	if finished {
		state = journal.Finished
	}
	if totals == nil {
		return b.Job.End(ctx, state, nil)
	}
	return b.Job.End(ctx, state, totals)
}
