package main

import (
	"context"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// Batches of an org that the journal is asked for, how many tell anything, how
// many tell a wait from a rate, and how many make a stretch.
const (
	turnaroundsAsked   = 200
	turnaroundsLeast   = 3
	turnaroundsBent    = 10
	turnaroundsStretch = 100
)

// turnaround is how the last batches of an org proceeded, as the journal has it;
// zero: it has too few.
func (r *runner) turnaround(ctx context.Context, org string) flotilla.Turnaround {
	if r.journal == nil || r.shares == nil {
		return flotilla.Turnaround{}
	}
	last, err := r.journal.Turnarounds(ctx, r.shares.realm, org, turnaroundsAsked)
	if err != nil {
		return flotilla.Turnaround{} // a forecast may do without
	}
	return turnaroundOf(last)
}

// What batches do where nothing else is known: how long one waits before its
// first row, and how many of an org proceed at a time (facts/control.md C.2, D).
const (
	usualOverhead = time.Minute
	usualParallel = 8
)

// turnaroundOf is by the line that those which ended by themselves lie on, else
// takes the overhead as usual, or as half of what the quickest took where that
// was less, and the middle rate. Where many stood in line for each other, their
// time is mostly that: then what they got through together says more.
func turnaroundOf(last []journal.Turnaround) (t flotilla.Turnaround) {
	last = slices.DeleteFunc(slices.Clone(last), func(b journal.Turnaround) bool { return b.Canceled || b.Rows == 0 || b.Took <= 0 })
	if len(last) < turnaroundsLeast {
		return t
	}
	alone := turnaroundMiddle(last)
	if line, ok := turnaroundLine(last); ok {
		t = line
	} else {
		t = alone
	}
	if rate := together(last) / usualParallel; rate > t.RowRate {
		t.RowRate, t.Overhead = rate, alone.Overhead
	}
	return t
}

func turnaroundMiddle(last []journal.Turnaround) flotilla.Turnaround {
	t := flotilla.Turnaround{Overhead: usualOverhead}
	for _, b := range last {
		t.Overhead = min(t.Overhead, b.Took/2)
	}
	rates := make([]float64, len(last))
	for i, b := range last {
		rates[i] = float64(b.Rows) / (b.Took - t.Overhead).Seconds()
	}
	t.RowRate = middle(rates)
	return t
}

// together is how many rows a second came back while at least one batch was out,
// in the best stretch: a run that ended in a few small ones was slow for want of
// rows. It sorts last.
func together(last []journal.Turnaround) (best float64) {
	slices.SortFunc(last, func(a, b journal.Turnaround) int { return a.Made.Compare(b.Made) })
	for i := 0; i == 0 || i+turnaroundsStretch <= len(last); i += turnaroundsStretch / 4 {
		best = max(best, stretch(last[i:min(i+turnaroundsStretch, len(last))]))
	}
	return best
}

// stretch is together of all of them, in the order in which they were made.
func stretch(last []journal.Turnaround) float64 {
	rows, out, until := 0, time.Duration(0), last[0].Made
	for _, b := range last {
		rows += b.Rows
		if end := b.Made.Add(b.Took); end.After(until) {
			out += min(end.Sub(until), b.Took)
			until = end
		}
	}
	return float64(rows) / out.Seconds()
}

// turnaroundLine tells the wait from the rate by batches of different sizes: the
// last ones of a job, and those near a cap, are so small that nearly all of their
// time is the wait, and their rows over it are no rate. It takes the middle of
// the slopes through every two of them, which a few that stood still do not bend.
func turnaroundLine(last []journal.Turnaround) (t flotilla.Turnaround, ok bool) {
	if len(last) < turnaroundsBent || !unequal(last) {
		return t, false
	}
	var slopes, waits []float64
	for i, a := range last {
		for _, b := range last[i+1:] {
			if a.Rows != b.Rows {
				slopes = append(slopes, (b.Took-a.Took).Seconds()/float64(b.Rows-a.Rows))
			}
		}
	}
	perRow := middle(slopes)
	if perRow <= 0 {
		return t, false
	}
	for _, b := range last {
		waits = append(waits, b.Took.Seconds()-perRow*float64(b.Rows))
	}
	t.RowRate, t.Overhead = 1/perRow, max(seconds(middle(waits)), 0)
	return t, t.Overhead > 0 // 0 would be that it is unknown
}

// unequal reports whether a quarter of the batches have less than half of the
// rows that another quarter have: nearer ones tell their noise apart.
func unequal(last []journal.Turnaround) bool {
	rows := make([]int, len(last))
	for i, b := range last {
		rows[i] = b.Rows
	}
	slices.Sort(rows)
	return 2*rows[len(rows)/4] < rows[len(rows)-1-len(rows)/4]
}

func middle(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
