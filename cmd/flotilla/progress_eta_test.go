package main

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// What is at the provider counts by when it is expected, the rest by rates.
func TestETAOverBothTiers(t *testing.T) {
	began := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := began.Add(10 * time.Minute)
	lanes := []flotilla.LaneState{{Org: "high", Tier: "sync", Succeeded: 1000}, {Org: "high", Tier: "batch"}}
	batch := func(rows int, in time.Duration) flotilla.BatchState {
		return flotilla.BatchState{Rows: rows, Made: began, Expected: at.Add(in)}
	}
	for _, c := range []struct {
		name    string
		done    int
		batches []flotilla.BatchState
		want    time.Duration // from at; 0: unknown
	}{
		{"rows alone", 1000, nil, 40 * time.Minute},
		{"the rows are later", 1000, []flotilla.BatchState{batch(1000, 10*time.Minute)}, 30 * time.Minute},
		{"a batch is later", 1000, []flotilla.BatchState{batch(1000, 10*time.Minute), batch(1000, 90*time.Minute)}, 90 * time.Minute},
		{"all is in batches", 3000, []flotilla.BatchState{batch(2000, 7*time.Minute)}, 7 * time.Minute},
		{"a batch is late", 1000, []flotilla.BatchState{batch(1000, -time.Minute), batch(1000, time.Minute)}, 0},
		{"nothing has ended yet", 0, nil, 0},
	} {
		p := newProgress(silentView{}, false)
		p.began.At = began
		counts := counts{rows: 5000, done: c.done}
		s := flotilla.Snapshot{At: at, Lanes: lanes, Batches: c.batches}
		b := batchesIn(&s)
		got := p.eta(&counts, &s, &b)
		if c.want == 0 != got.IsZero() || c.want > 0 && got.Sub(at) != c.want {
			t.Errorf("%s: %s, want %s later", c.name, got, c.want)
		}
	}
}

// What is under way by batch is told apart from calls.
func TestWordsOfBothTiers(t *testing.T) {
	s := flotilla.Snapshot{Lanes: []flotilla.LaneState{{Tier: "sync", InFlight: 3}, {Tier: "batch", InFlight: 2}}, Batches: make([]flotilla.BatchState, 2)}
	if got := stoppingText(&s); got != "3 calls in flight may end, 20 s at most; 2 batches run on at the provider" {
		t.Errorf("%q", got)
	}
	l := flotilla.LaneState{Org: "batch", Pool: "haiku-4.5", Tier: "batch", Queued: 1000, QueuedByOthers: 234}
	if got := laneTitle(&l) + ": " + queueText(&l); got != "org batch haiku-4.5 batches: 1,234 rows queued, 234 of others" {
		t.Errorf("%q", got)
	}
	b := inBatches{batches: 3, rows: 1200, overdue: 1}
	if got := b.text(); got != "1,200 in 3 batches, 1 overdue" {
		t.Errorf("%q", got)
	}
}
