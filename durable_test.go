package flotilla_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// slowBook takes its time, as a disk does.
type slowBook struct {
	flotilla.Store
	fails error
}

func (s *slowBook) Append(records []flotilla.Record) error {
	time.Sleep(time.Second)
	if s.fails != nil {
		return s.fails
	}
	return s.Store.Append(records)
}

// A stream has ended when its last record is durable, also one that no result
// waits for: its job is given back then, and would take no more of them.
func TestCarryOutlastsItsRecords(t *testing.T) {
	for name, fails := range map[string]error{"kept": nil, "lost": errStore} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{after: 10 * time.Minute}
				all := bodies(100)
				state, book := leftRunning(t, d, []string{"high"}, all)
				time.Sleep(26 * time.Hour) // its batches are given up at once
				cfg := d.config()
				cfg.Store, cfg.Orgs = &slowBook{book, fails}, orgs("low")
				fleet := open(t, cfg)
				_, err := fleet.Carry(t.Context(), state.resumed(fleet, all), flotilla.Options{
					Route: onlyBatches(), N: len(all), Name: "j", Batches: state.open, CancelBatches: true,
				})
				if !errors.Is(err, fails) {
					t.Errorf("%v, want %v", err, fails)
				}
				if left := book.standing(t).open; fails == nil && len(left) > 0 {
					t.Errorf("it has ended, and the store does not know of %d batches", len(left))
				}
				if err := fleet.Close(); !errors.Is(err, fails) {
					t.Errorf("closing: %v", err)
				}
			})
		})
	}
}
