package lab

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// insistTries and insistFor bound Insist: an overload lasts a minute or two
// (facts/control.md D), a broken connection no time at all.
const (
	insistTries = 12
	insistFor   = 5 * time.Minute
)

// Insist sends a call until it is answered or refused for good: what is the
// provider's or the network's trouble is tried again. Each try is a record.
func (b *Bench) Insist(ctx context.Context, s Shot) (Record, error) {
	began, wait := b.clock.Now(), time.Second
	for try := 0; ; try++ {
		r, err := b.sendAs(ctx, s, Record{Due: b.clock.Now(), Retry: try > 0})
		if err != nil || !r.passing() || try+1 == insistTries || b.clock.Now()-began > insistFor {
			return r, err
		}
		if err := b.clock.Sleep(ctx, max(wait, r.RetryAfter)); err != nil {
			return r, err
		}
		wait = min(2*wait, 30*time.Second)
	}
}

// passing says that a failure may pass by itself.
func (r *Record) passing() bool {
	if r.OK() {
		return false
	}
	if r.Status == 0 || r.Status == 200 {
		return true
	}
	switch r.Class.Class {
	case wire.Overloaded, wire.ServerError, wire.Unknown504, wire.Conflict:
		return true
	}
	return false
}

// together does the same for every org at once, and joins the errors.
func together(orgs []*Org, do func(o *Org) error) error {
	errs := make([]error, len(orgs))
	var wg sync.WaitGroup
	for i, o := range orgs {
		wg.Go(func() { errs[i] = do(o) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// nothing is the value of a step whose records say it all.
type nothing struct{}
