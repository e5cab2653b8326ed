package job

import (
	"context"
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// Answers that the journal has are taken off a plan, and nothing is written.
func TestPeek(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 50)}
	b.cfg.Options.Route = &flotilla.Route{Batch: true}
	f := b.batchFleet(newProvider())
	f.stay, f.halt = true, 12
	began := b.carryOn(f)
	inBatches := 0
	for _, r := range began.RunningBatches {
		inBatches += r.Rows
	}
	look := func(file string) Plan {
		b.cfg.Inputs = []string{file}
		run, err := Open(ctx, b.fleet(), b.cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		if err := run.Peek(ctx, peeks{b.j}); err != nil {
			t.Fatal(err)
		}
		return run.Plan()
	}
	p := look(b.cfg.Inputs[0])
	if p.Settled != 12 || p.Pending != 38 || p.Batched != inBatches || p.Spent == 0 || len(p.Classes) != 1 || p.Classes[0].Rows != 38-inBatches {
		t.Errorf("%+v with %d in batches", p, inBatches)
	}
	other := look(b.input("other.jsonl", 60)) // another job, whose first 12 rows are in the cache
	if other.Settled != 0 || other.Cached != 12 || other.Pending != 48 || other.Spent != 0 || other.Job != "" {
		t.Errorf("%+v", other)
	}
	jobs, err := b.j.Jobs(ctx, began.report.Started.AddDate(-1, 0, 0))
	if err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

// peeks look at jobs in a real journal.
type peeks struct{ *journal.Journal }

func (p peeks) Peek(ctx context.Context, s Spec) (Book, error) {
	j, _, err := p.Journal.Peek(ctx, journal.JobSpec{
		Identity: s.Identity, Provider: s.Provider, Emulated: s.Emulated, N: s.N, Template: s.Template, Fresh: s.Fresh,
	})
	return &book{j, p.Journal}, err
}
