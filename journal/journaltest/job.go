package journaltest

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

func goesOn(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 3))
	id := job.Number()
	add(t, b, Intent(id, 0, 1, 500), Intent(id, 1, 2, 500), Settled(id, 0, 1, "succeeded", 200))
	end(t, job, journal.Stopped)

	again := begin(t, b, Spec("a", 3))
	if resumed, left := again.Begun(); !resumed || left != journal.Stopped || again.Number() != id || again.Name() != job.Name() {
		t.Errorf("resumed %v, left %q, job %d %s; want job %d %s resumed, stopped", resumed, left, again.Number(), again.Name(), id, job.Name())
	}
	st := state(t, again)
	if st.Outcome(0) != journal.Succeeded || st.Outcome(1) != journal.Pending || st.Outcome(2) != journal.Pending {
		t.Errorf("outcomes %v %v %v", st.Outcome(0), st.Outcome(1), st.Outcome(2))
	}
	if st.InDoubt(0) || !st.InDoubt(1) || st.InDoubt(2) || st.Doubts != 1 {
		t.Errorf("in doubt %v %v %v, %d doubts; want row 1 alone", st.InDoubt(0), st.InDoubt(1), st.InDoubt(2), st.Doubts)
	}
	all := answers(t, again, 0)
	if len(all) != 1 || string(all[0].Body) != `{"id":"msg_0_1"}` || !st.Stands(&all[0]) || st.At(0) != all[0].ID || st.At(1) != 0 {
		t.Errorf("answers %+v", all)
	}
}

func otherJob(t *testing.T, b Book) {
	one, two := begin(t, b, Spec("a", 1)), begin(t, b, Spec("b", 1))
	if one.Number() == two.Number() || one.Name() == two.Name() {
		t.Errorf("both are job %d %s", one.Number(), one.Name())
	}
	add(t, b, Intent(one.Number(), 0, 1, 5), Settled(one.Number(), 0, 1, "succeeded", 5))
	if st := state(t, two); st.Counts[journal.Succeeded] != 0 || st.Spent != 0 {
		t.Errorf("the other job has %v, %v", st.Counts, st.Spent)
	}
}

func fresh(t *testing.T, b Book) {
	spec := Spec("a", 1)
	first := begin(t, b, spec)
	end(t, first, journal.Stopped)
	spec.Fresh = true
	second := begin(t, b, spec)
	if second.Number() != first.Number() {
		t.Error("an unfinished job did not go on")
	}
	end(t, second, journal.Finished)
	third := begin(t, b, spec)
	if third.Number() == first.Number() || third.Name() == first.Name() {
		t.Errorf("a finished job went on: %d %s", third.Number(), third.Name())
	}
	if !strings.HasPrefix(third.Name(), first.Name()) {
		t.Errorf("ids %s and %s of one identity do not begin alike", first.Name(), third.Name())
	}
}

func oneHolder(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 1))
	_, err := b.Begin(t.Context(), Spec("a", 1))
	var held *journal.HeldError
	if !errors.As(err, &held) || held.PID != os.Getpid() || held.Job != job.Name() || held.Since.IsZero() {
		t.Errorf("beginning a held job: %v", err)
	}
	end(t, job, journal.Stopped)
	begin(t, b, Spec("a", 1))
}

func everyField(t *testing.T, b Book) {
	spec := Spec("a", 2)
	spec.Emulated = "steady/1"
	job := begin(t, b, spec)
	r := Settled(job.Number(), 1, 7, "errored", 3)
	r.Nth, r.Status, r.Attempts, r.Cost, r.Emulated, r.StopReason = 2, 529, 3, 9, "steady/1", "refusal"
	r.Answer = []byte("{\"type\":\"error\",\"text\":\"\u2028 \\u0000 \xff\"}")
	add(t, b, r)
	got := answers(t, job, 0)[0]
	want := journal.Answer{
		ID: got.ID, Row: 1, Type: journal.Errored, Body: r.Answer, Org: "high", Pool: "sonnet-4", Tier: "sync", Model: "claude-sonnet-4-6",
		At: r.At, Cost: 9, Attempts: 3, Latency: 812 * time.Millisecond, Status: 529, StopReason: "refusal", Emulated: "steady/1",
		Hash: Hash(1), Nth: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	one, err := b.Answer(t.Context(), got.ID)
	if diff := cmp.Diff(want, one); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func settleOrder(t *testing.T, b Book) {
	// Three pages of answers, in an order that is not the rows'.
	const n = 1300
	job := begin(t, b, Spec("a", n))
	var records []flotilla.Record
	for i := range n {
		records = append(records, Settled(job.Number(), (i*7)%n, int64(i+1), "succeeded", 1))
	}
	add(t, b, records...)
	all := answers(t, job, 0)
	if len(all) != n {
		t.Fatalf("%d answers of %d", len(all), n)
	}
	for i, a := range all {
		if a.Row != (i*7)%n {
			t.Fatalf("answer %d is of row %d, want %d", i, a.Row, (i*7)%n)
		}
	}
	if rest := answers(t, job, all[n-11].ID); len(rest) != 10 || rest[0].ID != all[n-10].ID {
		t.Errorf("%d answers after the last but ten", len(rest))
	}
	// The journal can be used inside the loop.
	for a, err := range job.Answers(t.Context(), all[n-2].ID) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Answer(t.Context(), a.ID); err != nil {
			t.Fatal(err)
		}
		add(t, b, Ended(job.Number(), a.Row, 5000, 0, false))
	}
}

func retried(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 1))
	add(t, b, Settled(job.Number(), 0, 1, "errored", 0), Settled(job.Number(), 0, 2, "succeeded", 4))
	st := state(t, job)
	all := answers(t, job, 0)
	if st.Outcome(0) != journal.Succeeded || st.Counts[journal.Errored] != 0 || st.Counts[journal.Succeeded] != 1 {
		t.Errorf("the row is %v, counts %v", st.Outcome(0), st.Counts)
	}
	if len(all) != 2 || st.Stands(&all[0]) || !st.Stands(&all[1]) {
		t.Errorf("of %d answers the last does not stand alone", len(all))
	}
	if st.Stop(0) != "end_turn" || !slices.Equal(st.Superseded(), []int64{all[0].ID}) {
		t.Errorf("stop %q, superseded %v", st.Stop(0), st.Superseded())
	}
}

// ownFailures: an attempt counts against a row only if other rows succeeded on
// its lane meanwhile (interface.md, Output).
func ownFailures(t *testing.T, b Book) {
	failures := []struct {
		status  int
		doubt   bool
		beside  bool // another row succeeded on the lane meanwhile
		counted int
	}{
		{0, true, false, 0},    // a timeout while nobody got through
		{0, true, true, 1},     // a timeout
		{504, true, true, 1},   // perhaps answered
		{500, false, true, 1},  // a server error
		{500, false, false, 0}, // an outage
		{409, false, true, 1},
		{429, false, true, 0}, // the lane's
		{529, false, true, 0},
		{0, false, true, 0}, // no connection was had
	}
	n := len(failures)
	job := begin(t, b, Spec("a", n+1))
	id := job.Number()
	for row, f := range failures {
		attempt := int64(10 * row)
		failed := Ended(id, row, attempt+1, 9, f.doubt)
		failed.Status = f.status
		add(t, b, Intent(id, row, attempt+1, 9))
		if f.beside {
			add(t, b, Intent(id, n, attempt+2, 9), Settled(id, n, attempt+2, "succeeded", 4))
		}
		add(t, b, failed)
	}
	st := state(t, job)
	for row, f := range failures {
		if got := st.Failed(row); got != f.counted {
			t.Errorf("%+v: %d failures of its own", f, got)
		}
	}
	add(t, b, Settled(id, 1, 9, "errored", 0))
	if n := state(t, job).Failed(1); n != 0 {
		t.Errorf("%d failures after settling, want them forgiven", n)
	}
}

func refusedWhole(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 2))
	id := job.Number()
	add(t, b, Intent(id, 0, 1, 50))
	if err := b.Append([]flotilla.Record{Settled(id, 0, 1, "succeeded", 20), Settled(id, 1, 2, "perhaps", 20)}); err == nil {
		t.Fatal("a record of unknown outcome was taken")
	}
	if err := b.Append([]flotilla.Record{Intent(id+100, 0, 3, 1)}); err == nil {
		t.Fatal("a record of a job never begun was taken")
	}
	if st := state(t, job); st.Spent != 50 || st.Counts[journal.Pending] != 2 {
		t.Errorf("%v spent, counts %v; want nothing of the refused records", st.Spent, st.Counts)
	}
	add(t, b, Settled(id, 0, 1, "succeeded", 20))
	if spent, err := job.Spent(t.Context()); spent != 20 || err != nil {
		t.Errorf("%v spent, %v; want 20: the intent was still open", spent, err)
	}
}

func outOffset(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 1))
	if n, err := job.Out(t.Context(), "/w/out.jsonl"); n != 0 || err != nil {
		t.Errorf("a new OUT is durable to %d, %v", n, err)
	}
	job.Wrote(4711)
	end(t, job, journal.Stopped)
	again := begin(t, b, Spec("a", 1))
	if n, err := again.Out(t.Context(), "/w/out.jsonl"); n != 4711 || err != nil {
		t.Errorf("durable to %d, %v; want 4711", n, err)
	}
	again.Wrote(5000)
	add(t, b, Settled(again.Number(), 0, 1, "succeeded", 1))
	info, err := b.Find(t.Context(), again.Name())
	if diff := cmp.Diff([]journal.Out{{Path: "/w/out.jsonl", Durable: 5000}}, info.Outs); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if n, err := again.Out(t.Context(), "/w/other.jsonl"); n != 0 || err != nil {
		t.Errorf("another OUT is durable to %d, %v", n, err)
	}
}
