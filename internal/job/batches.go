package job

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// stock reads which batches of the job are open and makes free what is in none
// of them: a call in one is neither sent again nor in doubt.
func (r *Run) stock(ctx context.Context) (err error) {
	if r.batches, err = r.book.Batches(ctx); err != nil {
		return err
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

// cancelFor is how long a canceled job waits for its batches to end: the
// provider finishes the rows that it is at first, which takes minutes
// (facts/claude-api.md 4.5).
const cancelFor = 30 * time.Minute

// cancelAll gives up the job: its batches are canceled and what had succeeded in
// them is taken in, and all that is pending then settles as canceled. A batch
// that has not ended by then, or whose org's key is not at hand, keeps its rows:
// they may be answered yet.
func (r *Run) cancelAll(ctx context.Context, total flotilla.Report) (flotilla.Report, error) {
	keep := context.WithoutCancel(ctx)
	if err := r.stock(keep); err != nil {
		return total, err
	}
	if len(r.batches) > 0 {
		r.cfg.Say(fmt.Sprintf("canceling %s; their ends are waited for, %s at most", countedAs(len(r.batches), "batch", "batches"), seconds(cancelFor.Seconds())))
		opt, err := r.options(keep)
		if err != nil {
			return total, err
		}
		opt.CancelBatches, opt.Deadline = true, r.cfg.Now().Add(cancelFor)
		report, err := r.fleet.Carry(ctx, r.src, opt)
		total = addReport(total, report)
		if err != nil {
			return total, err
		}
		if err := r.stock(keep); err != nil {
			return total, err
		}
	}
	return total, r.cancelRest()
}

// maxSpend is the cap of the run: what a person said while it runs, else its own.
func (r *Run) maxSpend(ctx context.Context) (flotilla.Money, error) {
	limit, given, err := r.book.Cap(ctx)
	if !given {
		limit = r.cfg.Options.MaxSpend
	}
	return limit, err
}

// options are what a fleet's part of the run is told.
func (r *Run) options(ctx context.Context) (opt flotilla.Options, err error) {
	opt = r.cfg.Options
	if opt.MaxSpend, err = r.maxSpend(ctx); err != nil {
		return opt, err
	}
	opt.Client = cmp.Or(opt.Client, r.cfg.Client)
	opt.Job, opt.Name, opt.N, opt.Batches = r.book.ID(), r.book.Key(), r.src.remaining(), r.batches
	opt.Spent, err = r.spent(ctx)
	return opt, err
}
