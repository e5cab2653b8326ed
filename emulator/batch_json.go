package emulator

import "time"

// batchJSON is a batch as the API shows it (facts/claude-api.md 4.2).
type batchJSON struct {
	ID         string     `json:"id"`
	Type       string     `json:"type"`
	Status     string     `json:"processing_status"`
	Counts     countsJSON `json:"request_counts"`
	CreatedAt  string     `json:"created_at"`
	ExpiresAt  string     `json:"expires_at"`
	EndedAt    *string    `json:"ended_at"`
	CanceledAt *string    `json:"cancel_initiated_at"`
	ArchivedAt *string    `json:"archived_at"`
	ResultsURL *string    `json:"results_url"`
}

type countsJSON struct {
	Processing int64 `json:"processing"`
	Succeeded  int64 `json:"succeeded"`
	Errored    int64 `json:"errored"`
	Canceled   int64 `json:"canceled"`
	Expired    int64 `json:"expired"`
}

type batchList struct {
	Data    []batchJSON `json:"data"`
	HasMore bool        `json:"has_more"`
	FirstID *string     `json:"first_id"`
	LastID  *string     `json:"last_id"`
}

var statusText = [...]string{InProgress: "in_progress", Canceling: "canceling", Ended: "ended"}

// kept is how long after its creation a batch has results
// (facts/claude-api.md 4.4).
const kept = 29 * 24 * time.Hour

// showBatch is the batch at now. The world is locked. The URL of the results
// is the emulator's own, so that nobody who follows it carries a key elsewhere.
func (w *world) showBatch(b *Batch, now time.Duration, host string) batchJSON {
	at := func(t time.Duration) *string {
		if t == Never {
			return nil
		}
		s := w.model.start.Add(t).UTC().Format("2006-01-02T15:04:05.000000Z")
		return &s
	}
	status := b.Status(now)
	j := batchJSON{
		ID: b.ID, Type: "message_batch", Status: statusText[status], Counts: countsJSON(b.Counts(now)),
		CreatedAt: *at(b.Created), ExpiresAt: *at(b.Expires), EndedAt: at(b.EndedAt), CanceledAt: at(b.CancelAt),
	}
	switch {
	case now >= b.Created+kept:
		j.ArchivedAt = at(b.Created + kept)
	case status == Ended:
		url := "http://" + host + "/v1/messages/batches/" + b.ID + "/results"
		j.ResultsURL = &url
	}
	return j
}
