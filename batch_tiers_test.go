package flotilla_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// Rows that are taken back from a batch, to be answered sooner by sync, are told
// as that, and not as if their batch had expired.
func TestRowsTakenBackAreNoFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "default"), Seed: 7})
		cfg := w.config()
		cfg.Conc = map[string]int{"haiku": 3}
		told := map[string]int{}
		cfg.Observe = func(o flotilla.Observation) {
			if o.Tier == "batch" {
				told[o.Class]++
			}
		}
		fleet := newFleet(t, cfg)
		carry(t, fleet, newPile(fleet, bodies(2500)), flotilla.Options{Route: &flotilla.Route{Batch: true}})
		if told["canceled"] == 0 || told["expired"] != 0 {
			t.Errorf("told of rows in batches: %v", told)
		}
	})
}

// Sync, batches and both give the same answers: content, stop reasons, tokens.
// Costs differ by half and are told apart by tier.
func TestTiersGiveTheSameAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := func(route *flotilla.Route) map[int]string {
			w := newWorld(t, emulator.Options{Scenario: scenario(t, "default"), Seed: 7})
			cfg := w.config()
			cfg.Conc = map[string]int{"haiku": 3}
			fleet := newFleet(t, cfg)
			src := newPile(fleet, bodies(1500))
			carry(t, fleet, src, flotilla.Options{Route: route})
			out := map[int]string{}
			for _, r := range src.got {
				var m struct {
					Content json.RawMessage
				}
				if r.Err != nil || json.Unmarshal(r.Message, &m) != nil {
					t.Fatalf("%+v", r)
				}
				out[r.Row] = fmt.Sprint(string(m.Content), r.StopReason, r.Usage.Input, r.Usage.Output)
			}
			return out
		}
		want := answers(nil)
		if d := cmp.Diff(want, answers(onlyBatches())); d != "" {
			t.Error("by batch:", d)
		}
		if d := cmp.Diff(want, answers(&flotilla.Route{Batch: true})); d != "" {
			t.Error("by both:", d)
		}
	})
}
