package sched

// The batch window is how many batches of ours may be outstanding in an org
// (facts/control.md B.12): one more for each that ended in about its time, half
// as many after a stall.
//
// It begins with more and smaller batches than the two of 500 rows there: what
// is wanted is the full rate at once, for an hour of good rates does not come
// back, at a depth that no queue was seen to stall at.
const (
	startWindow = 16
	startRows   = 150
	mostRows    = 500 // chosen; 2,400 to begin with, and less than this of each at full rate
	mostWindow  = 64
	waitsMost   = 1.3 // times the time without a wait for a place: more outstanding only wait longer
	depthShare  = 0.95
)

// open sets the window for the first stream that comes.
func (q *batchQueue) open() {
	if q.win > 0 {
		return
	}
	q.win = startWindow
	if q.parallel > 0 {
		q.win = min(2*float64(q.parallel), mostWindow)
	}
}

// widen opens the window after a batch that ended in its time and was one of
// as many as were allowed, as long as more outstanding do not merely wait for
// each other.
func (q *batchQueue) widen(b *batch, took, usual float64) {
	if usual > 0 && took > 2*usual {
		return
	}
	if b.full && q.waiting(b.rows) <= waitsMost {
		q.win = min(q.win+1, mostWindow)
	}
}

// waiting is how much longer batches take now than those that waited least.
func (q *batchQueue) waiting(rows int64) float64 {
	n := float64(rows)
	return (q.start() + n/q.rate()) / (q.start() + n/q.best())
}
