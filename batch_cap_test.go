package flotilla_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// bulky are bodies that cost so much that a cap is soon met.
func bulky(n int) [][]byte {
	var out [][]byte
	for i := range n {
		out = append(out, fmt.Appendf(nil, `{"model":"claude-sonnet-4-6","max_tokens":256,"messages":[{"role":"user","content":"tell me of %d"}]}`, i))
	}
	return out
}

// worstOf is the sum of what rows may cost by sync.
func (p *pile) worstOf() (sum flotilla.Money) {
	for i := range p.rows {
		sum += p.rows[i].Facts.Worst
	}
	return sum
}

// A cap that pays all by batch but not by sync is kept, and everything is done.
func TestACapBetweenTheTiers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 3})
		cfg := w.config()
		cfg.Conc = map[string]int{"sonnet": 4}
		fleet := newFleet(t, cfg)
		src := newPile(fleet, bulky(3000))
		limit := src.worstOf() / 2 // the worst case by batch; answers cost about a third of it
		carry(t, fleet, src, flotilla.Options{Route: &flotilla.Route{Batch: true}, MaxSpend: limit})
		if spent := flotilla.Money(w.server.Stats().Billed); spent > limit {
			t.Errorf("%v of %v spent", spent, limit)
		}
	})
}

// A cap that does not pay all by batch either ends the run where it is reached.
func TestACapThatEndsBatches(t *testing.T) {
	for _, route := range []flotilla.Route{*onlyBatches(), {Batch: true}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 3})
			cfg := w.config()
			cfg.Conc = map[string]int{"sonnet": 4}
			fleet := newFleet(t, cfg)
			src := newPile(fleet, bulky(2000))
			limit := src.worstOf() / 20
			report, err := fleet.Carry(t.Context(), src, flotilla.Options{Route: &route, MaxSpend: limit, N: 2000})
			if err != nil || report.Cause != flotilla.CapReached || report.Budget == nil {
				t.Fatalf("%v, %v, %d results", report.Cause, err, len(src.got))
			}
			src.check(t)
			spent := flotilla.Money(w.server.Stats().Billed)
			if spent > limit || spent < limit*9/10 || len(report.Running) > 0 {
				t.Errorf("%v of %v spent, %d running", spent, limit, len(report.Running))
			}
		})
	}
}

// Nothing is sent for a cap that pays for no row.
func TestACapForNoRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 3})
		fleet := newFleet(t, w.config())
		src := newPile(fleet, bulky(600))
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{Route: onlyBatches(), MaxSpend: 1, N: 600})
		if err != nil || report.Cause != flotilla.CapReached || len(src.got) > 0 {
			t.Errorf("%v, %v, %d results", report.Cause, err, len(src.got))
		}
	})
}
