package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// A cap that a person sets on the job of a batch ends the batch once it is spent,
// whether the gateway has a cap, too, or none: what is left errors.
func TestCapOnTheJobOfABatch(t *testing.T) {
	for name, limit := range map[string]flotilla.Money{"under a cap of the gateway's": flotilla.USD(5), "alone": -1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, emulator.Options{})
				var day *flotilla.Pot
				s.fit = func(c *Config) {
					pot, err := c.Fleet.Pot(t.Context(), "a pot", limit, 0)
					if err != nil {
						t.Fatal(err)
					}
					if day, err = c.Fleet.Pot(t.Context(), "a pot", flotilla.USD(0.02), 0); err != nil {
						t.Fatal(err)
					}
					c.Pots = []*flotilla.Pot{pot}
					c.PotsOf = func(context.Context, Caller) ([]*flotilla.Pot, error) { return []*flotilla.Pot{day}, nil }
				}
				s.open()
				defer s.close()
				id := s.made("ann", prompts("x", 400))
				time.Sleep(time.Hour) // a part of it is done, and the day's money spent
				rec, _, err := s.journal.ClientBatch(t.Context(), id)
				if err != nil || rec.Job == 0 {
					t.Fatalf("job %d, %v", rec.Job, err)
				}
				if err := s.journal.SetCap(t.Context(), rec.Job, flotilla.USD(0.02)); err != nil {
					t.Fatal(err)
				}
				day.SetLimit(flotilla.USD(5))
				began := time.Now()
				end := s.ended("ann", id)
				errored := 0
				for _, res := range s.results("ann", id) {
					if res.Get("error.error.type").Str == "billing_error" {
						errored++
					}
				}
				if took := time.Since(began); errored == 0 || errored == 400 || took > 6*time.Hour {
					t.Errorf("%d rows errored for money after %s; it ended as %s", errored, took, end.get("request_counts").Raw)
				}
			})
		})
	}
}

// A batch that waits for the money of another day says so, and nothing while it
// is carried.
func TestHeldByMoney(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		var pot *flotilla.Pot
		s.fit = func(c *Config) {
			var err error
			if pot, err = c.Fleet.Pot(t.Context(), "a pot", flotilla.USD(0.02), 0); err != nil {
				t.Fatal(err)
			}
			c.PotsOf = func(context.Context, Caller) ([]*flotilla.Pot, error) { return []*flotilla.Pot{pot}, nil }
		}
		s.open()
		defer s.close()
		id := s.made("ann", prompts("x", 400))
		time.Sleep(5 * time.Second)
		rec, _, err := s.journal.ClientBatch(t.Context(), id)
		if err != nil || rec.Job == 0 {
			t.Fatalf("job %d, %v", rec.Job, err)
		}
		if why := s.gateway.Held(rec.Job); why != "" {
			t.Errorf("under way it is held by %q", why)
		}
		time.Sleep(6 * time.Hour)
		if why := s.gateway.Held(rec.Job); why != "budget" {
			t.Errorf("without money it is held by %q", why)
		}
		pot.SetLimit(flotilla.USD(1))
		s.ended("ann", id)
		if why := s.gateway.Held(rec.Job); why != "" {
			t.Errorf("ended it is held by %q", why)
		}
	})
}
