package gateway

import (
	"context"
	"net/http"

	"github.com/flotilla-llm/flotilla/journal"
)

// cancel serves POST /v1/messages/batches/{id}/cancel. A batch that is being
// canceled, or has ended, is left as it is.
func (b *batches) cancel(w http.ResponseWriter, r *http.Request, id string) *apiError {
	if _, e := b.found(r.Context(), id); e != nil {
		return e
	}
	rec, err := b.giveUp(id)
	if err != nil {
		return b.broken(r.Context(), err)
	}
	if !rec.Deleted.IsZero() {
		return missingBatch(id)
	}
	b.writeJSON(w, showBatch(&rec, baseOf(r)))
	return nil
}

// giveUp notes that a batch's end was asked for, and tells whoever carries it: a
// run of ours, and by the journal that of another process.
func (b *batches) giveUp(id string) (journal.ClientBatch, error) {
	rec, err := b.change(id, func(rec *journal.ClientBatch) bool {
		if !rec.Ended.IsZero() || !rec.CancelInitiated.IsZero() || !rec.Deleted.IsZero() {
			return false
		}
		rec.CancelInitiated = b.now()
		return true
	})
	if err != nil || rec.CancelInitiated.IsZero() || !rec.Ended.IsZero() {
		return rec, err
	}
	b.mu.Lock()
	run := b.runs[id]
	b.mu.Unlock()
	if run != nil {
		run.giveUp()
	}
	if rec.Job != 0 {
		err = b.journal.Signal(context.Background(), rec.Job, journal.Cancel)
	}
	return rec, err
}

// remove serves DELETE /v1/messages/batches/{id}.
func (b *batches) remove(w http.ResponseWriter, r *http.Request, id string) *apiError {
	rec, e := b.found(r.Context(), id)
	if e != nil {
		return e
	}
	if rec.Ended.IsZero() {
		return invalid("In progress batches cannot be deleted. Consider canceling the batch instead.")
	}
	_, err := b.change(id, func(rec *journal.ClientBatch) bool {
		if !rec.Deleted.IsZero() {
			return false
		}
		rec.Deleted = b.now()
		return true
	})
	if err == nil {
		err = b.files.remove(id)
	}
	if err != nil {
		return b.broken(r.Context(), err)
	}
	b.writeJSON(w, struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}{id, "message_batch_deleted"})
	return nil
}
