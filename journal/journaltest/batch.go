package journaltest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

func batches(t testing.TB, job Job) []flotilla.OpenBatch {
	t.Helper()
	open, err := job.Batches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return open
}

// sound holds a job's sums to its records.
func sound(t testing.TB, b Book, job Job) {
	t.Helper()
	a, err := b.Audit(t.Context(), job.Number(), nil)
	if err != nil || a.Booked != a.Counted || len(a.Adrift) > 0 {
		t.Errorf("audit: booked %v, counted %v, adrift %v, %v", a.Booked, a.Counted, a.Adrift, err)
	}
}

func batchGoesOn(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 6))
	id := job.Number()
	add(t, b, Sent(id, 77, 500, 5, 3, 4, 1))
	add(t, b, Step(id, 77, flotilla.BatchMade))
	add(t, b, Carried(id, 77, 4, "succeeded", 100, 30), Back(id, 77, 1, 150, 0, false))
	end(t, job, journal.Stopped)

	again := begin(t, b, Spec("a", 6))
	want := []flotilla.OpenBatch{{
		Number: 77, ID: "msgbatch_77", Org: "high", OrgID: "org-1", Pool: "sonnet-4", Rows: []int{3, 5}, Sent: 4, Bytes: 4711, Worst: 250, At: Noon, Earlier: true,
	}}
	if diff := cmp.Diff(want, batches(t, again)); diff != "" {
		t.Error(diff)
	}
	st := state(t, again)
	for row := range 6 {
		if in := row == 3 || row == 5; st.InBatch(row) != in || st.InDoubt(row) {
			t.Errorf("row %d: in a batch %v, in doubt %v", row, st.InBatch(row), st.InDoubt(row))
		}
	}
	if st.Spent != 280 || st.Held != 250 || st.Batches != 1 || st.Doubts != 0 || st.Outcome(4) != journal.Succeeded || st.Outcome(3) != journal.Pending {
		t.Errorf("%v spent, %v held for %d batches, %d doubts, rows %v", st.Spent, st.Held, st.Batches, st.Doubts, st.Counts)
	}
	sound(t, b, again)

	sure := Step(id, 77, flotilla.BatchMade)
	sure.Sure = true
	add(t, b, sure, Step(id, 77, flotilla.BatchCanceling))
	if open := batches(t, again); !open[0].Sure || !open[0].Canceling || open[0].ID != "msgbatch_77" {
		t.Errorf("%+v", open)
	}
	// The row that comes last closes it; that it is said again changes nothing.
	add(t, b, Carried(id, 77, 3, "errored", 100, 0), Carried(id, 77, 5, "succeeded", 100, 20))
	if st := state(t, again); st.Spent != 50 || st.Held != 0 || st.Batches != 0 || st.InBatch(5) || len(batches(t, again)) != 0 {
		t.Errorf("%v spent, %v held for %d batches", st.Spent, st.Held, st.Batches)
	}
	add(t, b, Step(id, 77, flotilla.BatchClosed))
	if spent, err := again.Spent(t.Context()); spent != 50 || err != nil {
		t.Errorf("%v spent, %v; want 50", spent, err)
	}
	sound(t, b, again)
}

func batchReleased(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 3))
	add(t, b, Sent(job.Number(), 1, 900, 0, 1, 2))
	add(t, b, Step(job.Number(), 1, flotilla.BatchClosed))
	st := state(t, job)
	if st.Spent != 0 || st.Held != 0 || st.Counts[journal.Pending] != 3 || st.InBatch(0) || len(batches(t, job)) != 0 {
		t.Errorf("%v spent, %v held, rows %v", st.Spent, st.Held, st.Counts)
	}
	sound(t, b, job)
}

func batchLost(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 4))
	id := job.Number()
	add(t, b, Sent(id, 9, 1000, 0, 1, 2, 3), Carried(id, 9, 2, "succeeded", 250, 10), Step(id, 9, flotilla.BatchLost))
	st := state(t, job)
	if st.Spent != 760 || st.Doubt != 750 || st.Doubts != 3 || st.Held != 0 || st.Batches != 0 {
		t.Errorf("%v spent, %v in %d doubts, %v held", st.Spent, st.Doubt, st.Doubts, st.Held)
	}
	for row := range 4 {
		if st.InDoubt(row) != (row != 2) || st.InBatch(row) || st.Failed(row) != 0 {
			t.Errorf("row %d: in doubt %v, in a batch %v, failed %d", row, st.InDoubt(row), st.InBatch(row), st.Failed(row))
		}
	}
	a, err := b.Audit(t.Context(), id, nil)
	if err != nil || len(a.Doubts) != 3 || a.Doubts[0].Batch != 9 || a.Doubts[0].Attempt != 0 || a.Doubts[0].Org != "high" {
		t.Errorf("audit %+v, %v", a, err)
	}
	sound(t, b, job)
	if c, err := b.ClearDoubt(t.Context(), id); err != nil || c.Money != 750 || c.Attempts != 3 {
		t.Errorf("cleared %+v, %v", c, err)
	}
	if spent, _ := job.Spent(t.Context()); spent != 10 {
		t.Errorf("%v spent after clearing, want 10", spent)
	}
	sound(t, b, job)
}

// batchTwice: results that are told again, or rows that were never in the
// batch, take nothing of its reserve and do not close it.
func batchTwice(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 9))
	id := job.Number()
	add(t, b, Sent(id, 9, 300, 0, 1, 2), Back(id, 9, 1, 100, 0, false))
	add(t, b, Back(id, 9, 1, 100, 0, false), Back(id, 9, 8, 100, 0, false))
	end(t, job, journal.Stopped)
	again := begin(t, b, Spec("a", 9))
	add(t, b, Back(id, 9, 1, 100, 0, false))
	if open := batches(t, again); len(open) != 1 || !slices.Equal(open[0].Rows, []int{0, 2}) || open[0].Worst != 200 {
		t.Errorf("%+v, want rows 0 and 2 with 200 reserved", open)
	}
	sound(t, b, again)
}

// batchFailures: who sends batches knows whether a row's failure was its own,
// and says so by the status of an error.
func batchFailures(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 5))
	id := job.Number()
	add(t, b, Sent(id, 9, 500, 0, 1, 2, 3, 4))
	statuses := []int{0, 500, 529, 409}
	for row, status := range statuses {
		r := Back(id, 9, row, 100, 0, false)
		r.Status = status
		add(t, b, r)
	}
	st := state(t, job)
	for row, want := range []int{0, 1, 0, 1, 0} {
		if st.Failed(row) != want {
			t.Errorf("row %d failed %d times of its own, want %d", row, st.Failed(row), want)
		}
	}
}

func batchRefused(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 3))
	id := job.Number()
	add(t, b, Sent(id, 1, 300, 0, 1, 2))
	for name, records := range map[string][]flotilla.Record{
		"a step without an intent":   {Carried(id, 1, 0, "succeeded", 100, 10), Step(id, 2, flotilla.BatchMade)},
		"a row without an intent":    {Carried(id, 1, 0, "succeeded", 100, 10), Carried(id, 2, 1, "succeeded", 100, 10)},
		"an intent twice":            {Carried(id, 1, 0, "succeeded", 100, 10), Sent(id, 1, 300, 0)},
		"an intent without a number": {Sent(id, 0, 100, 1)},
		"an unknown step":            {Sent(id, 3, 100, 1), Step(id, 3, 99)},
	} {
		if err := b.Append(records); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	st := state(t, job)
	if open := batches(t, job); st.Spent != 300 || len(open) != 1 || len(open[0].Rows) != 3 {
		t.Errorf("%v spent, %+v; want nothing of what was refused", st.Spent, open)
	}
	add(t, b, Carried(id, 1, 0, "succeeded", 100, 10))
	if st := state(t, job); st.Spent != 210 {
		t.Errorf("%v spent, want 210", st.Spent)
	}
	sound(t, b, job)
}

// clientDay checks the two parts of what a client has of a day.
func clientDay(t *testing.T, b Book, at time.Time, spent flotilla.Money, held ...flotilla.HeldBatch) {
	t.Helper()
	got, open, err := b.DayOf(t.Context(), "ada", at)
	if diff := cmp.Diff(held, open); got != spent || diff != "" || err != nil {
		t.Errorf("%v spent, want %v; %v\n%s", got, spent, err, diff)
	}
	if all, err := b.SpentBy(t.Context(), "ada", at); err != nil || all < spent {
		t.Errorf("%v in all, %v", all, err)
	}
}

func batchOfClientsDay(t *testing.T, b Book) {
	spec := Spec("a", 4)
	spec.Kind, spec.Client = journal.KindBatch, "ada"
	job := begin(t, b, spec)
	id := job.Number()
	other := begin(t, b, Spec("b", 2))
	add(t, b, Sent(other.Number(), 9, 1000, 0, 1))
	clientDay(t, b, Noon, 0)
	early := Sent(id, 8, 50, 3)
	early.At = Noon.AddDate(0, 0, -1)
	add(t, b, early, Sent(id, 9, 300, 0, 1, 2))
	clientDay(t, b, Noon, 0, flotilla.HeldBatch{Job: id, Number: 9, Worst: 300})
	if open := batches(t, job); len(open) != 2 || open[0].Earlier || open[1].Earlier {
		t.Errorf("%+v", open)
	}
	add(t, b, Carried(id, 9, 0, "succeeded", 100, 30))
	end(t, job, journal.Stopped)
	clientDay(t, b, Noon, 30, flotilla.HeldBatch{Job: id, Number: 9, Worst: 200})
	job = begin(t, b, spec)
	add(t, b, Carried(id, 9, 1, "succeeded", 100, 40))
	clientDay(t, b, Noon, 70, flotilla.HeldBatch{Job: id, Number: 9, Worst: 100})
	add(t, b, Step(id, 9, flotilla.BatchLost))
	clientDay(t, b, Noon, 170)
	clientDay(t, b, early.At, 0, flotilla.HeldBatch{Job: id, Number: 8, Worst: 50})
	sound(t, b, job)
}

func batchMidnight(t *testing.T, b Book) {
	before := time.Date(2026, 11, 30, 23, 59, 59, 0, time.Local)
	after := before.Add(2 * time.Second)
	job := begin(t, b, Spec("a", 2))
	id := job.Number()
	sent := Sent(id, 9, 200, 0, 1)
	sent.At = before
	add(t, b, sent)
	end(t, job, journal.Stopped)
	again := begin(t, b, Spec("a", 2))
	if got, err := b.Grant(t.Context(), id, before, 50, 1000); err != nil || got.Used != 250 || got.Own != 0 {
		t.Errorf("granted %+v, %v; want the batch's 200 used beside", got, err)
	}
	settled := Carried(id, 9, 0, "succeeded", 100, 30)
	settled.At = after
	add(t, b, settled)
	for at, want := range map[time.Time]flotilla.Money{before: 130, after: 0} {
		if spent, err := b.SpentOn(t.Context(), at); spent != want || err != nil {
			t.Errorf("%v spent on %s, %v; want %v", spent, at.Format(time.DateOnly), err, want)
		}
	}
	sound(t, b, again)
}
