package flotilla_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// begin takes a job of a journal up, and the pile as it finds it.
func begin(t *testing.T, j *journal.Journal, fleet *flotilla.Fleet, all [][]byte) (*journal.Job, *pile, []flotilla.OpenBatch) {
	t.Helper()
	job, err := j.Begin(t.Context(), journal.JobSpec{Identity: [32]byte{1}, Provider: "http://desk:80", N: len(all)})
	if err != nil {
		t.Fatal(err)
	}
	state, err := job.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open, err := job.Batches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	src := newPile(fleet, all)
	src.kept = map[int]bool{}
	for row := range all {
		if state.Outcome(row) != journal.Pending {
			src.where[row] = settled
		}
		if state.InBatch(row) {
			src.kept[row] = true
		}
		src.rows[row].Failed, src.rows[row].InDoubt = state.Failed(row), state.InDoubt(row)
	}
	return job, src, open
}

// What a fleet records of its batches is what a journal takes, and what the
// journal tells of them is what the next fleet takes over.
func TestBatchesThroughTheJournal(t *testing.T) {
	path := t.TempDir() + "/journal.db"
	synctest.Test(t, func(t *testing.T) {
		all := bodies(300)
		turns := map[string]int{}
		d := &desk{after: 5 * time.Minute, create: func(n int) (int, bool) { return 0, n == 2 }}
		d.answer = func(body string) (string, string) {
			turns[body]++
			if turns[body] == 1 && strings.Contains(body, "7 and") {
				return "api_error", ""
			}
			return "", question(body)
		}
		for _, limit := range []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute, 3 * time.Minute} {
			if cause := d.spell(t, path, all, limit); cause != flotilla.Interrupted {
				t.Fatalf("%v after %v", cause, limit)
			}
		}
		if cause := d.spell(t, path, all, 24*time.Hour); cause != flotilla.Finished {
			t.Errorf("%v", cause)
		}
		if d.billed != len(all) {
			t.Errorf("%d rows were bought", d.billed)
		}
	})
}

// spell carries a job of the journal for so long.
func (d *desk) spell(t *testing.T, path string, all [][]byte, limit time.Duration) flotilla.Cause {
	j, err := journal.Open(t.Context(), path, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := d.config()
	cfg.Store = j
	fleet := open(t, cfg)
	job, src, batches := begin(t, j, fleet, all)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	report, err := fleet.Carry(ctx, src, flotilla.Options{
		Route: onlyBatches(), N: len(all), Name: "j", Job: job.ID, Batches: batches,
	})
	if err != nil {
		t.Fatal(err)
	}
	src.check(t)
	if err := fleet.Close(); err != nil {
		t.Error(err)
	}
	audit, err := j.Audit(t.Context(), job.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if audit.Booked != audit.Counted || len(audit.Adrift)+len(audit.Doubled)+len(audit.Doubts) > 0 {
		t.Errorf("%+v", audit)
	}
	state, err := job.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if finished := report.Cause == flotilla.Finished; finished && (state.Batches != 0 || state.Held != 0 || state.Counts[journal.Succeeded] != len(all)) {
		t.Errorf("%+v", state.Counts)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	return report.Cause
}
