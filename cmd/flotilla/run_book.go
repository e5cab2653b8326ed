package main

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// books begins jobs in a journal: it is job.Journal.
type books struct {
	*journal.Journal
	began func(*book)
}

// Begin finds or begins the job.
func (b books) Begin(ctx context.Context, spec job.Spec) (job.Book, error) {
	j, err := b.Journal.Begin(ctx, jobSpec(&spec))
	if err != nil {
		return nil, err
	}
	taken := &book{Job: j, journal: b.Journal, fresh: spec.Fresh}
	b.began(taken)
	return taken, nil
}

// Peek finds the job without taking it.
func (b books) Peek(ctx context.Context, spec job.Spec) (job.Book, error) {
	j, _, err := b.Journal.Peek(ctx, jobSpec(&spec))
	if err != nil {
		return nil, err
	}
	return &book{Job: j, journal: b.Journal, fresh: spec.Fresh}, nil
}

func jobSpec(spec *job.Spec) journal.JobSpec {
	return journal.JobSpec{
		Identity: spec.Identity, Provider: spec.Provider, Emulated: spec.Emulated,
		Command: spec.Command, Inputs: spec.Inputs, N: spec.N, Fresh: spec.Fresh, Template: spec.Template,
		Client: spec.Client, Kind: spec.Kind, Shape: spec.Shape,
	}
}

// book is a job of a journal as job.Run wants it.
type book struct {
	*journal.Job
	journal *journal.Journal
	fresh   bool // begun by --no-cache
	ended   bool
}

func (b *book) ID() int64   { return b.Job.ID }
func (b *book) Key() string { return b.Job.Key }

func (b *book) Standing(ctx context.Context) (job.Standing, error) {
	st, err := b.State(ctx)
	if err != nil {
		return nil, err
	}
	return standingOf{st}, nil
}

// standingOf is a journal's state as job.Run reads it.
type standingOf struct{ *journal.State }

func (s standingOf) Outcome(call int) job.Outcome { return job.Outcome(s.State.Outcome(call)) }
func (s standingOf) Doubts() int                  { return s.State.Doubts }

func answerOf(a *journal.Answer) job.Answer {
	return job.Answer{
		At: a.ID, Row: a.Row, Outcome: job.Outcome(a.Type), Body: a.Body, Org: a.Org, Tier: a.Tier, Model: a.Model,
		When: a.At, Cost: a.Cost, Attempts: a.Attempts, Latency: a.Latency, Status: a.Status, StopReason: a.StopReason,
		Hash: a.Hash, Cached: a.Cached, Emulated: a.Emulated,
	}
}

func (b *book) Answers(ctx context.Context) iter.Seq2[job.Answer, error] {
	return answersOf(b.Job.Answers(ctx, 0))
}

func answersOf(all iter.Seq2[journal.Answer, error]) iter.Seq2[job.Answer, error] {
	return func(yield func(job.Answer, error) bool) {
		for a, err := range all {
			if !yield(answerOf(&a), err) || err != nil {
				return
			}
		}
	}
}

func (b *book) Answer(ctx context.Context, at int64) (job.Answer, error) {
	a, err := b.journal.Answer(ctx, at)
	return answerOf(&a), err
}

func (b *book) Adopt(ctx context.Context, adoptions []job.Adoption) error {
	out := make([]journal.Adoption, len(adoptions))
	for i, a := range adoptions {
		out[i] = journal.Adoption(a)
	}
	return b.Job.Adopt(ctx, out)
}

func (b *book) Append(records []flotilla.Record) error { return b.journal.Append(records) }

// Totals is what the run before this one left.
func (b *book) Totals(ctx context.Context) (json.RawMessage, error) {
	info, err := b.journal.Find(ctx, b.Job.Key)
	return info.Totals, err
}

func (b *book) Signal(ctx context.Context) (job.Signal, error) {
	s, err := b.Job.Signal(ctx)
	return job.Signal(s), err
}

func (b *book) End(ctx context.Context, finished bool, totals json.RawMessage) error {
	b.ended = true
	state := journal.Stopped
	if finished {
		state = journal.Finished
	}
	if len(totals) == 0 {
		return b.Job.End(ctx, state, nil)
	}
	return b.Job.End(ctx, state, totals)
}

var (
	_ job.Journal = books{}
	_ job.Peeker  = books{}
	_ job.Book    = (*book)(nil)
)
