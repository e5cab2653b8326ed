package flotilla

import "time"

// Route says which tiers a stream's requests may take, and by when they should
// have ended. The zero Route is sync alone.
type Route struct {
	// Batch lets rows that a batch may carry be taken from the far end of a
	// Deque into batches, at half price.
	Batch bool
	// NoSync, with Batch, sends by sync only what no batch may carry: nothing is
	// rescued from batches that do not end.
	NoSync bool
	// Target, with Batch, is when all is to have ended: sync takes only what
	// batches will not have answered by then. Zero: as soon as possible, both
	// tiers at full until they meet.
	Target time.Time
	// Patient, with Batch and a zero Target, leaves everything to batches until
	// the deadline needs a rescue by sync; without a deadline, for good.
	Patient bool
}
