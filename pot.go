package flotilla

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// A Pot is money shared by any number of lines and streams of one Fleet: what
// they have spent and reserved of it together never exceeds its limit.
type Pot struct {
	fleet   *Fleet
	name    string
	ledger  sched.LedgerID
	limited atomic.Bool // it has a limit

	// The loop's.
	ahead  map[left]Money // reserved for batches that may be taken over
	before Money          // spent before the period
}

// HeldBatch is what a batch of an earlier run, at the provider still, has
// reserved of a Pot.
type HeldBatch struct {
	Job, Number int64 // as in Options.Job and OpenBatch.Number
	Worst       Money
}

// Pot opens a pot. Its name is for people, as in "the budget of alice for the
// day": a *BudgetExceededError tells it. limit is the most that may be spent from
// it, spent included; negative: there is none. spent is what was spent of it
// before, worst cases in doubt included, but for held, which is reserved until a
// stream of the pot takes the batch over, or [Pot.Renew]. It connects the fleet
// where nothing has yet; the errors are Connect's.
func (f *Fleet) Pot(ctx context.Context, name string, limit, spent Money, held ...HeldBatch) (*Pot, error) {
	if _, err := f.Connect(ctx); err != nil {
		return nil, err
	}
	p := &Pot{fleet: f, name: name, ahead: map[left]Money{}}
	sum := Money(0)
	for _, h := range held {
		p.ahead[left{h.Job, h.Number}] += h.Worst
		sum += h.Worst
	}
	p.limited.Store(limit >= 0)
	_, err := ask(ctx, f, func(now time.Duration) struct{} {
		p.ledger = f.addLedger(now, sched.Ledger{Limit: int64(limit), Spent: int64(spent), Ahead: int64(sum)})
		return struct{}{}
	})
	if err != nil {
		return nil, err
	}
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

// Renew is SetLimit for a period that begins, such as a day: before is what was
// spent of the pot until then. What was reserved for batches that nobody has taken
// over was of the period that is over.
func (p *Pot) Renew(limit, before Money) {
	p.limited.Store(limit >= 0)
	p.fleet.inbox.put(message{run: func(now time.Duration) {
		p.before = before
		clear(p.ahead)
		p.fleet.step(now, &sched.SetLedger{Ledger: p.ledger, Limit: int64(limit), Free: math.MaxInt64})
	}})
}

// free gives back what is reserved for a batch, worst at most, once.
func (p *Pot) free(now time.Duration, batch left, worst Money) {
	if ahead := min(p.ahead[batch], worst); ahead > 0 {
		limit, _, _ := p.fleet.core.Ledger(p.ledger)
		p.fleet.step(now, &sched.SetLedger{Ledger: p.ledger, Limit: limit, Free: int64(ahead)})
	}
	delete(p.ahead, batch)
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
