package flotilla

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// A Pot is money shared by any number of lines and streams of one Fleet: what
// they have spent and reserved of it together never exceeds its limit.
type Pot struct {
	fleet   *Fleet
	ledger  sched.LedgerID
	limited atomic.Bool // it has a limit
}

// Pot opens a pot. limit is the most that may be spent from it, spent included;
// negative: there is none. spent is what was spent of it before, worst cases in
// doubt included. It connects the fleet where nothing has yet; the errors are
// Connect's.
func (f *Fleet) Pot(ctx context.Context, limit, spent Money) (*Pot, error) {
	if _, err := f.Connect(ctx); err != nil {
		return nil, err
	}
	ledger, err := ask(ctx, f, func(now time.Duration) sched.LedgerID {
		return f.addLedger(now, sched.Ledger{Limit: int64(limit), Spent: int64(spent)})
	})
	if err != nil {
		return nil, err
	}
	p := &Pot{fleet: f, ledger: ledger}
	p.limited.Store(limit >= 0)
	return p, nil
}

// SetLimit moves the limit, at once for everything not yet sent: below what is
// spent and reserved, nothing new is sent. Negative: there is none.
func (p *Pot) SetLimit(limit Money) {
	p.limited.Store(limit >= 0)
	p.fleet.inbox.put(message{run: func(now time.Duration) {
		p.fleet.step(now, &sched.SetLedger{Ledger: p.ledger, Limit: int64(limit)})
	}})
}

// capping says whether any of some pots has a limit.
func capping(pots []*Pot) bool {
	return slices.ContainsFunc(pots, func(p *Pot) bool { return p.limited.Load() })
}

// State tells the limit (negative: none), what was spent, worst cases in doubt
// included, and what calls and batches on their way have reserved.
func (p *Pot) State(ctx context.Context) (limit, spent, reserved Money, err error) {
	got, err := ask(ctx, p.fleet, func(time.Duration) [3]int64 {
		l, s, r := p.fleet.core.Ledger(p.ledger)
		return [3]int64{l, s, r}
	})
	return Money(got[0]), Money(got[1]), Money(got[2]), err
}

// ask runs a function with the core in hand and waits for what it gives. The
// error is that of ctx, or ErrClosed.
func ask[T any](ctx context.Context, f *Fleet, do func(now time.Duration) T) (got T, err error) {
	answer := make(chan T, 1)
	f.inbox.put(message{run: func(now time.Duration) { answer <- do(now) }})
	select {
	case got = <-answer:
		return got, nil
	case <-ctx.Done():
		return got, ctx.Err()
	case <-f.done:
		return got, ErrClosed
	}
}
