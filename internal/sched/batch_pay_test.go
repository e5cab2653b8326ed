package sched

import (
	"testing"
	"time"
)

// Near a cap, what is free is not spent in crumbs while batches are about to end
// and free more: few are smaller than a quarter of the usual, and all rows are
// answered.
func TestMoneyIsNotSpentInCrumbs(t *testing.T) {
	const n = 6_000
	d := newDesk(t, 1, 3, n, StreamConfig{Route: Route{Batch: true, NoSync: true}})
	d.cap(n * deskCost * 11 / 10)
	d.run(10 * time.Hour)
	crumbs := 0
	for _, b := range d.batches {
		if b.rows < startRows/4 {
			crumbs++
		}
	}
	t.Logf("%d of %d batches are crumbs, %d of %d rows settled", crumbs, d.gathers, d.settled, n)
	if d.settled != n || crumbs > d.gathers/10 {
		t.Errorf("%d of %d batches are crumbs, %d of %d rows settled", crumbs, d.gathers, d.settled, n)
	}
}
