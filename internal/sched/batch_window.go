package sched

// The batch window is how many batches of ours may be outstanding in an org
// (facts/control.md B.12): one more for each that ended in about its time, half
// as many after a stall.
const (
	patientWindow = 2
	patientRows   = 500
	hurryWindow   = 16 // a route in a hurry begins wider with smaller batches:
	hurryRows     = 150
	mostWindow    = 64
	waitsMost     = 1.3 // times the time without a wait for a place: more outstanding only wait longer
	depthShare    = 0.95
)

// open sets the window for the first stream that comes, wider once one in a
// hurry does.
func (q *batchQueue) open(hurry bool) {
	if q.started && (q.hurried || !hurry) {
		return
	}
	w := float64(patientWindow)
	if hurry && q.depth == 0 {
		w = hurryWindow
	}
	if q.parallel > 0 {
		w = float64(q.parallel) * 1.5
	}
	q.win = max(q.win, min(w, mostWindow))
	q.started, q.hurried = true, q.hurried || hurry
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
