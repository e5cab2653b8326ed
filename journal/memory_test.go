package journal_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/journal/journaltest"
)

// A journal in memory lives in a bubble of virtual time: it waits for nothing
// outside, and its clock is the bubble's.
func TestMemoryInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal.Memory()
		job, err := j.Begin(t.Context(), journaltest.Spec("a", 2))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Hour)
			if err := j.Append(pairs(job.ID, 0, 1)); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		st, err := job.State(t.Context())
		if err != nil || st.Outcome(0) != journal.Succeeded {
			t.Errorf("%v, %v", st, err)
		}
		for range 3 {
			if s, err := j.Lease(t.Context(), "pot", 10, 10, time.Minute); err != nil || s.Held != 10 {
				t.Errorf("%+v, %v", s, err)
			}
			time.Sleep(30 * time.Second)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestMemoriesAreApart(t *testing.T) {
	one, two := closing(t, journal.Memory()), closing(t, journal.Memory())
	begin(t, one, 1)
	if job := begin(t, two, 1); job.Resumed {
		t.Error("two journals in memory are one")
	}
	if one.Path() != ":memory:" || one.Exclusive() {
		t.Errorf("path %s, exclusive %v", one.Path(), one.Exclusive())
	}
}
