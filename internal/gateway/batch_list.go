package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/flotilla-llm/flotilla/journal"
)

type batchList struct {
	Data    []batchJSON `json:"data"`
	HasMore bool        `json:"has_more"`
	FirstID *string     `json:"first_id"`
	LastID  *string     `json:"last_id"`
}

// Sizes of a page (facts/claude-api.md 4.1).
const usualPage, longestPage = 20, 1000

// list serves GET /v1/messages/batches: the caller's own, newest first.
func (b *batches) list(w http.ResponseWriter, r *http.Request) *apiError {
	q := r.URL.Query()
	limit, e := pageSize(q)
	if e != nil {
		return e
	}
	all, err := b.journal.ClientBatches(r.Context(), CallerOf(r.Context()).Name)
	if err != nil {
		return b.broken(r.Context(), err)
	}
	all = slices.DeleteFunc(all, func(rec journal.ClientBatch) bool {
		return rec.Realm != b.realm || !rec.Deleted.IsZero()
	})
	page, more, e := pageOf(all, q, limit)
	if e != nil {
		return e
	}
	l := batchList{Data: make([]batchJSON, 0, len(page)), HasMore: more}
	for i := range page {
		b.age(&page[i])
		l.Data = append(l.Data, showBatch(&page[i], baseOf(r)))
	}
	if len(page) > 0 {
		l.FirstID, l.LastID = &page[0].ID, &page[len(page)-1].ID
	}
	b.writeJSON(w, l)
	return nil
}

func pageSize(q url.Values) (int, *apiError) {
	if !q.Has("limit") {
		return usualPage, nil
	}
	n, err := strconv.Atoi(q.Get("limit"))
	if err != nil || n < 1 || n > longestPage {
		return 0, invalid(fmt.Sprintf("limit: Input should be between 1 and %d", longestPage))
	}
	return n, nil
}

// pageOf cuts the page that after_id or before_id names out of a list. more says
// that it goes on in the direction that was asked for.
func pageOf(all []journal.ClientBatch, q url.Values, limit int) (page []journal.ClientBatch, more bool, e *apiError) {
	place := func(name string) int {
		i := slices.IndexFunc(all, func(rec journal.ClientBatch) bool { return rec.ID == q.Get(name) })
		if i < 0 {
			e = invalid(name + ": no such Message Batch: " + q.Get(name))
		}
		return i
	}
	switch {
	case q.Has("after_id"):
		all = all[place("after_id")+1:]
	case q.Has("before_id"):
		i := max(0, place("before_id"))
		return all[max(0, i-limit):i], i > limit, e
	}
	return all[:min(limit, len(all))], len(all) > limit, e
}
