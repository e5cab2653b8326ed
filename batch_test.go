package flotilla_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/price"
)

// onlyBatches is the route that rescues nothing.
func onlyBatches() *flotilla.Route { return &flotilla.Route{Batch: true, NoSync: true, Patient: true} }

// carry carries a pile and checks that all of it settled once.
func carry(t *testing.T, fleet *flotilla.Fleet, src *pile, opt flotilla.Options) flotilla.Report {
	t.Helper()
	opt.N = len(src.bodies)
	report, err := fleet.Carry(t.Context(), src, opt)
	if err != nil || report.Cause != flotilla.Finished {
		t.Fatalf("cause %v, %v, %d results", report.Cause, err, len(src.got))
	}
	src.check(t)
	if len(src.got) != len(src.bodies) {
		t.Errorf("%d results of %d rows", len(src.got), len(src.bodies))
	}
	return report
}

func (p *pile) check(t *testing.T) {
	t.Helper()
	for _, f := range p.faults {
		t.Error(f)
	}
}

func (p *pile) byTier(tier string) (n int, cost flotilla.Money) {
	for _, r := range p.got {
		if r.Tier == tier {
			n++
			cost += r.Cost
		}
	}
	return n, cost
}

// Rows that go by batch come back answered, each once, at half price.
func TestBatchesAnswerEveryRowOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		cfg := w.config()
		store := &records{}
		cfg.Store = store
		fleet := newFleet(t, cfg)
		src := newPile(fleet, bodies(3000))
		report := carry(t, fleet, src, flotilla.Options{Route: onlyBatches(), Name: "2e08", Job: 7})
		model, _ := price.Published().Lookup("claude-haiku-4-5")
		var sum flotilla.Money
		for _, r := range src.got {
			half := r.Usage
			half.Batch = true
			if r.Tier != "batch" || r.Err != nil || r.Cost != model.Cost(half) || r.Emulated == "" || r.Org == "" {
				t.Fatalf("%+v", r)
			}
			sum += r.Cost
		}
		stats := w.server.Stats()
		rows := int64(0)
		for _, o := range stats.Orgs {
			rows += o.Batches.Rows
		}
		if stats.Billed != int64(sum) || stats.Requests != 0 || rows != 3000 {
			t.Errorf("%v paid, %d rows, %+v", sum, rows, stats)
		}
		n := 0
		for _, l := range report.Lanes {
			if l.Tier == "batch" {
				n += l.Succeeded
			}
		}
		if n != 3000 || report.Attempts != 3000 {
			t.Errorf("%d rows reported, %d attempts", n, report.Attempts)
		}
		checkBatchRecords(t, store.all())
	})
}

// checkBatchRecords holds the records of batches to the order that a crash at
// any point needs: intent, id, outcomes, end.
func checkBatchRecords(t *testing.T, all []flotilla.Record) {
	t.Helper()
	type seen struct {
		rows                 []int
		worst, left          flotilla.Money
		made, closed, intent bool
	}
	batches := map[int64]*seen{}
	last := int64(0)
	for _, r := range all {
		b := batches[r.Batch]
		switch {
		case r.Batch == 0:
		case r.Kind == flotilla.BatchRecord && r.Step == flotilla.BatchIntent:
			if b != nil || r.Batch <= last || len(r.Rows) == 0 || r.Worst <= 0 || r.Bytes <= 0 || r.Org == "" || r.Pool == "" || r.Tier != "batch" {
				t.Errorf("intent %+v", r)
			}
			last = r.Batch
			batches[r.Batch] = &seen{rows: r.Rows, worst: r.Worst, left: r.Worst, intent: true}
		case b == nil || b.closed:
			t.Errorf("without a batch, or after its end: %+v", r)
		case r.Kind == flotilla.BatchRecord && r.Step == flotilla.BatchMade:
			b.made = r.BatchID != ""
		case r.Kind == flotilla.BatchRecord:
			b.closed = r.Step == flotilla.BatchClosed || r.Step == flotilla.BatchLost
			b.made = r.BatchID != "" // else what it was taken for was another's
		default:
			at := slices.Index(b.rows, r.Row)
			if at < 0 || !b.made || r.Tier != "batch" || r.Worst <= 0 || r.Charged > r.Worst {
				t.Errorf("a row of no such batch: %+v", r)
				continue
			}
			b.rows = slices.Delete(b.rows, at, at+1)
			b.left -= r.Worst
		}
	}
	for n, b := range batches {
		if b.closed && b.made && (len(b.rows) > 0 || b.left != 0) {
			t.Errorf("batch %d closed with %d rows and %v left", n, len(b.rows), b.left)
		}
	}
}

// Without a target both tiers go at full until they meet.
func TestBothTiersMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		cfg := w.config()
		cfg.Conc = map[string]int{"haiku": 2}
		fleet := newFleet(t, cfg)
		src := newPile(fleet, bodies(6000))
		report := carry(t, fleet, src, flotilla.Options{Route: &flotilla.Route{Batch: true}})
		batched, _ := src.byTier("batch")
		synced, _ := src.byTier("sync")
		if batched < 1000 || synced < 1000 {
			t.Errorf("%d by batch, %d by sync", batched, synced)
		}
		// Six calls at once, a bit over half a second each, take 9 minutes for all.
		if took := report.Ended.Sub(report.Started); took > 8*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// Dispatch chooses batches by itself where there are many requests and time.
func TestDispatchChoosesBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		fleet := newFleet(t, w.config())
		tiers := map[string]int{}
		var requests []flotilla.Request
		for i := range 2000 {
			requests = append(requests, request(i))
		}
		seen := map[string]bool{}
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests), flotilla.Options{N: 2000, Prefer: flotilla.Cheap}) {
			if res.Err != nil || seen[res.ID] {
				t.Fatalf("%+v", res)
			}
			seen[res.ID] = true
			tiers[res.Tier]++
		}
		if tiers["batch"] < 1500 || len(seen) != 2000 {
			t.Errorf("%v", tiers)
		}
	})
}
