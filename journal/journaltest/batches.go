package journaltest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

func batchKeepsJob(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 3))
	id := job.Number()
	add(t, b, Sent(id, 1, 300, 0, 1, 2), Carried(id, 1, 0, "succeeded", 100, 10))
	end(t, job, journal.Stopped)
	var open *journal.OpenBatchesError
	if err := b.Remove(t.Context(), id); !errors.As(err, &open) || open.Job != job.Name() || open.Batches != 1 || open.Rows != 2 {
		t.Errorf("removing a job with an open batch: %v", err)
	}
	if n, err := b.Prune(t.Context(), time.Now().AddDate(100, 0, 0)); n != 0 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	if info, err := b.Find(t.Context(), job.Name()); err != nil || info.Batches != 1 || info.Spent != 210 {
		t.Errorf("%+v, %v", info, err)
	}
	if err := b.Abandon(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if spent, err := b.SpentOn(t.Context(), Noon); spent != 210 || err != nil {
		t.Errorf("%v spent on the day, %v; want 210: the batch may still cost", spent, err)
	}
	if left, err := b.OpenBatches(t.Context()); len(left) != 0 || err != nil {
		t.Errorf("open %+v, %v", left, err)
	}
}

func batchesListed(t *testing.T, b Book) {
	one, two := begin(t, b, Spec("a", 3)), begin(t, b, Spec("b", 3))
	add(t, b, Sent(one.Number(), 1, 300, 0, 1), Sent(one.Number(), 2, 50, 2), Sent(two.Number(), 1, 70, 0, 2))
	add(t, b, Step(one.Number(), 1, flotilla.BatchMade), Step(one.Number(), 2, flotilla.BatchClosed), Carried(two.Number(), 1, 2, "errored", 40, 0))
	end(t, one, journal.Stopped)
	got, err := b.OpenBatches(t.Context())
	realm := journal.Realm{Provider: Spec("a", 3).Provider}
	want := []journal.BatchInfo{
		{
			Job: one.Number(), Key: one.Name(), Realm: realm, Number: 1, ID: "msgbatch_1", Org: "high", OrgID: "org-1", Pool: "sonnet-4",
			Rows: 2, Sent: 2, Bytes: 4711, At: Noon, Worst: 300,
		},
		{
			Job: two.Number(), Key: two.Name(), Realm: realm, Number: 1, Org: "high", OrgID: "org-1", Pool: "sonnet-4",
			Rows: 1, Sent: 2, Bytes: 4711, At: Noon, Worst: 30, Held: true,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func turnarounds(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 9))
	id := job.Number()
	said := Step(id, 2, flotilla.BatchClosed)
	said.Latency = 5 * time.Minute
	add(t, b, Sent(id, 1, 9, 0, 1), Sent(id, 2, 9, 2), Sent(id, 3, 9, 3), Sent(id, 4, 9, 4), Sent(id, 5, 9, 5))
	add(t, b, Step(id, 1, flotilla.BatchMade), Step(id, 2, flotilla.BatchMade), Step(id, 4, flotilla.BatchMade), Step(id, 5, flotilla.BatchMade))
	add(
		t, b, Carried(id, 1, 0, "succeeded", 1, 1), Carried(id, 1, 1, "errored", 1, 0), Step(id, 2, flotilla.BatchCanceling), said,
		Step(id, 3, flotilla.BatchClosed), // never made
		Step(id, 4, flotilla.BatchLost),   // 5 goes on
	)
	made := Noon.Add(time.Minute)
	want := []journal.Turnaround{
		{Pool: "sonnet-4", Rows: 2, Succeeded: 1, Made: made, Took: 59 * time.Minute},
		{Pool: "sonnet-4", Rows: 1, Made: made, Took: 5 * time.Minute, Canceled: true},
	}
	realm := journal.Realm{Provider: Spec("a", 9).Provider}
	got, err := b.Turnarounds(t.Context(), realm, "high", 10)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got, err := b.Turnarounds(t.Context(), realm, "high", 1); err != nil || len(got) != 1 || got[0].Rows != 1 {
		t.Errorf("the last is %+v, %v", got, err)
	}
	for realm, org := range map[journal.Realm]string{realm: "low", {Provider: "elsewhere"}: "high"} {
		if got, err := b.Turnarounds(t.Context(), realm, org, 10); err != nil || len(got) != 0 {
			t.Errorf("%s at %v: %+v, %v", org, realm, got, err)
		}
	}
}

func outputs(t *testing.T, b Book) {
	const n = 200
	spec := Spec("a", n)
	spec.Template = 1 << 63
	job := begin(t, b, spec)
	var records []flotilla.Record
	for row := range n { // 1 to 200 tokens
		r := Settled(job.Number(), row, int64(row+1), "succeeded", 1)
		r.Out = int64(row) + 1
		records = append(records, r)
	}
	records = append(records, Settled(job.Number(), 0, 500, "errored", 0))
	add(t, b, records...)
	end(t, job, journal.Finished)

	other := Spec("b", n)
	other.Template = spec.Template
	later := begin(t, b, other)
	found, err := later.Cached(t.Context(), 1, keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := later.Adopt(t.Context(), []journal.Adoption{{Row: 0, Answer: found[0]}}); err != nil { // counts once
		t.Fatal(err)
	}
	got, mean, p95, err := later.OutStats(t.Context(), "claude-sonnet-4-6")
	if err != nil || got != n || mean != 100.5 || p95 != 190 {
		t.Errorf("%d answers of %v tokens, %v at p95, %v; want 200 of 100.5, 190", got, mean, p95, err)
	}
	if got, _, _, err := later.OutStats(t.Context(), "claude-haiku-4-5"); got != 0 || err != nil {
		t.Errorf("another model has %d, %v", got, err)
	}
	emulated := other
	emulated.Emulated = "default/1"
	plain := Spec("c", n)
	for name, spec := range map[string]journal.JobSpec{"an emulator": emulated, "a job without a template": plain} {
		if got, _, _, err := begin(t, b, spec).OutStats(t.Context(), "claude-sonnet-4-6"); got != 0 || err != nil {
			t.Errorf("%s has %d, %v", name, got, err)
		}
	}
}

// peeked: who only looks sees what Begin would, and neither takes the job nor
// makes one.
func peeked(t *testing.T, b Book) {
	spec := Spec("a", 3)
	look, found, err := b.Peek(t.Context(), spec)
	if err != nil || found || look.Number() != 0 {
		t.Fatalf("found %v in an empty journal, %v", found, err)
	}
	if st := state(t, look); st.Counts[journal.Pending] != 3 || st.Spent != 0 || len(batches(t, look)) != 0 {
		t.Errorf("a job that is not there has %v, %v", st.Counts, st.Spent)
	}
	job := begin(t, b, spec)
	id := job.Number()
	add(t, b, Sent(id, 1, 300, 1, 2), Settled(id, 0, 1, "succeeded", 7))
	look, found, err = b.Peek(t.Context(), spec) // although a live process has it
	if resumed, left := look.Begun(); err != nil || !found || look.Number() != id || look.Name() != job.Name() || !resumed || left != journal.Running {
		t.Fatalf("found %v, job %d, %v", found, look.Number(), err)
	}
	if st := state(t, look); st.Spent != 307 || !st.InBatch(1) || len(batches(t, look)) != 1 {
		t.Errorf("%v spent, %d batches", st.Spent, len(batches(t, look)))
	}
	if err := look.End(t.Context(), journal.Finished, nil); err == nil {
		t.Error("who only looked ended the job")
	}
	if err := look.Adopt(t.Context(), []journal.Adoption{{}}); err == nil {
		t.Error("who only looked settled a row")
	}
	end(t, job, journal.Finished)
	spec.Fresh = true
	if look, found, err := b.Peek(t.Context(), spec); err != nil || found || look.Number() != 0 {
		t.Errorf("a fresh job was found: %v, %d, %v", found, look.Number(), err)
	} else if cached, err := look.Cached(t.Context(), 1, keys); err != nil || cached[0] == 0 {
		t.Errorf("it finds %v in the cache, %v", cached, err)
	}
	if jobs, err := b.Jobs(t.Context(), time.Time{}); err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs, %v; want the one begun", len(jobs), err)
	}
}
