package flotilla_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// Creates whose answers were lost are looked for before their rows go
// anywhere: many that were made in one second are told apart, and none is
// bought twice (facts/peer-faults.md 10).
func TestPeerFault10LostCreatesAreFound(t *testing.T) {
	for _, lost := range []struct {
		name string
		lose func(n int) (int, bool)
	}{
		{"all", func(int) (int, bool) { return 0, true }},
		{"every other", func(n int) (int, bool) { return 0, n%2 == 0 }},
		{"some never made", func(n int) (int, bool) { return map[bool]int{true: 500}[n%3 == 0], n%3 == 1 }},
	} {
		t.Run(lost.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{after: 3 * time.Minute, create: lost.lose}
				d.answer = func(body string) (string, string) { return "", question(body) }
				cfg := d.config()
				store := &records{}
				cfg.Store = store
				fleet := newFleet(t, cfg)
				src := newPile(fleet, bodies(2000))
				carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
				src.checkAnswers(t)
				if d.billed != 2000 {
					t.Errorf("%d rows were bought", d.billed)
				}
				checkBatchRecords(t, store.all())
			})
		})
	}
}

// A batch of somebody else that looks like ours by time and size is told by
// its results, and left alone.
func TestSomebodyElsesBatchIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 3 * time.Minute}
		d.answer = func(body string) (string, string) { return "", question(body) }
		var notices []flotilla.Notice
		d.create = func(n int) (int, bool) {
			if n == 1 {
				// A colleague makes one of the same size in the same moment; ours is
				// not made.
				d.mu.Lock()
				twin := &deskBatch{id: "msgbatch_theirs", org: "high", at: time.Now(), ends: time.Now().Add(d.after)}
				for i := range 25 {
					twin.ids, twin.bodies = append(twin.ids, fmt.Sprint("their-", i)), append(twin.bodies, string(request(i).Body))
				}
				d.batches = append(d.batches, twin)
				d.mu.Unlock()
				return 500, false
			}
			return 0, false
		}
		cfg := d.config()
		cfg.Notify = func(n flotilla.Notice) { notices = append(notices, n) }
		store := &records{}
		cfg.Store = store
		fleet := newFleet(t, cfg)
		src := newPile(fleet, bodies(25))
		carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
		src.checkAnswers(t)
		for _, b := range d.batches {
			if b.id == "msgbatch_theirs" && !b.cancelled.IsZero() {
				t.Error("their batch was cancelled")
			}
		}
		kinds := map[flotilla.NoticeKind]int{}
		for _, n := range notices {
			kinds[n.Kind]++
		}
		if len(d.batches) == 2 && d.batches[0].id == "msgbatch_theirs" && kinds[flotilla.BatchFound] > 0 && kinds[flotilla.BatchStrange] != 1 {
			t.Errorf("notices: %v", kinds)
		}
		checkBatchRecords(t, store.all())
	})
}

// Results that show no line prove nothing: what was taken for a batch of ours is
// not closed as one, and once it can be seen no more its dollars stay in doubt.
func TestResultsWithoutALineProveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 3 * time.Minute}
		d.create = func(n int) (int, bool) { return 0, n == 1 }
		d.results = func(id string, _ int, body []byte) ([]byte, int) {
			if id == "msgbatch_1" {
				return nil, 0
			}
			return body, 0
		}
		book := &daybook{left: -1}
		cfg := d.config()
		cfg.Store = book
		fleet := newFleet(t, cfg)
		src := newPile(fleet, bodies(25))
		report := carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
		if took := report.Ended.Sub(report.Started); took < 25*time.Hour {
			t.Errorf("its rows went again after %v", took)
		}
		cost := flotilla.Money(0)
		for _, r := range src.got {
			cost += r.Cost
		}
		if state := book.standing(t); state.spent <= cost {
			t.Errorf("%v spent, %v of it on answers", state.spent, cost)
		}
	})
}

// A new batch may answer 404 for a while, again midway, and its results after
// it has ended: that means "ask again" (facts/peer-faults.md 9).
func TestPeerFault9MissingBatchesAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 5 * time.Minute}
		d.get = func(_ string, n int) int { return map[bool]int{true: 404}[n <= 2 || n == 4] }
		d.results = func(_ string, n int, body []byte) ([]byte, int) {
			if n <= 2 {
				return deskError("not_found_error", "no available results"), 404
			}
			return body, 0
		}
		fleet := newFleet(t, d.config())
		src := newPile(fleet, bodies(300))
		carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
		if d.billed != 300 {
			t.Errorf("%d rows were bought", d.billed)
		}
	})
}

// Results that end early, in the middle of a line or at the end of one, are
// read again; what a whole download lacks is sent again (facts/claude-api.md
// 4.4).
func TestTruncatedResults(t *testing.T) {
	for name, cut := range map[string]func(body []byte, n int) []byte{
		"inside a line, once": func(body []byte, n int) []byte {
			if n == 1 {
				return body[:len(body)*2/3-5]
			}
			return body
		},
		"at the end of a line, once": func(body []byte, n int) []byte {
			if n == 1 {
				return body[:bytes.LastIndexByte(body[:len(body)/2], '\n')+1]
			}
			return body
		},
		"at the end of a line, five times": func(body []byte, n int) []byte {
			if n <= 5 {
				return body[:bytes.LastIndexByte(body[:len(body)/2], '\n')+1]
			}
			return body
		},
		"with lines of others and lines twice": func(body []byte, _ int) []byte {
			first := body[:bytes.IndexByte(body, '\n')+1]
			stranger := []byte(`{"custom_id":"f1-x-1-3","result":{"type":"canceled"}}` + "\n\n" + `{"custom_id":"row-1","result":{"type":"expired"}}` + "\n")
			return bytes.Join([][]byte{stranger, body, first, stranger}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{after: 3 * time.Minute}
				d.answer = func(body string) (string, string) { return "", question(body) }
				d.results = func(_ string, n int, body []byte) ([]byte, int) { return cut(body, n), 0 }
				cfg := d.config()
				store := &records{}
				cfg.Store = store
				fleet := newFleet(t, cfg)
				src := newPile(fleet, bodies(300))
				carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
				src.checkAnswers(t)
				if d.billed != 300 {
					t.Errorf("%d rows were bought", d.billed)
				}
				checkBatchRecords(t, store.all())
			})
		})
	}
}

// Rows that no download tells of count as not answered and go again, their
// dollars in doubt, for the batch says that it answered them.
func TestRowsMissingInResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 3 * time.Minute}
		d.results = func(id string, _ int, body []byte) ([]byte, int) {
			if id == "msgbatch_1" {
				return body[bytes.IndexByte(body, '\n')+1:], 0
			}
			return body, 0
		}
		cfg := d.config()
		store := &records{}
		cfg.Store = store
		fleet := newFleet(t, cfg)
		src := newPile(fleet, bodies(100))
		report := carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
		if report.InDoubt != 1 || d.billed != 101 {
			t.Errorf("%d in doubt, %d bought", report.InDoubt, d.billed)
		}
		doubted := 0
		for _, r := range src.got {
			if r.InDoubt > 0 {
				doubted++
				if r.Attempts != 2 {
					t.Errorf("%+v", r)
				}
			}
		}
		if doubted != 1 {
			t.Errorf("%d rows in doubt", doubted)
		}
		checkBatchRecords(t, store.all())
	})
}

// Wire ids say whose a row is.
func TestWireIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 3 * time.Minute}
		fleet := newFleet(t, d.config())
		carry(t, fleet, newPile(fleet, bodies(60)), flotilla.Options{Route: onlyBatches(), Name: "2e08"})
		for _, b := range d.batches {
			intents := map[int64]bool{}
			for _, id := range b.ids {
				row, ok := wire.ParseRowID(id)
				if !ok || row.Job != "2e08" {
					t.Errorf("%q", id)
				}
				intents[row.Intent] = true
			}
			if len(intents) != 1 {
				t.Errorf("%d intents in one batch", len(intents))
			}
		}
	})
}

// A batch that can never be seen again is given up when it must have expired:
// its rows go again, and its dollars stay in doubt.
func TestABatchThatIsNeverSeenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 5 * time.Minute}
		d.get = func(id string, _ int) int { return map[bool]int{true: 404}[id == "msgbatch_1"] }
		book := &daybook{left: -1}
		cfg := d.config()
		cfg.Store = book
		gone, unseen := 0, 0
		var shown atomic.Bool
		var fleet *flotilla.Fleet
		cfg.Notify = func(n flotilla.Notice) {
			switch n.Kind {
			case flotilla.BatchGone:
				gone++
			case flotilla.BatchUnseen:
				unseen++
				if n.Took > 10*time.Minute || n.BatchID != "msgbatch_1" {
					t.Errorf("told of %s after %s", n.BatchID, n.Took)
				}
				go func() {
					s, err := fleet.Snapshot(context.Background())
					shown.Store(err == nil && len(s.Batches) > 0 && s.Batches[0].Unseen)
				}()
			}
		}
		fleet = newFleet(t, cfg)
		src := newPile(fleet, bodies(100))
		report := carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
		if took := report.Ended.Sub(report.Started); took < 25*time.Hour || took > 26*time.Hour {
			t.Errorf("it took %v", took)
		}
		cost := flotilla.Money(0)
		for _, r := range src.got {
			cost += r.Cost
		}
		state := book.standing(t)
		if unseen != 1 || !shown.Load() {
			t.Errorf("told %d times that it is not found, shown %v", unseen, shown.Load())
		}
		if gone != 1 || len(state.open) > 0 || state.spent <= cost {
			t.Errorf("%d given up, open %+v, %v spent, %v of it on answers", gone, state.open, state.spent, cost)
		}
	})
}
