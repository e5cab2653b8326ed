package flotilla_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// A run that is interrupted leaves its batches at the provider, names them, and
// the next one takes them over: nothing is bought twice (facts/peer-faults.md 10).
func TestPeerFault10BatchesLeftRunningAreTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 10 * time.Minute}
		d.answer = func(body string) (string, string) { return "", question(body) }
		book := &daybook{left: -1}
		all := bodies(400)
		cfg := d.config()
		cfg.Store = book
		fleet := open(t, cfg)
		src := newPile(fleet, all)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		report, err := fleet.Carry(ctx, src, flotilla.Options{Route: onlyBatches(), N: 400})
		if err != nil || report.Cause != flotilla.Interrupted || len(report.Running) == 0 {
			t.Fatalf("%v, %v, %+v", report.Cause, err, report.Running)
		}
		rows := 0
		for _, b := range report.Running {
			rows += b.Rows
			if b.ID == "" || b.Org != "high" || b.Age <= 0 || b.Worst <= 0 {
				t.Errorf("%+v", b)
			}
		}
		if rows < 300 || len(report.Running) != len(d.batches) {
			t.Errorf("%d rows left in %d batches of %d", rows, len(report.Running), len(d.batches))
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
		fleet = open(t, cfg)
		state := book.standing(t)
		src = state.resumed(fleet, all)
		report = carryOn(t, fleet, src, flotilla.Options{Route: onlyBatches(), Batches: state.open})
		src.checkAnswers(t)
		if d.billed != 400 || len(src.got) != 400 {
			t.Errorf("%d rows bought, %d results", d.billed, len(src.got))
		}
	})
}

// carryOn is carry of what is left of a pile; it closes the fleet.
func carryOn(t *testing.T, fleet *flotilla.Fleet, src *pile, opt flotilla.Options) flotilla.Report {
	t.Helper()
	opt.N = len(src.bodies)
	report, err := fleet.Carry(t.Context(), src, opt)
	if err != nil || report.Cause != flotilla.Finished {
		t.Fatalf("cause %v, %v, %d results, running %+v", report.Cause, err, len(src.got), report.Running)
	}
	src.check(t)
	for i, w := range src.where {
		if w != settled {
			t.Errorf("row %d is not settled", i)
		}
	}
	if err := fleet.Close(); err != nil {
		t.Error(err)
	}
	return report
}

// A run that is killed at any write goes on from what its journal holds: no row
// is answered twice in it or lost, no batch is bought twice, and the cap holds.
func TestKilledAtEveryWrite(t *testing.T) {
	const n = 60
	all := bodies(n)
	for _, route := range []struct {
		name  string
		route *flotilla.Route
	}{{"batches", onlyBatches()}, {"both", &flotilla.Route{Batch: true}}} {
		t.Run(route.name, func(t *testing.T) {
			for k := 0; ; k++ {
				over := false
				t.Run(fmt.Sprint(k), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { over = killedAt(t, k, all, route.route) })
				})
				if over && k < n {
					t.Errorf("a run of %d rows ended in %d writes", n, k)
				}
				if over || t.Failed() {
					break
				}
			}
		})
	}
}

// killedAt kills a run at its kth write and lets a next one end it; true says
// that the first ended before.
func killedAt(t *testing.T, k int, all [][]byte, route *flotilla.Route) (over bool) {
	d := &desk{after: 3 * time.Minute, cancels: 20 * time.Second}
	d.answer = func(body string) (string, string) { return "", question(body) }
	d.message = func(body string) (int, string) { return 200, string(deskAnswer(question(body))) }
	d.create = func(n int) (int, bool) { return 0, n%2 == 0 }
	book := &daybook{left: k}
	cfg := d.config()
	cfg.Store = book
	cfg.Conc = map[string]int{"haiku": 1}
	fleet := open(t, cfg)
	limit := flotilla.USD(1)
	first := newPile(fleet, all)
	report, err := fleet.Carry(t.Context(), first, flotilla.Options{Route: route, N: len(all), MaxSpend: limit})
	over = err == nil
	if !over && report.Cause != flotilla.Stopped {
		t.Errorf("%v, %v", report.Cause, err)
	}
	_ = fleet.Close()
	time.Sleep(time.Minute)

	book.left = -1
	fleet = open(t, cfg)
	state := book.standing(t)
	src := state.resumed(fleet, all)
	carryOn(t, fleet, src, flotilla.Options{Route: route, Batches: state.open, MaxSpend: limit, Spent: state.spent})
	if got := len(first.got) + len(src.got); got > len(all)+1 {
		t.Errorf("%d results of %d rows", got, len(all))
	}
	end := book.standing(t)
	if len(end.open) > 0 || len(end.settled) != len(all) || end.spent > limit {
		t.Errorf("%d settled, open %+v, %v spent", len(end.settled), end.open, end.spent)
	}
	// Bought twice may be only what was in flight by sync when the process died.
	if twice := d.billed - len(all); twice < 0 || twice > len(state.doubted) {
		t.Errorf("%d rows were bought twice, %d were in doubt", twice, len(state.doubted))
	}
	return over
}
