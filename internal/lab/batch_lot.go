package lab

import (
	"math"
	"slices"
	"time"
)

// lot is one batch that an experiment sends: equal rows, sent at a time, and
// given up at an age.
type lot struct {
	Name string        `json:"name"` // within its round
	Org  string        `json:"org"`
	Rows int           `json:"rows"`
	At   time.Duration `json:"at,omitempty"` // after the beginning of the round
	// Cut is the age at which it is canceled, if it has not ended by then.
	Cut time.Duration `json:"cut"`
	// Looked says that Cut is when the lot is looked at, and no matter of
	// patience: a running batch shows nothing, but what had succeeded when it was
	// canceled comes back (facts/control.md E.3).
	Looked bool `json:"looked,omitempty"`
}

// outcome is what the API shows of a lot that has ended. Times are the
// server's: they do not depend on when it was polled.
type outcome struct {
	lot
	ID      string    `json:"id"`
	Created time.Time `json:"created_at"`
	Asked   time.Time `json:"cancel_initiated_at,omitzero"` // zero: nobody canceled it
	Ended   time.Time `json:"ended_at"`

	Succeeded int `json:"succeeded"`
	Errored   int `json:"errored,omitempty"`
	Canceled  int `json:"canceled,omitempty"`
	Expired   int `json:"expired,omitempty"`
}

// done is how many rows were processed.
func (o *outcome) done() int { return o.Succeeded + o.Errored }

// whole says that it ended by itself, with every row processed.
func (o *outcome) whole() bool { return o.Canceled == 0 && o.Expired == 0 }

// worked is how long its rows had: to its end, or to the cancel.
func (o *outcome) worked() time.Duration {
	if !o.whole() && !o.Asked.IsZero() && o.Asked.Before(o.Ended) {
		return o.Asked.Sub(o.Created)
	}
	return o.Ended.Sub(o.Created)
}

// leastSpan is the share of its time that a lot is taken to have proceeded in,
// whatever the overhead: the overhead is known as the median of others', and a
// lot that had less of it would seem infinitely fast.
const leastSpan = 0.25

// pooledRate is rows a second of lots, each counted by the time it had after
// the overhead: the ratio of sums, in which a lot that was lucky in its overhead
// weighs little. Where no row was processed it is that of half a row, so that
// it has a logarithm.
func pooledRate(lots []outcome, overhead time.Duration) float64 {
	done, span := 0.0, 0.0
	for i := range lots {
		worked := lots[i].worked().Seconds()
		done += float64(lots[i].done())
		span += max(worked-overhead.Seconds(), leastSpan*worked)
	}
	if span <= 0 {
		return math.NaN()
	}
	return max(done, 0.5) / span
}

func logRate(lots []outcome, overhead time.Duration) float64 {
	return math.Log(pooledRate(lots, overhead))
}

// quickest are the n lots with the highest rates. Of many batches sent together
// only some are processed at once; how many is not known, and the API does not
// show which.
func quickest(lots []outcome, n int, overhead time.Duration) []outcome {
	sorted := slices.Clone(lots)
	rate := func(o outcome) float64 { return pooledRate([]outcome{o}, overhead) }
	slices.SortStableFunc(sorted, func(a, b outcome) int {
		switch ra, rb := rate(a), rate(b); {
		case ra > rb:
			return -1
		case ra < rb:
			return 1
		}
		return 0
	})
	return sorted[:min(n, len(sorted))]
}

// assumedOverhead is what passes before a batch's first row where nothing has
// shown it (facts/control.md C.2: 60 to 120 s).
const assumedOverhead = time.Minute

// overheadOf is the median time of batches of one row; ok is false where none
// has ended by itself.
func overheadOf(lots []outcome) (overhead time.Duration, n int) {
	var took []time.Duration
	for i := range lots {
		if lots[i].Rows == 1 && lots[i].whole() {
			took = append(took, lots[i].worked())
		}
	}
	if len(took) == 0 {
		return assumedOverhead, 0
	}
	slices.Sort(took)
	return (took[(len(took)-1)/2] + took[len(took)/2]) / 2, len(took)
}

// spanOf is when, after the first creation, the first and the last of lots
// ended.
func spanOf(lots []outcome) (first, last time.Duration) {
	if len(lots) == 0 {
		return 0, 0
	}
	began := lots[0].Created
	for i := range lots {
		if lots[i].Created.Before(began) {
			began = lots[i].Created
		}
	}
	first = time.Duration(math.MaxInt64)
	for i := range lots {
		first = min(first, lots[i].Ended.Sub(began))
		last = max(last, lots[i].Ended.Sub(began))
	}
	return first, last
}

// allWhole says that none of the lots was cut.
func allWhole(lots []outcome) bool {
	return !slices.ContainsFunc(lots, func(o outcome) bool { return !o.whole() })
}

// named are the lots whose names begin with a word.
func named(lots []outcome, word string) []outcome {
	var some []outcome
	for _, o := range lots {
		if len(o.Name) >= len(word) && o.Name[:len(word)] == word {
			some = append(some, o)
		}
	}
	return some
}
