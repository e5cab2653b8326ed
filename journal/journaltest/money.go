package journaltest

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

func spentOver(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 3))
	id := job.Number()
	add(t, b, Intent(id, 0, 1, 500), Intent(id, 1, 2, 500))
	if spent, _ := job.Spent(t.Context()); spent != 1000 {
		t.Errorf("two open intents count %v, want 1000", spent)
	}
	// A refusal frees, a doubt stays, an answer costs what it says.
	add(t, b, Ended(id, 0, 1, 0, false), Ended(id, 1, 2, 500, true), Intent(id, 1, 3, 500), Settled(id, 1, 3, "succeeded", 77))
	if spent, _ := job.Spent(t.Context()); spent != 577 {
		t.Errorf("%v spent, want 577", spent)
	}
	end(t, job, journal.Stopped)
	again := begin(t, b, Spec("a", 3))
	add(t, b, Intent(id, 0, 1, 500), Settled(id, 0, 1, "succeeded", 23))
	if spent, _ := again.Spent(t.Context()); spent != 600 {
		t.Errorf("%v spent over both invocations, want 600", spent)
	}
}

func midnight(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 2))
	before := time.Date(2026, 11, 30, 23, 59, 59, 0, time.Local)
	after := before.Add(2 * time.Second)
	sent, settled := Intent(job.Number(), 0, 1, 500), Settled(job.Number(), 0, 1, "succeeded", 300)
	sent.At, settled.At = before, after
	add(t, b, sent)
	add(t, b, settled)
	late := Intent(job.Number(), 1, 2, 50)
	late.At = after
	add(t, b, late)
	for at, want := range map[time.Time]flotilla.Money{before: 300, after: 50, after.Add(24 * time.Hour): 0} {
		if spent, err := b.SpentOn(t.Context(), at); spent != want || err != nil {
			t.Errorf("%v spent on %s, %v; want %v", spent, at.Format(time.DateOnly), err, want)
		}
	}
}

func doubtCleared(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 3))
	id := job.Number()
	dubious := Settled(id, 2, 4, "errored", 30)
	dubious.InDoubt = true
	add(t, b, Intent(id, 0, 1, 500), Intent(id, 1, 2, 40), Ended(id, 1, 2, 40, true), Intent(id, 2, 4, 30), dubious)
	end(t, job, journal.Stopped) // row 0 is lost in doubt
	a, err := b.Audit(t.Context(), id, nil)
	if err != nil || len(a.Doubts) != 3 || a.Booked != 570 || a.Counted != 570 {
		t.Fatalf("audit %+v, %v", a, err)
	}
	cleared, err := b.ClearDoubt(t.Context(), id)
	if want := (journal.Cleared{Attempts: 3, Money: 570}); cleared != want || err != nil {
		t.Errorf("cleared %+v, %v; want %+v", cleared, err, want)
	}
	if again, err := b.ClearDoubt(t.Context(), id); again != (journal.Cleared{}) || err != nil {
		t.Errorf("cleared again: %+v, %v", again, err)
	}
	next := begin(t, b, Spec("a", 3))
	if st := state(t, next); st.Spent != 0 || st.Doubt != 0 || st.Doubts != 0 || !st.InDoubt(0) {
		t.Errorf("%v spent, %d doubts of %v; row 0 in doubt %v (it is still to be sent last)", st.Spent, st.Doubts, st.Doubt, st.InDoubt(0))
	}
	if spent, _ := b.SpentOn(t.Context(), Noon); spent != 0 {
		t.Errorf("%v of the day still spent", spent)
	}
	add(t, b, Intent(id, 0, 9, 11), Ended(id, 0, 9, 11, true))
	if st := state(t, next); st.Spent != 11 || st.Doubts != 1 {
		t.Errorf("a later doubt: %v spent, %d doubts", st.Spent, st.Doubts)
	}
	a, err = b.Audit(t.Context(), id, nil)
	if err != nil || a.Booked != a.Counted {
		t.Errorf("sums say %v, records %v, %v", a.Booked, a.Counted, err)
	}
}

func grantEnds(t *testing.T, b Book) {
	one := begin(t, b, Spec("a", 2))
	got, err := b.Grant(t.Context(), one.Number(), Noon, 100, 100)
	if err != nil || got.Granted != 100 || got.Used != 100 {
		t.Fatalf("granted %+v, %v", got, err)
	}
	two := begin(t, b, Spec("b", 1))
	if got, err := b.Grant(t.Context(), two.Number(), Noon, 1, 100); got.Granted != 0 || err != nil {
		t.Errorf("granted %+v, %v of a day that is used up", got, err)
	}
	add(t, b, Intent(one.Number(), 0, 1, 30), Settled(one.Number(), 0, 1, "succeeded", 10), Intent(one.Number(), 1, 2, 30))
	end(t, one, journal.Stopped)
	if got, err := b.Grant(t.Context(), two.Number(), Noon, 100, 100); got.Granted != 60 || got.Used != 100 || err != nil {
		t.Errorf("granted %+v, %v; want 60: 10 are spent and 30 in doubt", got, err)
	}
	if got, err := b.Grant(t.Context(), two.Number(), Noon.Add(24*time.Hour), 100, 100); got.Granted != 100 || err != nil {
		t.Errorf("granted %+v, %v of the next day, want 100", got, err)
	}
}

// dayCap: what spends without asking counts too, and what comes back is free.
func dayCap(t *testing.T, b Book) {
	one, two := begin(t, b, Spec("a", 3)), begin(t, b, Spec("b", 1))
	add(t, b, Intent(one.Number(), 0, 1, 30))
	got, err := b.Grant(t.Context(), two.Number(), Noon, 500, 100)
	if err != nil || got.Granted != 70 || got.Used != 100 {
		t.Errorf("granted %+v, %v; want 70 of 100", got, err)
	}
	if err := b.Return(t.Context(), two.Number(), Noon, 20); err != nil {
		t.Fatal(err)
	}
	got, err = b.Grant(t.Context(), one.Number(), Noon, 500, 100)
	if err != nil || got.Granted != 80 || got.Used != 100 || got.Own != 30 {
		t.Errorf("granted %+v, %v; want 80: 30 reserved and 50 given back", got, err)
	}
	if got, err = b.Grant(t.Context(), 0, Noon, 10, 100); err != nil || got.Granted != 0 {
		t.Errorf("granted %+v, %v to no job", got, err)
	}
	// A lower cap takes nothing back and grants nothing.
	if got, err = b.Grant(t.Context(), two.Number(), Noon, 10, 50); err != nil || got.Granted != 20 {
		t.Errorf("granted %+v, %v under a lower cap, want the 20 kept", got, err)
	}
}

func audited(t *testing.T, b Book) {
	job := begin(t, b, Spec("a", 4))
	id := job.Number()
	add(t, b, Intent(id, 0, 1, 9), Settled(id, 0, 1, "succeeded", 4), Intent(id, 1, 2, 9), Settled(id, 1, 2, "succeeded", 4),
		Intent(id, 2, 3, 9), Ended(id, 2, 3, 9, true), Intent(id, 2, 4, 9), Settled(id, 2, 4, "succeeded", 4),
		Settled(id, 1, 5, "succeeded", 4))
	lines := []int{1, 0, 2, 1}
	a, err := b.Audit(t.Context(), id, func(row int) int { return lines[row] })
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Doubts) != 1 || a.Doubts[0].Row != 2 || !a.Doubts[0].Succeeded || a.Doubts[0].Crashed || a.Doubts[0].Worst != 9 || a.Doubts[0].Org != "high" {
		t.Errorf("doubts %+v", a.Doubts)
	}
	if len(a.Doubled) != 1 || a.Doubled[0] != (journal.Doubled{Row: 1, Answers: 2}) {
		t.Errorf("doubled %+v", a.Doubled)
	}
	if a.Booked != 25 || a.Counted != 25 {
		t.Errorf("booked %v, counted %v, want 25", a.Booked, a.Counted)
	}
	if len(a.Missing) != 1 || a.Missing[0] != 1 || len(a.Extra) != 1 || a.Extra[0] != 3 || len(a.Twice) != 1 || a.Twice[0] != 2 {
		t.Errorf("missing %v, extra %v, twice %v; want rows 1, 3 and 2", a.Missing, a.Extra, a.Twice)
	}
}
