package sched

import (
	"testing"
	"time"
)

// Results that turn out to be another's prove nothing of ours: where its stream
// has ended meanwhile, what it may cost stays reserved for whoever looks next.
func TestForeignResultsFreeNothing(t *testing.T) {
	d := newDesk(t, 1, 1, 100, StreamConfig{Route: Route{Batch: true, NoSync: true}})
	d.mistake = true
	for !d.collecting() {
		if d.now > time.Hour {
			t.Fatal("nothing is collected")
		}
		d.run(d.now + time.Second/10)
	}
	d.closed = true
	d.step(&CloseStream{})
	d.run(d.now + time.Minute) // verify holds money to what batches may cost
	d.collects(t, 0)
}

// collecting says that the results of a batch are being read.
func (d *desk) collecting() bool {
	for _, b := range d.c.bat.live {
		if b.step == batchOver && b.calling {
			return true
		}
	}
	return false
}

func (d *desk) collects(t *testing.T, rows int64) {
	t.Helper()
	if d.settled != rows {
		t.Errorf("%d rows settled", d.settled)
	}
}

// A queue that was full of others' rows is not taken for small for ever.
func TestAFullQueueIsTriedAgain(t *testing.T) {
	d := newDesk(t, 1, 1, 6_000, StreamConfig{Route: Route{Batch: true, NoSync: true}})
	d.others = 100
	d.refuse = func(*SubmitBatch) *BatchRefused { return &BatchRefused{Refusal: Refusal{Class: QueueFull}} }
	d.run(3 * time.Minute)
	small := d.c.Lane(1).Queue
	d.others, d.refuse = 0, nil
	d.run(time.Hour)
	if v := d.c.Lane(1); small > 200 || v.Queue < 3*small || d.settled < d.n/2 {
		t.Errorf("%d rows settled; the queue was taken for one of %d rows, and is for %d", d.settled, small, v.Queue)
	}
}

// Where no lane accepts a stream's batches and sync may not take the rows,
// nothing will ever open: that is said at once.
func TestBatchesThatNoLaneAccepts(t *testing.T) {
	d := newDesk(t, 1, 2, 500, StreamConfig{Route: Route{Batch: true, NoSync: true}})
	d.refuse = func(*SubmitBatch) *BatchRefused { return &BatchRefused{Refusal: Refusal{Class: Invalid}} }
	d.run(time.Minute)
	if v := d.c.Stream(0); !v.AllClosed || v.Reopens != Never {
		t.Errorf("%+v", v)
	}
	if d.gathers > 60 {
		t.Errorf("%d batches were tried", d.gathers)
	}
}

// A cancel that was lost is asked for again soon: at the end of a job there is no
// time to wait for it.
func TestALostCancelIsRepeatedSoon(t *testing.T) {
	d := newDesk(t, 1, 2, 600, StreamConfig{Route: Route{Batch: true, Target: 30 * time.Minute}})
	d.deaf, d.rate = map[BatchID]time.Duration{}, 0
	d.run(40 * time.Minute)
	if len(d.deaf) == 0 || d.settled != d.n {
		t.Errorf("%d batches were canceled, %d rows settled", len(d.deaf), d.settled)
	}
}
