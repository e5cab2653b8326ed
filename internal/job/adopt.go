package job

import (
	"context"
	"errors"
	"fmt"
)

// adoption are the answers, kept elsewhere, that pending calls can have.
type adoption struct {
	cached []int64 // by call, where the journal keeps another job's answer; nil: not asked
	reused *reuse
	told   func(call int) bool // its row says what came of it
}

// at is nonzero where a call can have an answer.
func (a *adoption) at(call int) int64 {
	if a.told(call) {
		return -1
	}
	if a.cached != nil && a.cached[call] != 0 {
		return a.cached[call]
	}
	if _, ok := a.reused.found[call]; ok {
		return -1
	}
	return 0
}

// adoptable looks for answers of other jobs and files.
func (r *Run) adoptable(ctx context.Context, standing Standing) (*adoption, error) {
	a := &adoption{told: func(call int) bool { return r.x.holds(call) && r.x.told(call) }}
	var err error
	if r.batches, err = r.book.Batches(ctx); err != nil {
		return nil, err
	}
	r.inBatch = newCallSet(r.x.calls()) // they are paid for: their own answers are waited for
	for i := range r.batches {
		for _, call := range r.batches[i].Rows {
			if r.x.holds(call) {
				r.inBatch.add(call)
			}
		}
	}
	if !r.cfg.NoCache {
		if a.cached, err = r.cachedFor(ctx, standing); err != nil {
			return nil, err
		}
	}
	a.reused, err = r.reusable(func(call int) bool {
		return standing.Outcome(call) == Pending && !r.x.told(call) && !r.inBatch.has(call) && (a.cached == nil || a.cached[call] == 0)
	})
	return a, err
}

// cachedFor asks the journal for the pending calls alone: they are few when a
// job goes on, and a look-up costs by what is asked for.
func (r *Run) cachedFor(ctx context.Context, standing Standing) ([]int64, error) {
	var pending []int
	for call := range r.x.calls() {
		if r.x.holds(call) && standing.Outcome(call) == Pending && !r.x.told(call) && !r.inBatch.has(call) {
			pending = append(pending, call)
		}
	}
	if len(pending) == 0 {
		return nil, nil
	}
	found, err := r.book.Cached(ctx, len(pending), func(i int) ([16]byte, int) {
		return r.x.row(pending[i]).key, r.x.nth(pending[i])
	})
	if err != nil {
		return nil, err
	}
	cached := make([]int64, r.x.calls())
	for i, call := range pending {
		cached[call] = found[i]
	}
	return cached, nil
}

// adopt settles calls by what was found. Answers are the journal's before they
// are anybody's; their lines are written with those of earlier runs.
func (r *Run) adopt(ctx context.Context, standing Standing, a *adoption) (adopted bool, err error) {
	var list []Adoption
	var lines, told []int
	for call := range r.limit {
		if !r.x.holds(call) || standing.Outcome(call) != Pending {
			continue
		}
		switch at := a.at(call); {
		case r.x.told(call):
			told = append(told, call)
		case at > 0:
			list = append(list, Adoption{call, at, r.x.nth(call)})
		case at < 0:
			lines = append(lines, call)
		}
	}
	if err := r.book.Adopt(ctx, list); err != nil {
		return false, fmt.Errorf("take over answers of other jobs: %w", err)
	}
	if err := errors.Join(a.reused.settle(lines), a.reused.close(), r.settleTold(told)); err != nil {
		return false, err
	}
	r.plan.Cached, r.plan.Told = len(list)+len(lines), len(told)
	twins, err := r.adoptTwins(ctx)
	return twins || r.plan.Cached+r.plan.Told > 0, err
}

// adoptTwins completes what a crash cut off between an answer and the rows that
// share it (--dedupe).
func (r *Run) adoptTwins(ctx context.Context) (adopted bool, err error) {
	if !r.x.build.shape.Dedupe {
		return false, nil
	}
	standing, err := r.book.Standing(ctx)
	if err != nil {
		return false, err
	}
	var list []Adoption
	for call := range r.limit {
		if !r.x.holds(call) || !r.x.follows(call) || standing.Outcome(call) != Pending {
			continue
		}
		if at := standing.At(r.x.leader(call)); at != 0 {
			list = append(list, Adoption{call, at, r.x.nth(call)})
		}
	}
	return len(list) > 0, r.book.Adopt(ctx, list)
}
