package flotilla_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// The shortest time of a run leaves out the rows that earlier runs had given to
// batches: the provider had been at them before it began.
func TestBoundLeavesOutBatchesTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 10 * time.Minute}
		book := &daybook{left: -1}
		all := bodies(400)
		cfg := d.config()
		cfg.Store = book
		for i := range cfg.Orgs {
			cfg.Orgs[i].Turnaround = flotilla.Turnaround{Overhead: time.Second, RowRate: 0.01, Parallel: 1}
		}
		fleet := open(t, cfg)
		ctx, cancel := context.WithTimeout(t.Context(), 595*time.Second)
		defer cancel()
		if report, err := fleet.Carry(ctx, newPile(fleet, all[:399]), flotilla.Options{Route: onlyBatches(), N: 399}); err != nil || len(report.Running) == 0 {
			t.Fatalf("%v, %+v", err, report.Running)
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
		fleet = open(t, cfg)
		state := book.standing(t)
		src := state.resumed(fleet, all)
		report := carryOn(t, fleet, src, flotilla.Options{Route: onlyBatches(), Batches: state.open})
		if took := report.Ended.Sub(report.Started); report.Bound == 0 || report.Bound > took || report.PoliteBound > took {
			t.Errorf("at least %v and %v for the last row, all took %v", report.Bound, report.PoliteBound, took)
		}
	})
}
