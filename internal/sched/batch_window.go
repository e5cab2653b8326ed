package sched

// The batch window is how many batches of ours may be outstanding in an org
// (facts/control.md B.12): more after each that ended in about its time, half
// as many after a stall.
//
// It begins with more and smaller batches than the two of 500 rows there: what
// is wanted is the full rate at once, for an hour of good rates does not come
// back, at a depth that few queues were seen to stall at. Beyond that depth it
// opens slowly, and only where batches do not merely wait for each other.
const (
	startWindow = 20
	startRows   = 145
	startDepth  = startWindow * startRows
	mostWindow  = 64   // then it is their size that grows
	slowStart   = 1.0  // for each batch, below the depth that it begins with
	slowOpen    = 0.25 // above
	sizeGrowth  = 1.01
	fairRows    = 300
	waitsMost   = 1.15   // times the time of those that waited least
	quickFade   = 1.0002 // a batch
	timeEnough  = 0.7    // of the time left: where the rest takes no longer, nothing more is put in
	depthShare  = 0.95   // of the depth at which a queue stalled
)

// open sets the window for the first stream that comes.
func (q *batchQueue) open() {
	if q.win > 0 {
		return
	}
	q.win, q.size = startWindow, startRows
	if q.parallel > 0 {
		q.win = min(2*float64(q.parallel), mostWindow)
	}
}

// widen opens the window after a batch that ended in its time and was one of
// as many as were allowed, where its stream's time asks for more.
func (c *Core) widen(q *batchQueue, b *batch, took, usual float64) {
	late := took / (q.start() + float64(b.rows))
	q.waits.add(late)
	if q.waits.n >= knownRates {
		now := q.waits.recent(knownRates)
		if q.quick == 0 || now < q.quick {
			q.quick = now
		}
		q.quick *= quickFade
	}
	if usual > 0 && took > 2*usual || !b.full || q.rate() < slowRate {
		return
	}
	if q.size < fairRows && q.depth == 0 {
		q.size *= sizeGrowth
	}
	if !c.hastens(b.stream) || q.waits.recent(knownRates) > waitsMost*q.quick {
		return
	}
	switch {
	case q.win >= mostWindow && q.depth == 0:
		q.size = min(q.size*sizeGrowth, maxBatchRows)
	case q.win*float64(b.rows) < startDepth:
		q.win += slowStart
	default:
		q.win += slowOpen
	}
}

// narrow halves the window after a stall.
func (q *batchQueue) narrow() {
	q.win = max(1, q.win/2)
	q.size = startRows
}

// hastens says whether a stream needs its batches answered faster than they
// are.
func (c *Core) hastens(s *stream) bool {
	o := &s.bat.plan
	if s.Route.Target == 0 {
		return true
	}
	return o.due < Never && float64(s.backlog()) > timeEnough*o.batch*secsTo(c.now, o.due)
}
