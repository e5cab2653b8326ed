package job

import "context"

// Peeker looks at jobs without taking them.
type Peeker interface {
	// Peek finds the job, or says what a new one would find. Of the Book, what
	// reads may be used, and nothing else.
	Peek(ctx context.Context, spec Spec) (Book, error)
}

// Peek makes a Plan of what Begin would find. Nothing is written, and nothing is
// taken: the Run can only be closed afterwards.
func (r *Run) Peek(ctx context.Context, p Peeker) error {
	var err error
	if r.book, err = p.Peek(ctx, r.spec()); err != nil {
		return err
	}
	standing, err := r.book.Standing(ctx)
	if err != nil {
		return err
	}
	adopt, err := r.adoptable(ctx, standing)
	if err != nil {
		return err
	}
	defer adopt.reused.close()
	plan := &r.plan
	plan.Job, plan.InDoubt = r.book.Key(), standing.Doubts()
	if plan.Spent, err = r.book.Spent(ctx); err != nil {
		return err
	}
	if err := r.learn(ctx, standing); err != nil {
		return err
	}
	wants := func(call int) bool {
		return r.x.holds(call) && standing.Outcome(call) == Pending && adopt.at(call) == 0
	}
	plan.Settled, plan.Cached, plan.Told, plan.Pending, plan.Batched = 0, 0, 0, 0, 0
	for call := range r.limit {
		switch {
		case !r.x.holds(call):
		case standing.Outcome(call) != Pending:
			plan.Settled++
		case r.x.told(call):
			plan.Told++
		case adopt.at(call) != 0:
			plan.Cached++
		default:
			plan.Pending++
			if r.inBatch.has(call) {
				plan.Batched++
			}
		}
	}
	plan.Resumed = plan.Settled > 0
	r.forecast(func(call int) bool {
		return wants(call) && !r.inBatch.has(call) && !(r.x.follows(call) && wants(r.x.leader(call)))
	})
	return nil
}
