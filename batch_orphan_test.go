package flotilla_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// leftRunning runs a job into batches on the orgs and interrupts it.
func leftRunning(t *testing.T, d *desk, names []string, all [][]byte) (standing, *daybook) {
	t.Helper()
	book := &daybook{left: -1}
	cfg := d.config()
	cfg.Store, cfg.Orgs = book, orgs(names...)
	fleet := open(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := fleet.Carry(ctx, newPile(fleet, all), flotilla.Options{Route: onlyBatches(), N: len(all), Name: "j"})
	if err != nil {
		t.Fatal(err)
	}
	if err := fleet.Close(); err != nil {
		t.Fatal(err)
	}
	return book.standing(t), book
}

// A batch is asked for only with the key of the org that made it. Without that
// key it is named, its rows stay out, and the rest goes on; the run ends saying
// which lane is closed (facts/peer-faults.md 12).
func TestPeerFault12AnOrgWithoutItsKeyKeepsItsBatches(t *testing.T) {
	for name, names := range map[string][]string{"key gone": {"low"}, "key changed": {"low", "high"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{after: 10 * time.Minute}
				all := bodies(4000)
				state, book := leftRunning(t, d, []string{"high", "low"}, all)
				cfg := d.config()
				cfg.Store, cfg.Orgs = book, orgs(names...)
				var told []flotilla.Notice
				cfg.Notify = func(n flotilla.Notice) { told = append(told, n) }
				rows := 0
				worst := flotilla.Money(0)
				for i := range state.open {
					b := &state.open[i]
					if b.Org == "high" {
						rows += len(b.Rows)
						worst += b.Worst
						if name == "key changed" {
							b.OrgID = "id-of-another"
						}
					}
				}
				fleet := newFleet(t, cfg)
				src := state.resumed(fleet, all)
				limit := flotilla.USD(20)
				report, err := fleet.Carry(t.Context(), src, flotilla.Options{
					Route: onlyBatches(), N: len(all), Name: "j", Batches: state.open, MaxSpend: limit, Spent: state.spent,
				})
				if err != nil || report.Cause != flotilla.LanesClosed {
					t.Fatalf("%v, %v", report.Cause, err)
				}
				if rows == 0 || rows == len(all) || len(src.got) != len(all)-rows {
					t.Errorf("%d results; %d rows are in batches of the org that is gone", len(src.got), rows)
				}
				orphans, notices := 0, 0
				for _, o := range report.Orphans {
					orphans += len(o.Rows)
				}
				for _, n := range told {
					if n.Kind == flotilla.BatchOrphaned {
						notices++
					}
				}
				if orphans != rows || notices != len(report.Orphans) || len(report.Running) > 0 {
					t.Errorf("%d orphaned rows, %d notices, running %+v", orphans, notices, report.Running)
				}
				for _, b := range d.batches {
					if b.org == "high" && b.download > 0 {
						t.Error("results of the org that is gone were read")
					}
				}
			})
		})
	}
}

// Batches of a key that is gone for longer than they can live are given up:
// their rows go again, their dollars stay in doubt.
func TestOrphansExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 10 * time.Minute}
		all := bodies(100)
		state, book := leftRunning(t, d, []string{"high"}, all)
		time.Sleep(26 * time.Hour)
		cfg := d.config()
		cfg.Store, cfg.Orgs = book, orgs("low")
		fleet := open(t, cfg)
		src := state.resumed(fleet, all)
		carryOn(t, fleet, src, flotilla.Options{Route: onlyBatches(), Name: "j", Batches: state.open})
		end := book.standing(t)
		doubt := flotilla.Money(0)
		for _, b := range state.open {
			doubt += b.Worst
		}
		if len(end.open) > 0 || end.spent <= doubt {
			t.Errorf("open %+v, %v spent, %v of it in doubt", end.open, end.spent, doubt)
		}
	})
}

// Cancelling a job ends its batches: what they had answered is taken in, the
// rest settles canceled, and nothing is sent.
func TestCancelBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: time.Hour, cancels: 30 * time.Second}
		d.answer = func(body string) (string, string) { return "", question(body) }
		all := bodies(400)
		state, book := leftRunning(t, d, []string{"high"}, all)
		cfg := d.config()
		cfg.Store = book
		fleet := newFleet(t, cfg)
		src := state.resumed(fleet, all)
		made := len(d.batches)
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{
			Route: onlyBatches(), N: 400, Name: "j", Batches: state.open, CancelBatches: true, Deadline: time.Now().Add(time.Hour),
		})
		if err != nil || report.Cause != flotilla.Finished || len(report.Running) > 0 {
			t.Fatalf("%v, %v, %+v", report.Cause, err, report.Running)
		}
		rows, answered := 0, 0
		for _, b := range state.open {
			rows += len(b.Rows)
			answered += len(b.Rows) / 2
		}
		succeeded := 0
		for _, r := range src.got {
			var canceled *flotilla.CanceledError
			switch {
			case r.Err == nil:
				succeeded++
			case !errors.As(r.Err, &canceled):
				t.Errorf("%+v", r)
			}
		}
		if len(src.got) != rows || succeeded != answered || len(d.batches) != made || len(d.synced) > 0 {
			t.Errorf("%d results of %d, %d of %d succeeded, %d batches after %d", len(src.got), rows, succeeded, answered, len(d.batches), made)
		}
		if took := report.Ended.Sub(report.Started); took > 5*time.Minute {
			t.Errorf("it took %v", took)
		}
		end := book.standing(t)
		for row, r := range end.settled {
			if r.Type != "succeeded" && r.Type != "canceled" {
				t.Errorf("row %d: %s", row, r.Type)
			}
		}
		if len(end.open) > 0 {
			t.Errorf("open: %+v", end.open)
		}
		src.check(t)
	})
}

// Where a batch of a canceled job can never be seen again its rows settle
// canceled, and what they may have cost stays in doubt.
func TestACanceledBatchThatIsNeverSeenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 5 * time.Minute}
		all := bodies(50)
		state, book := leftRunning(t, d, []string{"high"}, all)
		d.get = func(string, int) int { return 404 }
		cfg := d.config()
		cfg.Store = book
		fleet := newFleet(t, cfg)
		src := state.resumed(fleet, all)
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{
			Route: onlyBatches(), N: 50, Name: "j", Batches: state.open, CancelBatches: true,
		})
		if err != nil || report.Cause != flotilla.Finished {
			t.Fatalf("%v, %v, %+v", report.Cause, err, report.Running)
		}
		worst := flotilla.Money(0)
		for _, b := range state.open {
			worst += b.Worst
		}
		for _, r := range src.got {
			if r.InDoubt != 1 || r.Cost == 0 {
				t.Errorf("%+v", r)
			}
		}
		if end := book.standing(t); len(end.open) > 0 || end.spent < state.spent+worst {
			t.Errorf("open %+v, %v spent, %v may have been billed", end.open, end.spent, worst)
		}
	})
}

// A batch whose create is in doubt is not cancelled before it is proven ours.
func TestABatchInDoubtIsNotCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 20 * time.Minute, cancels: 30 * time.Second}
		all := bodies(50)
		state, book := leftRunning(t, d, []string{"high"}, all)
		for i := range state.open {
			state.open[i].ID, state.open[i].Sure = "", false
		}
		cfg := d.config()
		cfg.Store = book
		fleet := newFleet(t, cfg)
		src := state.resumed(fleet, all)
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{
			Route: onlyBatches(), N: 50, Name: "j", Batches: state.open, CancelBatches: true, Deadline: time.Now().Add(2 * time.Hour),
		})
		if err != nil || report.Cause != flotilla.Finished {
			t.Fatalf("%v, %v, %+v", report.Cause, err, report.Running)
		}
		for _, b := range d.batches {
			if !b.cancelled.IsZero() {
				t.Error("it was cancelled")
			}
		}
		for _, r := range src.got {
			if r.Err != nil {
				t.Errorf("%+v", r)
			}
		}
	})
}

// After its deadline a run ends soon, and leaves its batches where they are.
func TestADeadlineLeavesBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: time.Hour}
		fleet := newFleet(t, d.config())
		start := time.Now()
		report, err := fleet.Carry(t.Context(), newPile(fleet, bodies(200)), flotilla.Options{
			Route: onlyBatches(), N: 200, Deadline: start.Add(10 * time.Minute),
		})
		if err != nil || report.Cause != flotilla.DeadlinePassed || len(report.Running) == 0 {
			t.Errorf("%v, %v, %+v", report.Cause, err, report.Running)
		}
		if late := time.Since(start) - 10*time.Minute; late > 61*time.Second {
			t.Errorf("it ended %v after its deadline", late)
		}
	})
}
