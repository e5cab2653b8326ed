package gateway

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/price"
)

// pursed is a pot and its book in memory: it spends as a fleet does.
type pursed struct {
	limit, spent flotilla.Money
	days         map[time.Time]flotilla.Money
	clients      []journal.Client
	now          time.Time
}

func (p *pursed) SetLimit(limit flotilla.Money) { p.limit = limit }

func (p *pursed) State(context.Context) (limit, spent, reserved flotilla.Money, err error) {
	return p.limit, p.spent, 0, nil
}

func (p *pursed) Clients(context.Context) ([]journal.Client, error) { return p.clients, nil }

func (p *pursed) Renew(limit, _ flotilla.Money) { p.limit = limit }

func (p *pursed) DayOf(_ context.Context, _ string, at time.Time) (flotilla.Money, []flotilla.HeldBatch, error) {
	return p.days[dayOf(at)], nil, nil
}

// spend spends what fits.
func (p *pursed) spend(m flotilla.Money) {
	if p.limit < 0 || p.spent+m <= p.limit {
		p.spent += m
		p.days[dayOf(p.now)] += m
	}
}

// budgets are those of one client over a pursed, watched by hand.
func (p *pursed) budgets() *Budgets {
	return &Budgets{cfg: BudgetConfig{
		Open: func(_ context.Context, _ string, limit, spent flotilla.Money, _ ...flotilla.HeldBatch) (Pot, error) {
			p.limit, p.spent = limit, spent
			return p, nil
		},
		Book: p, Now: func() time.Time { return p.now },
	}, pots: map[string]*budget{}}
}

// No day is ever spent over its budget, whatever the looks, however often the
// gateway is started anew.
func TestBudgetPerDayHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const perDay = 10 * price.Dollar
		p := &pursed{days: map[time.Time]flotilla.Money{}, now: time.Date(2026, 10, 24, 20, 0, 0, 0, time.Local)}
		p.clients = []journal.Client{{Name: "alice", MaxPerDay: perDay}}
		b := p.budgets()
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			p.now = p.now.Add(time.Duration(rapid.IntRange(0, 5*3600).Draw(t, "seconds")) * time.Second)
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				b = p.budgets() // a new process
			case 1, 2:
				b.look(context.Background())
			}
			if _, err := b.Of(context.Background(), "alice"); err != nil {
				t.Fatal(err)
			}
			p.spend(flotilla.Money(rapid.Int64Range(0, int64(3*price.Dollar)).Draw(t, "spends")))
		}
		for day, spent := range p.days {
			if spent > perDay {
				t.Fatalf("%s of %s on %s", spent, flotilla.Money(perDay), day)
			}
		}
	})
}

// A new day has all of its budget, but for what was spent since the last look.
func TestBudgetOfTheNextDay(t *testing.T) {
	p := &pursed{days: map[time.Time]flotilla.Money{}, now: time.Date(2026, 10, 24, 23, 0, 0, 0, time.Local)}
	p.days[dayOf(p.now)] = 4 * price.Dollar // before this process
	p.clients = []journal.Client{{Name: "alice", MaxPerDay: 10 * price.Dollar}}
	b := p.budgets()
	if _, err := b.Of(context.Background(), "alice"); err != nil {
		t.Fatal(err)
	}
	p.spend(7 * price.Dollar)
	p.spend(6 * price.Dollar)
	if p.days[dayOf(p.now)] != 10*price.Dollar {
		t.Fatalf("%s on the first day", p.days[dayOf(p.now)])
	}
	b.look(context.Background())
	p.now = p.now.Add(2 * time.Hour)
	p.spend(price.Dollar)
	if p.days[dayOf(p.now)] != 0 {
		t.Error("spent before the day was looked at")
	}
	b.look(context.Background())
	p.spend(10 * price.Dollar)
	p.spend(1)
	if got := p.days[dayOf(p.now)]; got != 10*price.Dollar {
		t.Errorf("%s on the second day", got)
	}
}

// A budget that another process changes holds from the next look on.
func TestBudgetThatChanges(t *testing.T) {
	p := &pursed{days: map[time.Time]flotilla.Money{}, now: time.Date(2026, 10, 24, 12, 0, 0, 0, time.Local)}
	b := p.budgets()
	if _, err := b.Of(context.Background(), "alice"); err != nil {
		t.Fatal(err)
	}
	p.spend(50 * price.Dollar) // no budget yet
	p.clients = []journal.Client{{Name: "alice", MaxPerDay: 60 * price.Dollar}}
	b.reread(context.Background())
	p.spend(20 * price.Dollar)
	p.spend(10 * price.Dollar)
	if p.spent != 60*price.Dollar {
		t.Errorf("spent %s", p.spent)
	}
	// Another key of the name has another budget; what was spent counts.
	p.clients[0].Revoked = p.now
	p.clients = append(p.clients, journal.Client{Name: "alice", MaxPerDay: 61 * price.Dollar})
	if _, err := b.Of(context.Background(), "alice"); err != nil {
		t.Fatal(err)
	}
	p.spend(2 * price.Dollar)
	p.spend(price.Dollar)
	if p.spent != 61*price.Dollar {
		t.Errorf("spent %s", p.spent)
	}
	// A key that is revoked leaves its budget to the batches that go on.
	p.clients[1].Revoked = p.now
	b.reread(context.Background())
	p.spend(price.Dollar)
	if p.spent != 61*price.Dollar {
		t.Errorf("spent %s after the last key was revoked", p.spent)
	}
}

// Callers without a key have no budget of their own, and a book that cannot be
// read opens none.
func TestBudgetOfNobody(t *testing.T) {
	p := &pursed{days: map[time.Time]flotilla.Money{}, now: time.Now()}
	b := p.budgets()
	if pot, err := b.Of(context.Background(), Local); pot != nil || err != nil {
		t.Error(pot, err)
	}
	broken := errors.New("no money left on earth")
	b.cfg.Open = func(context.Context, string, flotilla.Money, flotilla.Money, ...flotilla.HeldBatch) (Pot, error) {
		return nil, broken
	}
	if _, err := b.Of(context.Background(), "alice"); !errors.Is(err, broken) {
		t.Error(err)
	}
}
