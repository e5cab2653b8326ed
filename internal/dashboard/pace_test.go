package dashboard

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
)

func TestPace(t *testing.T) {
	p := &pace{}
	at := func(sec int) time.Time { return epoch.Add(time.Duration(sec) * time.Second) }
	p.look(at(0), 100)
	p.look(at(3), 130)
	if _, ok := p.perMinute(); ok {
		t.Error("three seconds tell no rate")
	}
	for sec := 4; sec <= 200; sec++ {
		p.look(at(sec), 100+10*sec)
	}
	if rate, ok := p.perMinute(); !ok || rate != 600 {
		t.Errorf("the rate is %v, %v", rate, ok)
	}
	p.look(at(800), 100_000) // nobody looked for ten minutes
	if rate, ok := p.perMinute(); ok {
		t.Errorf("one look tells no rate: %v", rate)
	}
}

func TestETA(t *testing.T) {
	soon, later := epoch.Add(time.Minute), epoch.Add(time.Hour)
	for _, c := range []struct {
		name    string
		pending int
		rate    float64
		known   bool
		b       batched
		want    time.Time
	}{
		{"all done", 0, 10, true, batched{known: true}, time.Time{}},
		{"by rate", 600, 60, true, batched{known: true}, epoch.Add(10 * time.Minute)},
		{"no rate", 600, 0, false, batched{known: true}, time.Time{}},
		{"nothing settles", 600, 0, true, batched{known: true}, time.Time{}},
		{"slower than anybody waits", 1 << 40, 1, true, batched{known: true}, time.Time{}},
		{"all in batches", 500, 0, true, batched{rows: 500, ends: later, known: true}, later},
		{"a batch is overdue", 500, 60, true, batched{rows: 400, ends: later}, time.Time{}},
		{"the rest takes longer", 1000, 60, true, batched{rows: 400, ends: soon, known: true}, epoch.Add(10 * time.Minute)},
		{"the batches take longer", 460, 60, true, batched{rows: 400, ends: later, known: true}, later},
	} {
		if got := eta(epoch, c.pending, c.rate, c.known, c.b); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Times of a faster clock are shown as those at which a person sees them come.
func TestBatchesOnAFasterClock(t *testing.T) {
	far := epoch.Add(1000 * time.Hour)
	s := &flotilla.Snapshot{At: far, Batches: []flotilla.BatchState{
		{Job: 1, Rows: 5, Made: far.Add(-time.Minute), Expected: far.Add(20 * time.Minute)}, {Job: 1, Rows: 6, Expected: far.Add(10 * time.Minute)}, {Job: 2, Rows: 7},
	}}
	line := timeline{scaled: far, real: epoch, speed: 20}
	if b := batchedOf(s, 1, line); b.rows != 11 || !b.known || !b.ends.Equal(epoch.Add(time.Minute)) {
		t.Errorf("of job 1: %+v", b)
	}
	if b := batchedOf(s, 2, line); b.rows != 7 || b.known {
		t.Errorf("of job 2, whose end nobody knows: %+v", b)
	}
	if made := line.of(s.Batches[0].Made); !made.Equal(epoch.Add(-3 * time.Second)) {
		t.Errorf("made at %v", made)
	}
	if line.of(time.Time{}) != nil {
		t.Error("what is not known is null")
	}
}
