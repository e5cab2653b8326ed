package journaltest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

func pruned(t *testing.T, b Book) {
	ended, going := begin(t, b, Spec("a", 1)), begin(t, b, Spec("b", 1))
	end(t, ended, journal.Finished)
	far := time.Now().AddDate(100, 0, 0)
	if n, err := b.Prune(t.Context(), time.Now().AddDate(-1, 0, 0)); n != 0 || err != nil {
		t.Errorf("pruned %d, %v of the last year", n, err)
	}
	if n, err := b.Prune(t.Context(), far); n != 1 || err != nil {
		t.Errorf("pruned %d, %v, want the ended job", n, err)
	}
	jobs, err := b.Jobs(t.Context(), time.Time{})
	if err != nil || len(jobs) != 1 || jobs[0].ID != going.Number() {
		t.Errorf("jobs %+v, %v", jobs, err)
	}
}

func dayTokens(t *testing.T, b Book) {
	spec := Spec("a", 4)
	job := begin(t, b, spec)
	realm := journal.Realm{Provider: spec.Provider}
	at := time.Date(2026, 11, 30, 12, 3, 0, 0, time.UTC)
	var records []flotilla.Record
	for i, age := range []time.Duration{25 * time.Hour, 23 * time.Hour, 2 * time.Minute, 0} {
		r := Settled(job.Number(), i, int64(i+1), "succeeded", 1)
		r.At = at.Add(-age)
		records = append(records, r)
	}
	add(t, b, records...)
	uses, err := b.DayUse(t.Context(), realm, "high", "sonnet-4", at)
	want := []journal.Use{{Start: at.Add(-23*time.Hour - 3*time.Minute), Tokens: 120}, {Start: at.Add(-3 * time.Minute), Tokens: 240}}
	if diff := cmp.Diff(want, uses); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, other := range []struct {
		realm     journal.Realm
		org, pool string
	}{{realm, "low", "sonnet-4"}, {realm, "high", "opus-4"}, {journal.Realm{Provider: spec.Provider, Emulated: "default/1"}, "high", "sonnet-4"}} {
		if uses, err := b.DayUse(t.Context(), other.realm, other.org, other.pool, at); len(uses) != 0 || err != nil {
			t.Errorf("%v has used %v, %v", other, uses, err)
		}
	}
}

func hints(t *testing.T, b Book) {
	realm := journal.Realm{Provider: "https://api.anthropic.com:443"}
	for _, v := range []float64{40, 62.5} {
		if err := b.Note(t.Context(), realm, "high/sonnet-4/sync", "window", v, Noon); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.Hints(t.Context(), realm, "high/sonnet-4/sync")
	if diff := cmp.Diff(map[string]journal.Hint{"window": {Value: 62.5, At: Noon}}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if other, err := b.Hints(t.Context(), journal.Realm{}, "high/sonnet-4/sync"); len(other) != 0 || err != nil {
		t.Errorf("another realm has %v, %v", other, err)
	}
}

func signals(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 1))
	for _, s := range []journal.Signal{journal.Go, journal.Pause, journal.Cancel} {
		if s != journal.Go {
			if err := b.Signal(t.Context(), job.Number(), s); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := job.Signal(t.Context()); got != s || err != nil {
			t.Errorf("signal %v, %v; want %v", got, err, s)
		}
	}
	end(t, job, journal.Stopped)
	again := begin(t, b, Spec("a", 1))
	if got, err := again.Signal(t.Context()); got != journal.Go || err != nil {
		t.Errorf("a cancel outlived its run: %v, %v", got, err)
	}
	if err := b.Signal(t.Context(), 999, journal.Pause); err == nil {
		t.Error("a job that is not there was paused")
	}
}

func listed(t *testing.T, b Book) {
	spec := Spec("a", 2)
	job := begin(t, b, spec)
	add(t, b, Intent(job.Number(), 0, 1, 9), Settled(job.Number(), 0, 1, "succeeded", 4))
	running, err := b.Find(t.Context(), job.Name())
	if err != nil || running.State != journal.Running || running.Holder == nil || running.Spent != 4 {
		t.Errorf("running: %+v, %v", running, err)
	}
	if err := job.End(t.Context(), journal.Stopped, map[string]int{"n": 2}); err != nil {
		t.Fatal(err)
	}
	end(t, begin(t, b, spec), journal.Finished) // totals stay
	got, err := b.Find(t.Context(), job.Name()[:2])
	if err != nil {
		t.Fatal(err)
	}
	want := journal.JobInfo{
		ID: job.Number(), Key: job.Name(), Identity: spec.Identity, Realm: journal.Realm{Provider: spec.Provider}, Kind: journal.KindRun, Command: "flotilla run a",
		Inputs: []string{"a"}, N: 2, Created: got.Created, Ended: got.Ended, State: journal.Finished, Totals: json.RawMessage(`{"n":2}`), Spent: 4, Runs: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" || got.Ended.IsZero() || got.Created.IsZero() {
		t.Error(diff)
	}
	begin(t, b, Spec("a2", 1))
	jobs, err := b.Jobs(t.Context(), time.Time{})
	if err != nil || len(jobs) != 2 || jobs[1].ID != job.Number() {
		t.Errorf("%d jobs, %v; want two, the newest first", len(jobs), err)
	}
	for prefix, n := range map[string]int{"61": 2, "ff": 0} { // "a" in hex begins both
		var none *journal.NoJobError
		if _, err := b.Find(t.Context(), prefix); !errors.As(err, &none) || none.Matches != n {
			t.Errorf("find %q: %v, want %d matches", prefix, err, n)
		}
	}
}

func loneLease(t *testing.T, b Book) {
	most := 0 // what nobody else wants stays where it is
	for _, want := range []int{0, 70, 100, 300, 20} {
		most = max(most, min(want, 100))
		s, err := b.Lease(t.Context(), "high/sonnet", 100, want, time.Minute)
		if err != nil || s.Peers != 0 || s.Target != most || s.Held != most {
			t.Errorf("wanting %d: %+v, %v", want, s, err)
		}
	}
	if err := b.Release(t.Context(), "high/sonnet", 20); err != nil {
		t.Fatal(err)
	}
	if s, err := b.Lease(t.Context(), "high/sonnet", 100, 20, time.Minute); err != nil || s != (journal.Share{Held: 20, Target: 20}) {
		t.Errorf("after the release: %+v, %v", s, err)
	}
	if s, err := b.Lease(t.Context(), "low/sonnet", 40, 100, time.Minute); err != nil || s.Held != 40 {
		t.Errorf("another pot: %+v, %v", s, err)
	}
}
