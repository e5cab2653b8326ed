package sched

import (
	"math"
	"time"
)

// lot is a batch that may be begun.
type lot struct {
	rows, bytes, worst int64
	canary             bool
}

// rowsFor is how many rows a batch of the org carries: few, so that few are
// outstanding at full rate (whatever starves a queue by its depth or batches by
// their size leaves those alone), and still enough to proceed for longer than
// they take to begin.
func (q *batchQueue) rowsFor(c *Core) int64 {
	n := int64(startRows)
	switch {
	case c.cfg.BatchRows > 0:
		return c.cfg.BatchRows
	case q.known() && q.rate() < slowRate:
		n = min(max(int64(q.rate()*slowHorizon), canaryRows), n)
	default:
		n = max(n, int64(q.size))
	}
	return max(n, q.byCalls(c))
}

const (
	slowHorizon = 600 // seconds that a batch should take where all are slow
	tailRows    = 25  // at least, where the last rows are shared out
	createShare = 0.125
)

// byCalls keeps the creates of a small limit on calls to an eighth of it.
func (q *batchQueue) byCalls(c *Core) int64 {
	if q.n == 0 || !q.known() {
		return 1
	}
	n := c.flow(q) / (createShare * q.calls.perSec)
	return int64(min(max(n, 1), maxBatchRows))
}

// chunkFor works out a batch of a pile on a lane that is open, or says what
// holds it.
func (c *Core) chunkFor(s *stream, p *pile, l *lane) (k lot, why Limit, at time.Duration) {
	q := l.org.batches
	left := p.left()
	if c.now < p.until {
		return k, LimitWork, p.until
	}
	rows := q.rowsFor(c)
	if q.stall.on {
		rows, k.canary = canaryRows, true
	}
	if c.cfg.BatchRows == 0 && q.n == 0 {
		rows = min(rows, c.partOf(s, p, rows))
	}
	if most := c.horizonRows(s, q); most < rows {
		if rows = most; rows < min(tailRows, left) {
			return k, LimitWork, Never
		}
	}
	if room := q.room(); room < rows {
		if rows = room; rows < min(tailRows, left) && q.n > 0 {
			return k, LimitBatchQueue, Never
		}
	}
	if p.Bytes > 0 {
		rows = min(rows, max(1, int64(float64(l.maxBytes)/p.Bytes)))
	}
	if rows = min(rows, left, maxBatchRows); left-rows < min(rows, tailRows) && left <= min(q.room(), maxBatchRows) && !k.canary {
		rows = left // no crumbs
	}
	if rows < 1 {
		return k, LimitBatchQueue, Never
	}
	k.rows, k.bytes = rows, l.maxBytes
	return k, LimitNone, 0
}

// partOf is an org's part of a backlog that is less than a batch of the usual
// size for each that has none: split among them it ends sooner.
func (c *Core) partOf(s *stream, p *pile, rows int64) int64 {
	left, orgs := p.left(), int64(0)
	for _, l := range p.pool.batch {
		if q := l.org.batches; l.open && !s.denies(l) && q.n == 0 && !q.stall.on {
			orgs++
		}
	}
	if orgs < 2 || left >= orgs*rows {
		return rows
	}
	return max(tailRows, (left+orgs-1)/orgs)
}

// horizonRows is how many rows a batch begun now gets answered before it would
// be ended again, by a deadline or because sync has been there. Where sync takes
// no part it is what lets all batches end together.
func (c *Core) horizonRows(s *stream, q *batchQueue) int64 {
	o := &s.bat.plan
	end := math.Inf(1)
	sync := !s.Route.NoSync && o.sync > 0 && o.affords > s.offered
	switch {
	case sync && o.timed && o.meet == Never:
		return c.rowsByDue(s, q)
	case sync:
		end = secsTo(c.now, o.meet)
	case o.batch > 0 && q.known():
		end = max(c.batchWork()/o.batch, 2*q.start())
	}
	if math.IsInf(end, 1) {
		return maxBatchRows
	}
	n := horizonShare * q.rate() * (end - startSpread*q.start())
	if !sync {
		n = max(n, tailRows) // nothing else takes them
	}
	return int64(max(0, min(n, maxBatchRows)))
}

// batchWork is all rows that batches are to answer, of all streams: they share
// the orgs' places, and small batches at the end of a stream that is not the
// last would only leave places empty.
func (c *Core) batchWork() float64 {
	rows := int64(0)
	for _, s := range c.streams {
		if s.batches(c.now) {
			rows += s.backlog()
		}
	}
	for _, b := range c.bat.live {
		rows += b.rows
	}
	return float64(rows)
}

// rowsByDue is how many rows a batch carries that is to have ended by the
// stream's time nine times of ten. Where all are slow none would, but what a
// batch answers until it is cancelled is won, and no place is left empty.
func (c *Core) rowsByDue(s *stream, q *batchQueue) int64 {
	o := &s.bat.plan
	end := secsTo(c.now, o.due-rescueEnd)
	if q.rates.n < knownRates || q.rate() < slowRate {
		end -= secs(c.cancelWithin(s)) // what its like take is hardly known
	}
	n := q.rate() * (end/q.spread() - q.start())
	if q.rate() < slowRate && end > q.start() {
		n = max(n, tailRows)
	}
	return int64(max(0, min(n, maxBatchRows)))
}

// horizonShare of the time left is counted on, and a start that is slower than
// most, for batches differ: one that ends late costs all its rows' time, one that
// was not begun a second of sync.
const (
	horizonShare = 0.8
	startSpread  = 1.6
)

// vary takes up to 4 % off a batch, so that time and number of rows tell the
// batches of one second apart where the answer to a create was lost. The last
// of a pile takes what is left.
func (c *Core) vary(rows, left int64) int64 {
	if rows >= left || rows < 25 {
		return rows
	}
	return rows - int64(c.bat.rng.r.Float64()*0.04*float64(rows))
}
