package main

import (
	"context"

	"github.com/flotilla-llm/flotilla/internal/jobbook"
	"github.com/flotilla-llm/flotilla/journal"
)

// takeBack removes a job that this run began and in which nothing came to
// stand: an OUT that was refused, or a no to the question, before it was
// carried; and in any case an empty one of --no-cache, since the next plain run
// would take it for the newest of its command, in place of the one that is
// finished.
func (r *runner) takeBack(ctx context.Context, carried bool) error {
	b := r.book
	if b == nil || b.Resumed || carried && !b.Fresh {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if empty, err := emptyJob(ctx, b); err != nil || !empty {
		return err
	}
	if !b.Ended {
		if err := b.End(ctx, false, nil); err != nil {
			return err
		}
	}
	return r.journal.Remove(ctx, b.Job.ID)
}

// emptyJob says that a job has no answer, no attempt that may have cost
// something, and no dollar.
func emptyJob(ctx context.Context, b *jobbook.Book) (bool, error) {
	st, err := b.State(ctx)
	if err != nil {
		return false, err
	}
	spent, err := b.Spent(ctx)
	return st.Counts[journal.Pending] == st.Rows() && st.Doubts == 0 && spent == 0, err
}
