package journal_test

import (
	"sync"
	"testing"

	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/journal/journaltest"
)

// Two processes that change a batch at the same time lose neither's change: a
// cancel at one gateway beside the end that another writes.
func TestClientBatchChangesOfTwoProcesses(t *testing.T) {
	p := path(t)
	first, second := open(t, p, journal.Options{}), open(t, p, journal.Options{})
	const each = 100
	if err := first.PutClientBatch(t.Context(), journal.ClientBatch{ID: "msgbatch_1", Client: "ada"}); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for _, by := range []struct {
		j      *journal.Journal
		change func(*journal.ClientBatch) bool
	}{
		{first, func(b *journal.ClientBatch) bool { b.Counts.Succeeded++; b.Ended = journaltest.Noon; return true }},
		{second, func(b *journal.ClientBatch) bool {
			b.Counts.Canceled++
			b.CancelInitiated = journaltest.Noon
			return true
		}},
	} {
		work.Go(func() {
			for range each {
				if _, err := by.j.ChangeClientBatch(t.Context(), "msgbatch_1", by.change); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	b, _, err := first.ClientBatch(t.Context(), "msgbatch_1")
	if err != nil || b.Counts.Succeeded != each || b.Counts.Canceled != each || b.Ended.IsZero() || b.CancelInitiated.IsZero() {
		t.Errorf("it is kept as %+v, %v", b, err)
	}
}
