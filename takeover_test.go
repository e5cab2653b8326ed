package flotilla_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// The money of batches that are taken over counts once: a pot that has reserved
// it ahead lets it go as they draw on it, and a purse counts it under the run
// that sent them.
func TestTakenOverBatchesCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 10 * time.Minute}
		d.answer = func(body string) (string, string) { return "", question(body) }
		book := &daybook{left: -1}
		all := bodies(410)
		cfg := d.config()
		cfg.Store = book
		fleet := open(t, cfg)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		opt := flotilla.Options{Route: onlyBatches(), N: 400, Job: 7}
		if report, err := fleet.Carry(ctx, newPile(fleet, all[:400]), opt); err != nil || len(report.Running) == 0 {
			t.Fatalf("%v, %v, %+v", report.Cause, err, report.Running)
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}

		fleet = open(t, cfg)
		state := book.standing(t)
		src := state.resumed(fleet, all)
		var held []flotilla.HeldBatch
		reserved, few := flotilla.Money(0), flotilla.Money(0)
		for i, b := range state.open {
			state.open[i].Earlier = true
			held = append(held, flotilla.HeldBatch{Job: 7, Number: b.Number, Worst: b.Worst})
			reserved += b.Worst
		}
		held = append(held, flotilla.HeldBatch{Job: 8, Number: 1, Worst: 99}) // another process's
		for i := range src.rows {
			if !src.kept[i] {
				few += src.rows[i].Facts.Worst
			}
		}
		limit := reserved + few + 99
		pot, err := fleet.Pot(t.Context(), "a day", limit, 0, held...)
		if err != nil {
			t.Fatal(err)
		}
		stands := func(spent, reserved flotilla.Money) {
			t.Helper()
			if _, s, r, err := pot.State(t.Context()); s != spent || r != reserved || err != nil {
				t.Errorf("%v spent and %v reserved, not %v and %v (%v)", s, r, spent, reserved, err)
			}
		}
		stands(0, reserved+99)
		low, looked := reserved, make(chan struct{})
		go func() {
			defer close(looked)
			for range 30 {
				time.Sleep(20 * time.Second)
				if _, s, r, err := pot.State(t.Context()); err == nil {
					low = min(low, s+r)
				}
			}
		}()
		purse := &stint{limit: few * 3 / 2}
		carryOnKeeping(t, fleet, src, flotilla.Options{
			Route: onlyBatches(), Batches: state.open, Job: 7, Pots: []*flotilla.Pot{pot}, Purse: purse,
		})
		<-looked
		spent := book.standing(t).spent - state.spent
		if low < spent {
			t.Errorf("it counted %v at a time when %v was to be billed", low, spent)
		}
		stands(spent, 99)
		pot.Renew(limit+spent, spent)
		stands(spent, 0)
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// carryOnKeeping is carryOn, and leaves the fleet open.
func carryOnKeeping(t *testing.T, fleet *flotilla.Fleet, src *pile, opt flotilla.Options) {
	t.Helper()
	opt.N = len(src.bodies)
	report, err := fleet.Carry(t.Context(), src, opt)
	if err != nil || report.Cause != flotilla.Finished || len(src.got) != len(src.bodies) {
		t.Fatalf("cause %v, %v, %d of %d results, %v", report.Cause, err, len(src.got), len(src.bodies), report.Budget)
	}
}
