package flotilla

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// pageSize is how many batches a page of a listing has: the most the API gives
// (facts/claude-api.md 4.1), since every page counts against the org's limit.
const pageSize = "1000"

// batchLife is how long a batch may be in processing: 24 h, and a grace for
// its end to show (facts/claude-api.md 4.2).
const batchLife = 25 * time.Hour

// listBatches lists an org's batches, newest first, back to a time of the
// server's clock; ok is false where a page is missing, and then the list says
// nothing of what it lacks.
func (f *Fleet) listBatches(ctx context.Context, org *orgState, since time.Time) (list []wire.Batch, ok bool) {
	after := ""
	for {
		to := org.batchesURL()
		query := url.Values{"limit": {pageSize}}
		if after != "" {
			query.Set("after_id", after)
		}
		to.RawQuery = query.Encode()
		r := f.askBatch(ctx, org, http.MethodGet, to)
		if !r.ok() {
			return list, false
		}
		page, err := wire.ReadBatchList(r.body)
		if err != nil {
			return list, false
		}
		for _, b := range page.Data {
			if !b.CreatedAt.IsZero() && b.CreatedAt.Before(since) {
				return list, true
			}
			list = append(list, b)
		}
		if !page.HasMore || page.LastID == after {
			return list, true
		}
		after = page.LastID
	}
}

// lookAtQueue tells the core what others have in the batch queue of a lane's
// org: everything in processing that no stream of this fleet knows.
func (f *Fleet) lookAtQueue(now time.Duration, l *sched.ListBatches) {
	lane, org := l.Lane, f.lanes[l.Lane].org
	since := f.clock.wall(now).Add(-batchLife)
	f.beside(func() func(time.Duration) {
		list, ok := f.listBatches(f.ctx, org, since)
		return func(now time.Duration) { f.queueSeen(now, lane, org, list, ok) }
	})
}

func (f *Fleet) queueSeen(now time.Duration, lane sched.LaneID, org *orgState, list []wire.Batch, ok bool) {
	if !ok {
		return // the core asks again
	}
	others := int64(0)
	for i := range list {
		if !org.known[list[i].ID] {
			others += list[i].Processing
		}
	}
	f.step(now, &sched.QueueSeen{Lane: lane, Others: others})
}
