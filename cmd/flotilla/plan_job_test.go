package main

import (
	"math"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// What the journal says of batches that ended is their middle rate; such as were
// canceled say nothing, and two are no ground for anything.
func TestTurnaroundOf(t *testing.T) {
	batch := func(rows int, took time.Duration) journal.Turnaround {
		return journal.Turnaround{Rows: rows, Succeeded: rows, Took: took}
	}
	canceled := batch(8000, time.Hour)
	canceled.Canceled = true
	for _, c := range []struct {
		name string
		last []journal.Turnaround
		want flotilla.Turnaround
	}{
		{"too few", []journal.Turnaround{batch(500, time.Minute), batch(500, time.Minute), canceled}, flotilla.Turnaround{}},
		{
			"two rows a second after a minute",
			[]journal.Turnaround{batch(480, 5*time.Minute), batch(120, 2*time.Minute), batch(500, 2*time.Hour), batch(480, 5*time.Minute), canceled},
			flotilla.Turnaround{Overhead: time.Minute, RowRate: 2},
		},
		{
			"quicker than the usual overhead",
			[]journal.Turnaround{batch(100, 20*time.Second), batch(100, 20*time.Second), batch(100, 20*time.Second)},
			flotilla.Turnaround{Overhead: 10 * time.Second, RowRate: 10},
		},
	} {
		got := turnaroundOf(c.last)
		if got.Overhead != c.want.Overhead || math.Abs(got.RowRate-c.want.RowRate) > 1e-9 || got.Parallel != 0 {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// The last batches of a job and those near a cap are small: their time is the
// wait for their first row, and says nothing against the rate.
func TestTurnaroundOfSmallBatches(t *testing.T) {
	var last []journal.Turnaround
	made := time.Unix(0, 0)
	for rows := 1; rows <= 40; rows++ {
		took := time.Minute + time.Duration(rows)*time.Second/2
		if rows%7 == 0 {
			took += 3 * time.Minute // a few stand still
		}
		last = append(last, journal.Turnaround{Rows: rows, Succeeded: rows, Made: made, Took: took})
		made = made.Add(20 * time.Second)
	}
	got := turnaroundOf(last)
	if math.Abs(got.RowRate-2) > 0.2 || (got.Overhead-time.Minute).Abs() > 5*time.Second {
		t.Errorf("%+v, want two rows a second after a minute", got)
	}
}

// Where more are out than proceed at a time, each stands in line: 8 of 20 at two
// rows a second do 16 together, though each takes 150 s more than its own time.
func TestTurnaroundOfMany(t *testing.T) {
	var last []journal.Turnaround
	for i := range 100 {
		made := time.Unix(0, 0).Add(time.Duration(i) * 300 * time.Second / 16)
		last = append(last, journal.Turnaround{Rows: 300, Succeeded: 300, Made: made, Took: 360 * time.Second})
	}
	got := turnaroundOf(last)
	if got.RowRate < 1.5 || got.RowRate > 2.05 || got.Overhead != time.Minute {
		t.Errorf("%+v, want about two rows a second after a minute", got)
	}
}
