package emulator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The three anecdotes of facts/control.md D, which each scheduler reproduces.
func TestStarvation(t *testing.T) {
	for _, name := range []string{"starved-batch-depth", "starved-batch-size", "starved-batch-hour"} {
		t.Run(name, func(t *testing.T) {
			m := modelOf(t, name, 1) // at 09:00 UTC
			big := submit(t, m, 0, 0, 8000, 0)
			if s := big.Status(8 * time.Hour); s != InProgress {
				t.Errorf("8,000 rows: status %v after 8 hours", s)
			}

			m = modelOf(t, name, 2)
			var all []*Batch
			for i := 0; i < 141_600; i += 8000 {
				all = append(all, submit(t, m, 0, i/8000%2, min(8000, 141_600-i), i))
			}
			m.Advance(8 * time.Hour)
			for i, b := range all {
				if b.Rows() == 8000 && b.EndedAt != Never {
					t.Errorf("batch %d of 141,600 rows ended after %v", i, b.EndedAt)
				}
			}

			at := time.Duration(0)
			if name == "starved-batch-hour" {
				at = 11 * time.Hour // 20:00
			}
			m = modelOf(t, name, 3)
			for i := range 5 {
				b := submit(t, m, at, 0, 500, 500*i)
				end := endOf(m, b, at+time.Hour)
				if took := end - at; took < 150*time.Second || took > 9*time.Minute {
					t.Errorf("500 rows took %v", took)
				}
				at = end
			}
		})
	}
}

// Depth counts what waits in the whole org, and the queue moves again when a
// cancel makes room; a batch whose size starves it holds no place.
func TestStarvationEnds(t *testing.T) {
	m := modelOf(t, "starved-batch-depth", 1)
	big := submit(t, m, 0, 0, 8000, 0)
	small := submit(t, m, 0, 0, 100, 10_000)
	m.Advance(2 * time.Hour)
	if small.EndedAt != Never || m.Waiting(2*time.Hour, 0) != 8100 {
		t.Fatalf("%d rows wait", m.Waiting(2*time.Hour, 0))
	}
	m.CancelBatch(2*time.Hour, big)
	if end := endOf(m, small, 3*time.Hour); end == Never || end < 2*time.Hour {
		t.Errorf("the small batch ended at %v", end)
	}
	if diff := cmp.Diff(BatchCounts{Canceled: 8000}, big.Counts(3*time.Hour)); diff != "" {
		t.Errorf("the canceled batch: %s", diff)
	}

	m = modelOf(t, "starved-batch-size", 1)
	for i := range 10 {
		submit(t, m, 0, 0, 3001, i*4000)
	}
	if end := endOf(m, submit(t, m, time.Hour, 0, 20, 50_000), 2*time.Hour); end > 70*time.Minute {
		t.Errorf("a canary behind starved batches ended at %v", end)
	}
}

// Rows so quick that less than a nanosecond of work is left between two events
// do not keep the queue at one instant for ever.
func TestRowsOfAnyPace(t *testing.T) {
	sc, err := Named("default")
	if err != nil {
		t.Fatal(err)
	}
	for _, pace := range []float64{1000, 1e6, 1e9} {
		sc.Batches.RowsPerSecond = pace
		m := NewModel(sc, 1, time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC))
		b := submit(t, m, 0, 0, 30_000, 0)
		if end := endOf(m, b, time.Hour); end == Never {
			t.Errorf("%v rows a second: not ended after an hour", pace)
		}
	}
}
