package sched

import (
	"testing"
	"time"
)

// A batch that is taken over draws on the ledgers of its stream, but for those
// that do not count it; what a ledger had reserved ahead for it is given back.
func TestAdoptedBatchDrawsOnWhatCountsIt(t *testing.T) {
	c := New(Config{Ledgers: []Ledger{{Limit: 1000, Ahead: 500}, {Limit: 100}}})
	c.Pool("p")
	c.Step(0, &AddLane{Lane: LaneConfig{Org: "a", Pool: "p", Tier: Batch, Group: -1}})
	c.Step(0, &AddStream{Stream: StreamConfig{Ledgers: []LedgerID{0, 1}, Route: Route{Batch: true, NoSync: true}}})
	want := func(id LedgerID, spent, reserved int64) {
		t.Helper()
		if _, s, r := c.Ledger(id); s != spent || r != reserved {
			t.Errorf("ledger %d: %d spent and %d reserved, not %d and %d", id, s, r, spent, reserved)
		}
	}
	want(0, 0, 500)
	c.Step(0, &AdoptBatch{Rows: 50, Worst: 400, Known: true, Sure: true, Aside: []LedgerID{1}})
	want(0, 0, 900)
	c.Step(0, &SetLedger{Ledger: 0, Limit: 1000, Free: 400})
	want(0, 0, 500)
	want(1, 0, 0)
	for _, answer := range []Event{
		&BatchPolled{Batch: 1, State: BatchEnded},
		&BatchCollected{Batch: 1, Succeeded: 50, Cost: 150},
	} {
		for !c.batchAt(1).calling && c.now < time.Hour {
			c.Step(c.Next(), &Tick{})
		}
		c.Step(c.now, answer)
	}
	want(0, 150, 100)
	want(1, 0, 0)
	c.Step(c.now, &SetLedger{Ledger: 0, Limit: 1000, Free: 9999})
	want(0, 150, 0)
}
