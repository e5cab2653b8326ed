package route

import (
	"math"
	"time"
)

// BatchFrom is how many rows that a batch may carry make batches worth
// considering (interface.md, "Flags of run").
const BatchFrom = 500

// Expiry is how long a batch has before what is left of it expires
// (facts/claude-api.md 4).
const Expiry = 24 * time.Hour

// QueueShare of a batch queue is used, others' rows included: the rest is left
// free for colleagues (facts/control.md B.12).
const QueueShare = 0.8

// BatchLane is what an org's batch tier gives. It is opaque: rate and overhead
// are measured or assumed, never promised by anybody (facts/control.md C.2).
type BatchLane struct {
	Queue    float64       // rows that may be in processing; 0: none known, so none that binds
	Others   float64       // of them, rows of others
	Overhead time.Duration // before a batch begins to proceed
	RowRate  float64       // rows a second of one batch; 0: nothing proceeds
	Parallel int           // batches that proceed at once; 0: nothing proceeds
}

// Rate is how many rows a second the lane's batches answer together. A row
// takes a place in the queue for the overhead and its own time at least, so a
// short queue bounds the rate too.
func (l *BatchLane) Rate() float64 {
	mu := l.RowRate * float64(max(l.Parallel, 0))
	if mu <= 0 {
		return 0
	}
	if l.Queue > 0 {
		stay := l.Overhead.Seconds() + 1/l.RowRate
		mu = min(mu, max(l.Queue-l.Others, 0)/stay)
	}
	return mu
}

// Outstanding is how many rows of ours the lane may hold at once: what the queue
// leaves with its headroom, and no more than can end before they expire.
func (l *BatchLane) Outstanding() float64 {
	rows := l.Rate() * (Expiry - l.Overhead).Seconds()
	if l.Queue > 0 {
		rows = min(rows, QueueShare*l.Queue-l.Others)
	}
	return max(rows, 0)
}

// Given is how many rows the lane has answered by t at best.
func (l *BatchLane) Given(t time.Duration) float64 { return l.given(t.Seconds()) }

func (l *BatchLane) given(t float64) float64 {
	return l.Rate() * max(t-l.Overhead.Seconds(), 0)
}

// BatchBound is the least time in which the batch tier can carry so many rows
// over the lanes, split among them so that all end together: overhead, then
// rows over rate (facts/control.md C.2). Never: nothing proceeds on any.
func BatchBound(lanes []BatchLane, rows float64) time.Duration {
	return duration(batchTime(lanes, rows))
}

func batchTime(lanes []BatchLane, rows float64) float64 {
	return least(rows, func(t float64) float64 {
		sum := 0.0
		for i := range lanes {
			sum += lanes[i].given(t)
		}
		return sum
	})
}

// BatchSplit is how BatchBound splits the rows over the lanes.
func BatchSplit(lanes []BatchLane, rows float64) []float64 {
	split := make([]float64, len(lanes))
	t := batchTime(lanes, rows)
	if math.IsInf(t, 1) {
		return split
	}
	sum := 0.0
	for i := range lanes {
		split[i] = lanes[i].given(t)
		sum += split[i]
	}
	for i := range split {
		if sum > 0 {
			split[i] *= rows / sum // the bisection's last nanosecond
		}
	}
	return split
}

// duration is seconds as a Duration, rounded down; beyond what one holds Never.
func duration(seconds float64) time.Duration {
	if seconds < float64(Never)/float64(time.Second) {
		return time.Duration(seconds * float64(time.Second))
	}
	return Never
}
