package gateway

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"

	"github.com/flotilla-llm/flotilla/journal"
)

// results serves GET /v1/messages/batches/{id}/results: a line for every row, in
// any order (facts/claude-api.md 4.4). With ?flotilla=costs it gives what the rows
// have cost instead: results themselves are as the API has them.
func (b *batches) results(w http.ResponseWriter, r *http.Request, id string) *apiError {
	rec, e := b.found(r.Context(), id)
	if e != nil {
		return e
	}
	if rec.Ended.IsZero() || !rec.Archived.IsZero() {
		return noResults(id)
	}
	end := endResults
	if r.URL.Query().Get("flotilla") == "costs" {
		end = endCosts
	}
	f, err := os.Open(b.files.name(id, end))
	if errors.Is(err, fs.ErrNotExist) {
		return noResults(id)
	} else if err != nil {
		return b.broken(r.Context(), err)
	}
	defer f.Close()
	h := b.head(w)
	h["Content-Type"] = []string{"application/x-jsonl"}
	if info, err := f.Stat(); err == nil {
		h["Content-Length"] = []string{strconv.FormatInt(info.Size(), 10)}
	}
	_, _ = io.Copy(w, f) // a client that is gone cannot be told
	return nil
}

func noResults(id string) *apiError {
	return &apiError{status: http.StatusNotFound, kind: kindNotFound, message: "Message Batch " + id + " has no available results."}
}

// age archives a batch whose results are past their time, even where no sweep has
// come by.
func (b *batches) age(rec *journal.ClientBatch) bool {
	gone := rec.Created.Add(batchKept)
	if rec.Ended.IsZero() || !rec.Archived.IsZero() || b.now().Before(gone) {
		return false
	}
	rec.Archived = gone
	return true
}
