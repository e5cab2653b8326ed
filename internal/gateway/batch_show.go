package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/flotilla-llm/flotilla/journal"
)

// Times of a batch's life (facts/claude-api.md 4.2 and 4.4).
const (
	batchLife = 24 * time.Hour
	batchKept = 29 * 24 * time.Hour // from its creation: its results
)

// batchJSON is a batch as the API shows it (facts/claude-api.md 4.2).
type batchJSON struct {
	ID         string     `json:"id"`
	Type       string     `json:"type"`
	Status     string     `json:"processing_status"`
	Counts     countsJSON `json:"request_counts"`
	EndedAt    *string    `json:"ended_at"`
	CreatedAt  string     `json:"created_at"`
	ExpiresAt  string     `json:"expires_at"`
	ArchivedAt *string    `json:"archived_at"`
	CanceledAt *string    `json:"cancel_initiated_at"`
	ResultsURL *string    `json:"results_url"`
}

type countsJSON struct {
	Processing int `json:"processing"`
	Succeeded  int `json:"succeeded"`
	Errored    int `json:"errored"`
	Canceled   int `json:"canceled"`
	Expired    int `json:"expired"`
}

// batchTime is how the API writes times.
func batchTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

func batchTimeOr(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := batchTime(t)
	return &s
}

// batchStatus is the word for how far a batch is.
func batchStatus(rec *journal.ClientBatch) string {
	switch {
	case !rec.Ended.IsZero():
		return "ended"
	case !rec.CancelInitiated.IsZero():
		return "canceling"
	}
	return "in_progress"
}

// showBatch is a batch as its client sees it. All rows stay in processing until
// it ends, as the API has it. base is how the client reaches us, so that what
// follows the results' address comes here.
func showBatch(rec *journal.ClientBatch, base string) batchJSON {
	j := batchJSON{
		ID: rec.ID, Type: "message_batch", Status: batchStatus(rec),
		CreatedAt: batchTime(rec.Created), ExpiresAt: batchTime(rec.Expires),
		EndedAt: batchTimeOr(rec.Ended), CanceledAt: batchTimeOr(rec.CancelInitiated), ArchivedAt: batchTimeOr(rec.Archived),
	}
	if rec.Ended.IsZero() {
		j.Counts.Processing = rec.N
		return j
	}
	c := &rec.Counts
	j.Counts = countsJSON{Succeeded: c.Succeeded, Errored: c.Errored, Canceled: c.Canceled, Expired: c.Expired}
	if rec.Archived.IsZero() {
		url := base + batchesPath + "/" + rec.ID + "/results"
		j.ResultsURL = &url
	}
	return j
}

// baseOf is the address that a client has used. What a proxy in front of us says
// of its own is a word in an answer to its client, and no more.
func baseOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// pollAgain is what a poll of a batch in progress says to wait
// (facts/claude-api.md 4.2).
const pollAgain = 10 * time.Second

// show serves GET /v1/messages/batches/{id}.
func (b *batches) show(w http.ResponseWriter, r *http.Request, id string) *apiError {
	rec, e := b.found(r.Context(), id)
	if e != nil {
		return e
	}
	if rec.Ended.IsZero() {
		w.Header()[headerRetryAfter] = []string{strconv.Itoa(int(pollAgain / time.Second))}
	}
	b.writeJSON(w, showBatch(&rec, baseOf(r)))
	return nil
}

// head sets what every answer of ours says that is no error.
func (b *batches) head(w http.ResponseWriter) http.Header {
	h := w.Header()
	h[headerRequestID] = []string{requestID()}
	if b.cfg.Emulated != "" {
		h["Flotilla-Emulated"] = []string{b.cfg.Emulated}
	}
	return h
}

// writeJSON answers 200 with a value that always encodes.
func (b *batches) writeJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	h := b.head(w)
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body) // a client that is gone cannot be told
}
