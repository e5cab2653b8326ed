package gateway

import (
	"context"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/jobbook"
	"github.com/flotilla-llm/flotilla/journal"
)

// batchBooks begins the job of a batch: it is job.Journal.
type batchBooks struct {
	run   *batchRun
	purse *latePurse
}

// Begin finds or begins the job, and notes that it is the batch's. One that has
// finished is never begun anew: its rows are paid for.
func (k batchBooks) Begin(ctx context.Context, spec job.Spec) (job.Book, error) {
	spec.Fresh = false
	book, err := jobbook.Books{Journal: k.run.b.journal, Began: func(*jobbook.Book) {}}.Begin(ctx, spec)
	if err != nil {
		return nil, err
	}
	k.purse.of(book.ID())
	k.run.book = book
	k.run.job.Store(book.ID())
	return batchBook{book, k.run}, k.run.begun(book.ID())
}

// batchBook is that job.
type batchBook struct {
	job.Book
	run *batchRun
}

// Signal is what is asked of the job: what others say by the journal, or that
// its batch is ending.
func (k batchBook) Signal(ctx context.Context) (job.Signal, error) {
	if k.run.ending() {
		return job.Cancel, nil
	}
	s, err := k.Book.Signal(ctx)
	if err == nil && s == job.Cancel { // by a person, not by the client: its batch says so too
		_, err = k.run.b.giveUp(k.run.id)
	}
	return s, err
}

// Out keeps the file of a batch's results out of the journal: it goes when the
// batch has ended, and nobody is to miss it. Without what is known of it, a run
// that goes on reads all of it.
func (k batchBook) Out(context.Context, string) (durable int64, err error) { return 0, nil }

// Wrote has nothing to tell.
func (k batchBook) Wrote(int64) {}

// begun notes which job carries the batch.
func (run *batchRun) begun(id int64) error {
	_, err := run.b.change(run.id, func(rec *journal.ClientBatch) bool {
		if rec.Job == id {
			return false
		}
		rec.Job = id
		return true
	})
	run.b.step(stepBegun)
	return err
}
