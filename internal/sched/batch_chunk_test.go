package sched

import (
	"testing"
	"time"
)

// A backlog of less than a batch for each org is split among all of them.
func TestSmallBacklogIsSpread(t *testing.T) {
	const n = 240
	d := newDesk(t, 1, 3, n, StreamConfig{Route: Route{Batch: true, NoSync: true}})
	d.run(time.Hour)
	rows := map[LaneID]int64{}
	for _, b := range d.batches {
		rows[b.lane] += b.rows
	}
	for lane, got := range rows {
		if got > n/2 {
			t.Errorf("%d of %d rows on lane %d", got, n, lane)
		}
	}
	if len(rows) != 3 || d.settled != n {
		t.Errorf("%d orgs, %d of %d rows settled", len(rows), d.settled, n)
	}
}
