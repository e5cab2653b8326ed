package jobbook

import (
	"context"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// Books begins jobs in a journal: it is job.Journal and job.Peeker.
type Books struct {
	*journal.Journal
	Began func(*Book) // told of every job that Begin took; nil: nobody
}

// Begin finds or begins the job.
func (b Books) Begin(ctx context.Context, spec job.Spec) (job.Book, error) {
	j, err := b.Journal.Begin(ctx, specOf(&spec))
	if err != nil {
		return nil, err
	}
	taken := &Book{Job: j, Fresh: spec.Fresh, journal: b.Journal}
	if b.Began != nil {
		b.Began(taken)
	}
	return taken, nil
}

// Peek finds the job without taking it.
func (b Books) Peek(ctx context.Context, spec job.Spec) (job.Book, error) {
	j, _, err := b.Journal.Peek(ctx, specOf(&spec))
	if err != nil {
		return nil, err
	}
	return &Book{Job: j, Fresh: spec.Fresh, journal: b.Journal}, nil
}

func specOf(spec *job.Spec) journal.JobSpec {
	return journal.JobSpec{
		Identity: spec.Identity, Provider: spec.Provider, Emulated: spec.Emulated,
		Command: spec.Command, Inputs: spec.Inputs, N: spec.N, Fresh: spec.Fresh, Template: spec.Template,
		Client: spec.Client, Kind: spec.Kind, Shape: spec.Shape,
	}
}

var (
	_ job.Journal = Books{}
	_ job.Peeker  = Books{}
	_ job.Journal = Archive{}
	_ job.Book    = (*Book)(nil)
	_ job.Book    = Archive{}
)
