package sched

import (
	"testing"
	"time"
)

// A core that sees streams come and go for weeks keeps nothing of those that are
// gone, nor of calls that settled.
func TestCoreForgets(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 10}, 0, 0, 0)
	w.step(&AddStream{Stream: StreamConfig{Priority: Interactive}}) // lives for ever
	for round := range 300 {
		id := StreamID(round + 1)
		w.step(&AddStream{})
		w.offer(20, Call{Stream: id, In: 100, MaxOut: 10, Out: 10, Affinity: uint32(round % 3)})
		w.offer(20, Call{In: 100, MaxOut: 10, Out: 10})
		w.run(w.now + 3*time.Second)
		if round%2 == 0 {
			w.run(w.now + time.Minute)
		}
		w.step(&CloseStream{Stream: id})
		w.run(w.now + time.Minute)
		if v := w.c.Stream(id); v.Queued != 0 || v.InFlight != 0 || v.Settled != 0 {
			t.Fatalf("a stream that is gone: %+v", v)
		}
	}
	c := w.c
	if len(c.streams) != 1 || len(c.of) != 1 || len(c.pools[0].queues) > 1 || len(c.closing) != 0 {
		t.Errorf("%d streams, %d queues, %d closing", len(c.streams), len(c.pools[0].queues), len(c.closing))
	}
	if len(c.calls) > 100 || len(c.attempts) > 20 || len(c.callOf.keys) > 256 || len(c.attOf.keys) > 256 {
		t.Errorf("%d slots of calls, %d of attempts, tables of %d and %d", len(c.calls), len(c.attempts), len(c.callOf.keys), len(c.attOf.keys))
	}
}

// A batch that a closed stream left is counted once when the next takes it over,
// and its money is reserved once.
func TestAdoptedBatchCountsOnce(t *testing.T) {
	c := New(Config{Ledgers: []Ledger{{Limit: 1000}}})
	p := c.Pool("p")
	c.Step(0, &AddLane{Lane: LaneConfig{Org: "a", Pool: "p", Tier: Batch, Group: -1}})
	stream := StreamConfig{Ledgers: []LedgerID{0}, Route: Route{Batch: true, NoSync: true}}
	c.Step(0, &AddStream{Stream: stream})
	var asked *Gather
	look := func(acts []Action) {
		for _, a := range acts {
			if g, ok := a.(*Gather); ok {
				asked = &Gather{Batch: g.Batch}
			}
		}
	}
	look(c.Step(0, &Backlog{Pool: p, Rows: 50, Bytes: 100, Worst: 10, In: 10, Out: 10, MaxOut: 10}))
	for asked == nil && c.Next() < time.Minute {
		look(c.Step(c.Next(), &Tick{}))
	}
	if asked == nil {
		t.Fatal("no batch was begun")
	}
	c.Step(c.now, &Gathered{Batch: asked.Batch, Rows: 50, Bytes: 5000, Worst: 500})
	c.Step(c.now+time.Second, &BatchCreated{Batch: asked.Batch, Sure: true})
	c.Step(c.now+time.Second, &CloseStream{})
	if _, _, reserved := c.Ledger(0); reserved != 500 || c.Lane(0).Queued != 50 || len(c.streams) != 1 {
		t.Fatalf("left: %d reserved, %d rows queued, %d streams", reserved, c.Lane(0).Queued, len(c.streams))
	}
	c.Step(c.now+time.Second, &AddStream{Stream: stream})
	c.Step(c.now, &AdoptBatch{Stream: 1, Rows: 50, Worst: 500, Known: true, Sure: true, Was: asked.Batch})
	if _, _, reserved := c.Ledger(0); reserved != 500 || c.Lane(0).Queued != 50 || len(c.Batches()) != 1 || len(c.streams) != 1 {
		t.Errorf("adopted: %d reserved, %d rows queued, %+v, %d streams", reserved, c.Lane(0).Queued, c.Batches(), len(c.streams))
	}
}
