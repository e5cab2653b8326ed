package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// queueUse is what a batch queue holds now, by everybody whose batches the key
// may list: those of its workspace.
type queueUse struct {
	Batches int   `json:"batches"`
	Rows    int64 `json:"rows"`
	Ours    int64 `json:"ours"` // of Rows, by jobs of this journal
}

// batchLife is longer than any batch is in processing: 24 h and some grace
// (facts/claude-api.md 4.2).
const batchLife = 25 * time.Hour

// listPage is the most that one read of a list gives (facts/claude-api.md 4.1).
const listPage = "1000"

// readQueue lists an org's batches, newest first, as far back as one may still
// be in processing.
func readQueue(ctx context.Context, a *api, key flotilla.Key) (u queueUse, err error) {
	query := url.Values{"limit": {listPage}}
	for {
		var page json.RawMessage
		header, err := a.get(ctx, key, "/v1/messages/batches", query, &page)
		if err != nil {
			return u, fmt.Errorf("listing its batches: %w", err)
		}
		list, err := wire.ReadBatchList(page)
		if err != nil {
			return u, fmt.Errorf("listing its batches: %w", err)
		}
		from := serverTime(header).Add(-batchLife)
		for i := range list.Data {
			b := &list.Data[i]
			if b.CreatedAt.Before(from) {
				return u, nil
			}
			if b.Status != wire.BatchEnded {
				u.Batches++
				u.Rows += b.Rows()
			}
		}
		if !list.HasMore || list.LastID == "" {
			return u, nil
		}
		query.Set("after_id", list.LastID)
	}
}

// serverTime is when an answer left by the server's clock, by which batches are
// dated.
func serverTime(h http.Header) time.Time {
	if t, err := http.ParseTime(h.Get("Date")); err == nil {
		return t
	}
	return time.Now()
}

// addQueues asks every org what its batch queue holds.
func (r *limitsReport) addQueues(ctx context.Context, s *Settings) {
	var wg sync.WaitGroup
	faults := make([]error, len(r.Rows))
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Pool != batchPool {
			continue
		}
		for j := range s.Orgs {
			if o := &s.Orgs[j]; o.Name == row.Org {
				wg.Go(func() { faults[i] = row.readQueue(ctx, s.apiFor(o), o.Key) })
			}
		}
	}
	wg.Wait()
	for i, err := range faults {
		if err != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %s", r.Rows[i].Org, err))
		}
	}
}

func (row *limitRow) readQueue(ctx context.Context, a *api, key flotilla.Key) error {
	defer a.close()
	use, err := readQueue(ctx, a, key)
	if err == nil {
		row.InQueue = &use
	}
	return err
}

// String is the use of a batch queue for people; nil is not known.
func (u *queueUse) String() string {
	if u == nil {
		return "-"
	}
	text := fmt.Sprintf("%s rows", whole(int(u.Rows)))
	if u.Ours > 0 {
		text += fmt.Sprintf(", %s ours", whole(int(u.Ours)))
	}
	return text
}
