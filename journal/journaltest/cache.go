package journaltest

import (
	"slices"
	"testing"

	"github.com/flotilla-llm/flotilla/journal"
)

func keys(row int) ([16]byte, int) { return Hash(row), 0 }

// provenance: the same command at the same address without the mark is another
// job with nothing in its cache, and the other way round (interface.md, Journal
// and provenance).
func provenance(t *testing.T, b Book) {
	emulated := Spec("a", 2)
	emulated.Emulated = "default/1"
	job := begin(t, b, emulated)
	marked := Settled(job.Number(), 0, 1, "succeeded", 4)
	marked.Emulated = "default/1"
	// An answer without the job's mark settles nothing of it.
	add(t, b, marked, Settled(job.Number(), 1, 2, "succeeded", 4))
	if st := state(t, job); st.Outcome(0) != journal.Succeeded || st.Outcome(1) != journal.Pending {
		t.Errorf("rows are %v and %v, want the marked one alone settled", st.Outcome(0), st.Outcome(1))
	} else if all := answers(t, job, 0); !slices.Equal(st.Superseded(), []int64{all[1].ID}) || st.Stop(1) != "" {
		t.Errorf("superseded %v, stop %q of a pending row", st.Superseded(), st.Stop(1))
	}
	end(t, job, journal.Stopped)

	real := begin(t, b, Spec("a", 2))
	if real.Number() == job.Number() {
		t.Fatal("the real provider goes on with the emulator's job")
	}
	found, err := real.Cached(t.Context(), 2, keys)
	if err != nil || found[0] != 0 || found[1] == 0 {
		t.Errorf("found %v, %v; want the unmarked answer alone", found, err)
	}
	other := emulated
	other.Emulated = "default/2"
	third := begin(t, b, other)
	if found, err := third.Cached(t.Context(), 2, keys); err != nil || found[0] != 0 || found[1] != 0 {
		t.Errorf("another emulator found %v, %v", found, err)
	}
}

func cached(t *testing.T, b Book) {
	old := begin(t, b, Spec("a", 3))
	second := Settled(old.Number(), 1, 2, "succeeded", 4)
	second.Hash, second.Nth = Hash(0), 1
	add(t, b, Settled(old.Number(), 0, 1, "succeeded", 4), second, Settled(old.Number(), 2, 3, "errored", 0))

	job := begin(t, b, Spec("b", 4))
	// Rows 0 and 3 have one key, as rows of --dedupe do.
	key := func(row int) ([16]byte, int) {
		return [][16]byte{Hash(0), Hash(0), Hash(2), Hash(0)}[row], []int{0, 1, 0, 0}[row]
	}
	found, err := job.Cached(t.Context(), 4, key)
	if err != nil || found[0] == 0 || found[1] == 0 || found[0] == found[1] || found[2] != 0 || found[3] != found[0] {
		t.Fatalf("found %v, %v; want rows 0, 1 and 3, and never an error's", found, err)
	}
	if err := job.Adopt(t.Context(), []journal.Adoption{{Row: 0, Answer: found[0]}, {Row: 1, Answer: found[1], Nth: 1}}); err != nil {
		t.Fatal(err)
	}
	st := state(t, job)
	if st.Outcome(0) != journal.Succeeded || st.Outcome(1) != journal.Succeeded || st.Spent != 0 {
		t.Errorf("rows are %v and %v, %v spent", st.Outcome(0), st.Outcome(1), st.Spent)
	}
	all := answers(t, job, 0)
	if len(all) != 2 || !all[0].Cached || all[0].Cost != 0 || all[0].Attempts != 0 || string(all[0].Body) != `{"id":"msg_0_1"}` || all[1].Nth != 1 {
		t.Errorf("answers %+v", all)
	}
	if own, err := old.Cached(t.Context(), 1, keys); err != nil || own[0] != all[0].ID {
		t.Errorf("the first job finds %v, %v; want the other's answer, not its own", own, err)
	}
}

func removed(t *testing.T, b Book) {
	old := begin(t, b, Spec("a", 2))
	add(t, b, Intent(old.Number(), 0, 1, 9), Settled(old.Number(), 0, 1, "succeeded", 4), Settled(old.Number(), 1, 2, "succeeded", 4))
	job := begin(t, b, Spec("b", 1))
	found, err := job.Cached(t.Context(), 1, keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Adopt(t.Context(), []journal.Adoption{{Row: 0, Answer: found[0]}}); err != nil {
		t.Fatal(err)
	}
	if err := b.Remove(t.Context(), old.Number()); err == nil {
		t.Error("a job that goes on was removed")
	}
	end(t, old, journal.Finished)
	if err := b.Remove(t.Context(), old.Number()); err != nil {
		t.Fatal(err)
	}
	if all := answers(t, job, 0); len(all) != 1 || string(all[0].Body) != `{"id":"msg_0_1"}` {
		t.Errorf("the other job has %+v", all)
	}
	if spent, _ := b.SpentOn(t.Context(), Noon); spent != 8 {
		t.Errorf("%v of the day is spent, want 8 still", spent)
	}
	jobs, err := b.Jobs(t.Context(), Noon.AddDate(-50, 0, 0))
	if err != nil || len(jobs) != 1 || jobs[0].ID != job.Number() {
		t.Errorf("jobs %+v, %v", jobs, err)
	}
	if st := state(t, begin(t, b, Spec("a", 2))); st.Counts[journal.Pending] != 2 || st.Doubts != 0 {
		t.Errorf("the removed job, begun again, has %v, %d in doubt", st.Counts, st.Doubts)
	}
	// What is left of it can be had from the one that has it from the cache.
	third := begin(t, b, Spec("c", 2))
	found, err = third.Cached(t.Context(), 2, keys)
	if err != nil || found[0] == 0 || found[1] != 0 {
		t.Errorf("found %v, %v; want row 0 alone", found, err)
	}
}

// borrowed: a job that has answers from the cache is removed without them.
func borrowed(t *testing.T, b Book) {
	old, job := begin(t, b, Spec("a", 1)), begin(t, b, Spec("b", 1))
	add(t, b, Settled(old.Number(), 0, 1, "succeeded", 4))
	found, err := job.Cached(t.Context(), 1, keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Adopt(t.Context(), []journal.Adoption{{Row: 0, Answer: found[0]}}); err != nil {
		t.Fatal(err)
	}
	end(t, job, journal.Finished)
	if err := b.Remove(t.Context(), job.Number()); err != nil {
		t.Fatal(err)
	}
	if all := answers(t, old, 0); len(all) != 1 || string(all[0].Body) != `{"id":"msg_0_1"}` {
		t.Errorf("the first job has %+v", all)
	}
	late := begin(t, b, Spec("c", 1))
	end(t, old, journal.Finished)
	if err := b.Remove(t.Context(), old.Number()); err != nil {
		t.Fatal(err)
	}
	if err := late.Adopt(t.Context(), []journal.Adoption{{Row: 0, Answer: found[0]}}); err == nil {
		t.Error("a row was settled by an answer that is gone")
	}
}

// nothingDeleted runs a job over and over, with retries, adoptions and ends at
// any moment: every answer that ever settled a row can still be read.
func nothingDeleted(t *testing.T, b Book) {
	kept := map[int64]string{}
	for round := range 4 {
		job := begin(t, b, Spec("a", 3))
		for row := range 3 {
			attempt := int64(10*round + row + 1)
			kind := []string{"errored", "succeeded"}[(round+row)%2]
			add(t, b, Intent(job.Number(), row, attempt, 9), Settled(job.Number(), row, attempt, kind, 4), Intent(job.Number(), row, attempt+100, 9))
		}
		for _, a := range answers(t, job, 0) {
			kept[a.ID] = string(a.Body)
		}
		end(t, job, []string{journal.Stopped, journal.Finished}[round%2])
		other := begin(t, b, Spec(string(rune('b'+round)), 3))
		found, err := other.Cached(t.Context(), 3, keys)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Adopt(t.Context(), []journal.Adoption{{Row: 1 - round%2, Answer: found[1-round%2]}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(kept) != 12 {
		t.Errorf("%d answers were kept of 12", len(kept))
	}
	for id, body := range kept {
		if a, err := b.Answer(t.Context(), id); err != nil || string(a.Body) != body {
			t.Errorf("answer %d is %s, %v; was %s", id, a.Body, err, body)
		}
	}
}
