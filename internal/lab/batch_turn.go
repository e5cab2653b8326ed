package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// step does what is due.
func (t *turn) step(ctx context.Context) error {
	if err := t.create(ctx); err != nil {
		return err
	}
	if err := t.look(ctx); err != nil {
		return err
	}
	t.watch()
	if err := t.cut(ctx); err != nil {
		return err
	}
	return t.collect(ctx)
}

// giveUp ends the round for a reason.
func (t *turn) giveUp(err error) {
	if t.failed == nil {
		t.failed = err
	}
}

// create sends the lots that are due, some at once.
func (t *turn) create(ctx context.Context) error {
	now := t.d.now()
	places := make(chan struct{}, max(1, t.d.width()))
	var wg sync.WaitGroup
	errs := make([]error, len(t.slots))
	for i := range t.slots {
		s := &t.slots[i]
		switch {
		case s.state != waiting || now.Before(t.began.Add(s.At)):
			continue
		case (t.failed != nil || t.late) && !t.d.made(s.key):
			s.state = dropped
			continue
		}
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			s.batch, errs[i] = t.d.create(ctx, s.key, s.lot)
		})
	}
	wg.Wait()
	for i := range t.slots {
		s := &t.slots[i]
		if s.state != waiting || errs[i] == nil && s.batch.ID == "" {
			continue
		}
		if errs[i] != nil {
			if err := t.bear(ctx, s, errs[i]); err != nil {
				return err
			}
			continue
		}
		s.state, s.tries, t.moved = open, 0, t.d.now()
	}
	return nil
}

// bear takes an error of a call about one lot: the call is repeated at the next
// poll, or the round is given up; the error is ctx's.
func (t *turn) bear(ctx context.Context, s *slot, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.tries++
	if unheard(err) {
		t.doubt++
	}
	if !retryable(err) && !isQueueFull(err) || s.tries > mostTries || isBudget(err) {
		t.giveUp(fmt.Errorf("batch %s of %d rows on %s: %w", s.key, s.Rows, s.Org, err))
	}
	return nil
}

// unheard says that a create may have made a batch of which nothing was heard.
func unheard(err error) bool {
	var refused *BatchRefusedError
	return !isBudget(err) && (!errors.As(err, &refused) || refused.Refusal.Class == wire.Unknown504)
}

// isBudget says that there is not enough money for what was to be sent.
func isBudget(err error) bool {
	var budget *BudgetError
	return errors.As(err, &budget)
}

func isQueueFull(err error) bool {
	var refused *BatchRefusedError
	return errors.As(err, &refused) && refused.Refusal.Class == wire.QueueFull
}

// watch gives a round up in which nothing ends.
func (t *turn) watch() {
	if t.round.Stall > 0 && t.d.now().Sub(t.moved) > t.round.Stall {
		t.stalled = true
	}
}

// cutAt is when a lot is canceled.
func (t *turn) cutAt(s *slot) time.Time {
	if t.failed != nil || t.late || t.stalled && !s.Looked {
		return time.Time{}
	}
	return s.batch.CreatedAt.Add(s.Cut)
}

// cut cancels what has had its time. A cancel that fails is repeated.
func (t *turn) cut(ctx context.Context) error {
	for i := range t.slots {
		s := &t.slots[i]
		if s.state != open || s.asked || t.d.now().Before(t.cutAt(s)) {
			continue
		}
		if err := t.d.cancel(ctx, s.Org, s.batch.ID); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue // it may have ended: the next look tells
		}
		s.asked = true
	}
	return nil
}

// collect reads the results of what has ended.
func (t *turn) collect(ctx context.Context) error {
	for i := range t.slots {
		s := &t.slots[i]
		if s.state != ended {
			continue
		}
		c, err := t.d.collect(ctx, s.Org, s.batch.ID)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if s.tries++; s.tries > mostTries {
				s.state = dropped
				t.giveUp(err)
			}
			continue
		}
		s.state = closed
		s.out = outcome{
			lot: *s.lot, ID: s.batch.ID, Created: s.batch.CreatedAt, Asked: s.batch.CancelInitiatedAt, Ended: s.batch.EndedAt,
			Succeeded: c.Succeeded, Errored: c.Errored, Canceled: c.Canceled, Expired: c.Expired,
		}
	}
	return nil
}
