package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// budgetLook is how often budgets look whether a day has begun, on real time.
// What a caller spends between the last look of a day and midnight counts as
// the new day's: a budget is never overdrawn for it, at most a little short.
const budgetLook = 10 * time.Second

// BudgetBook tells what clients may spend of a local day, and what they have
// spent, worst cases in doubt and money set aside included; held is set aside for
// batches that this gateway may take over. The journal is one.
type BudgetBook interface {
	ClientBook
	DayOf(ctx context.Context, client string, at time.Time) (spent flotilla.Money, held []flotilla.HeldBatch, err error)
}

// BudgetConfig is what Budgets stand on.
type BudgetConfig struct {
	// Open makes a pot (Fleet.Pot).
	Open func(ctx context.Context, name string, limit, spent flotilla.Money, held ...flotilla.HeldBatch) (Pot, error)
	Book BudgetBook
	Now  func() time.Time // on the clock that spending is booked by
	Log  *slog.Logger
}

// Pot is what Budgets need of a flotilla.Pot.
type Pot interface {
	SetLimit(limit flotilla.Money)
	Renew(limit, before flotilla.Money)
	State(ctx context.Context) (limit, spent, reserved flotilla.Money, err error)
}

// Budgets are the pots of clients: one for each, whatever lines and batches it
// has, for as long as the gateway runs. Those without a budget have one without
// a limit: they may be given a budget.
type Budgets struct {
	cfg  BudgetConfig
	stop context.CancelFunc
	done chan struct{}

	mu   sync.Mutex
	pots map[string]*budget
}

// budget is one client's.
type budget struct {
	pot    Pot
	perDay flotilla.Money // 0: none
	day    time.Time      // that the limit is of
	before flotilla.Money // spent of the pot before that day
	seen   flotilla.Money // spent of the pot when it was last looked at, on that day
}

// NewBudgets opens none: the first request of a client does.
func NewBudgets(cfg BudgetConfig) *Budgets {
	ctx, stop := context.WithCancel(context.Background())
	b := &Budgets{cfg: cfg, stop: stop, done: make(chan struct{}), pots: map[string]*budget{}}
	go b.watch(ctx)
	return b
}

// Close ends the watch for midnight.
func (b *Budgets) Close() {
	b.stop()
	<-b.done
}

// Of is the pot of a client, by its name. What it may spend of a day is as the
// book has it, and what it has spent in whatever process counts. nil: it is Local,
// whose money is the gateway's.
func (b *Budgets) Of(ctx context.Context, client string) (Pot, error) {
	if client == Local {
		return nil, nil
	}
	all, err := b.cfg.Book.Clients(ctx)
	if err != nil {
		return nil, fmt.Errorf("what %s may spend: %w", client, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allow(all)
	if got := b.pots[client]; got != nil {
		return got.pot, nil
	}
	now := b.cfg.Now()
	spent, held, err := b.cfg.Book.DayOf(ctx, client, now)
	if err != nil {
		return nil, fmt.Errorf("what %s has spent today: %w", client, err)
	}
	one := &budget{day: dayOf(now), seen: spent, perDay: perDayOf(all, client)}
	if one.pot, err = b.cfg.Open(ctx, budgetOf(client), one.limit(), spent, held...); err != nil {
		return nil, fmt.Errorf("the budget of %s: %w", client, err)
	}
	b.pots[client] = one
	return one.pot, nil
}

// OwnBudget is what people call the pot of all callers.
const OwnBudget = "the budget of this gateway (--max-spend)"

// budgetOf is what people call a client's pot.
func budgetOf(client string) string { return "the budget of " + client + " for the day" }

// perDayOf is what a client may spend of a day; 0: as much as it likes. Of one
// whose keys are all revoked it is the last key's: its batches go on.
func perDayOf(all []journal.Client, client string) (perDay flotilla.Money) {
	for i := range all {
		if all[i].Name == client {
			perDay = all[i].MaxPerDay // of one name at most the last is not revoked
		}
	}
	return perDay
}

// allow takes in budgets that were changed.
func (b *Budgets) allow(all []journal.Client) {
	for name, one := range b.pots {
		one.allow(perDayOf(all, name))
	}
}

func (b *Budgets) watch(ctx context.Context) {
	defer close(b.done)
	tick := time.NewTicker(budgetLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.look(ctx)
			b.reread(ctx)
		}
	}
}

// look gives every budget of a day that is over the next one's.
func (b *Budgets) look(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, one := range b.pots {
		b.failed(ctx, "a budget per day cannot be looked at", name, one.look(ctx, b.cfg.Now()))
	}
}

// reread looks whether budgets were changed.
func (b *Budgets) reread(ctx context.Context) {
	all, err := b.cfg.Book.Clients(ctx)
	if err != nil {
		b.failed(ctx, "budgets cannot be read", "", err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allow(all)
}

func (b *Budgets) failed(ctx context.Context, what, client string, err error) {
	if err != nil && ctx.Err() == nil && b.cfg.Log != nil {
		b.cfg.Log.Warn(what, "client", client, "cause", err)
	}
}

// look goes by what was spent at the look before: all that came since may be of
// the new day.
func (o *budget) look(ctx context.Context, now time.Time) error {
	if day := dayOf(now); day.After(o.day) {
		o.day, o.before = day, o.seen
		o.pot.Renew(o.limit(), o.before)
	}
	_, spent, _, err := o.pot.State(ctx)
	if err == nil {
		o.seen = spent
	}
	return err
}

// allow changes how much a day has.
func (o *budget) allow(perDay flotilla.Money) {
	if o.perDay != perDay {
		o.perDay = perDay
		o.pot.SetLimit(o.limit())
	}
}

// limit is the pot's, over all days.
func (o *budget) limit() flotilla.Money {
	if o.perDay <= 0 {
		return -1
	}
	return o.before + o.perDay
}

// dayOf is the local midnight that a moment's day began at.
func dayOf(t time.Time) time.Time {
	y, m, d := t.Local().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.Local)
}
