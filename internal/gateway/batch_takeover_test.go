package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/memnet"
	"github.com/flotilla-llm/flotilla/journal"
)

// A batch that the next gateway takes over counts once in its client's budget of
// the day: what its rows may cost until they have come back, then what they cost.
// For that the gateway may be killed.
func TestBatchTakenOverCountsOnce(t *testing.T) {
	for name, stop := range map[string]func(*shop){"closed": (*shop).close, "killed": func(s *shop) {
		_ = s.journal.Close() // what is written after that is lost
		s.net.Close()
		_ = s.gateway.Close(s.t.Context())
		_ = s.fleet.Close()
	}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { takenOverOnce(t, stop) })
		})
	}
}

func takenOverOnce(t *testing.T, stop func(*shop)) {
	s := newShop(t, emulator.Options{})
	var budgets *Budgets
	s.fit = func(c *Config) {
		budgets = NewBudgets(BudgetConfig{
			Open: func(ctx context.Context, name string, limit, spent flotilla.Money, held ...flotilla.HeldBatch) (Pot, error) {
				return c.Fleet.Pot(ctx, name, limit, spent, held...)
			},
			Book: c.Journal, Now: time.Now,
		})
		c.PotsOf = func(ctx context.Context, caller Caller) ([]*flotilla.Pot, error) {
			pot, err := budgets.Of(ctx, caller.Name)
			if err != nil {
				return nil, err
			}
			return []*flotilla.Pot{pot.(*flotilla.Pot)}, nil
		}
	}
	// taken is what the pot counts, held to what the journal does.
	taken := func() (spent, reserved flotilla.Money) {
		t.Helper()
		pot, err := budgets.Of(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		_, spent, reserved, err = pot.State(t.Context())
		booked, bookErr := s.journal.SpentBy(t.Context(), "ann", time.Now())
		if err != nil || bookErr != nil || spent+reserved < booked {
			t.Errorf("%v spent and %v reserved, the journal has %v; %v, %v", spent, reserved, booked, err, bookErr)
		}
		return spent, reserved
	}
	s.open()
	if err := s.journal.AddClient(t.Context(), journal.Client{Name: "ann", KeyHash: [32]byte{1}, MaxPerDay: flotilla.USD(1), Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	id := s.made("ann", prompts("x", 300))
	time.Sleep(20 * time.Second)
	_, before := taken()
	if before == 0 {
		t.Fatal("nothing is at the provider")
	}
	stop(s)
	budgets.Close()

	s.net = memnet.Listen()
	go func() { _ = s.server.Serve(s.net) }()
	s.open()
	defer func() { s.close(); budgets.Close() }()
	for range 20 {
		if spent, reserved := taken(); spent+reserved > before*11/10 {
			t.Fatalf("%v spent and %v reserved, after %v", spent, reserved, before)
		}
		time.Sleep(time.Second)
	}
	s.ended("ann", id)
	spent, reserved := taken()
	if booked, err := s.journal.SpentBy(t.Context(), "ann", time.Now()); spent != booked || reserved != 0 || err != nil {
		t.Errorf("%v spent and %v reserved in the end, the journal has %v; %v", spent, reserved, booked, err)
	}
}
