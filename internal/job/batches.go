package job

import (
	"context"

	"github.com/flotilla-llm/flotilla"
)

// batcher is a Book that knows of batches.
type batcher interface {
	// Batches are the job's batches that have not been taken in, with those of
	// their calls that have no outcome.
	Batches(ctx context.Context) ([]flotilla.OpenBatch, error)
}

// stock reads which batches of the job are open and makes free what is in none
// of them: a call in one is neither sent again nor in doubt.
func (r *Run) stock(ctx context.Context) (err error) {
	if b, ok := r.book.(batcher); ok {
		if r.batches, err = b.Batches(ctx); err != nil {
			return err
		}
	}
	r.src.stock(r.batches)
	r.plan.Open, r.plan.Batched = r.batches, r.src.kept.count()
	return nil
}

// spent is what earlier runs spent of a cap. What they reserved for the batches
// that this run takes over is not in it: the fleet reserves that anew.
func (r *Run) spent(ctx context.Context) (flotilla.Money, error) {
	spent, err := r.book.Spent(ctx)
	for i := range r.batches {
		spent -= r.batches[i].Worst
	}
	return max(spent, 0), err
}
