package sched

import (
	"slices"
	"time"
)

// streamBatches is what a stream that may batch has beside its calls.
type streamBatches struct {
	piles    []*pile
	denied   []*lane // refuse what it sends
	gathered float64 // rows over its weight, for fairness between streams
	cost     mean    // nano-dollars of an answered row by batch
	plan     outlook

	held     bool // by money: a chunk was not begun for want of it
	ledger   LedgerID
	needs    int64
	wanting  bool
	wantedAt time.Duration
	heldAt   time.Duration // since when a chunk of tailRows or more waits for money; 0: none does
	gate     int64         // the limit, and 1, for which money for sync was last asked; 0: never
}

// pile is the rows of one pool at the far end of a stream's source.
type pile struct {
	Backlog
	pool    *pool
	asked   int64         // of Rows, asked for by Gathers that are not answered
	empties int           // Gathers in a row that gave nothing
	until   time.Duration // none before
}

// rows that may still be gathered.
func (p *pile) left() int64 { return max(0, p.Rows-p.asked) }

func (p *pile) found(rows int64) {
	p.Rows = max(0, p.Rows-rows)
	p.empties = 0
}

// empty keeps a source that has rows and gives none from being asked in a loop.
func (p *pile) empty(now time.Duration) {
	p.empties++
	p.until = now + min(emptyWait<<min(p.empties-1, 6), 5*time.Minute)
}

const emptyWait = 5 * time.Second

func (s *stream) batchState() *streamBatches {
	if s.bat == nil {
		s.bat = &streamBatches{}
	}
	return s.bat
}

// batches says whether the stream may gather now.
func (s *stream) batches(now time.Duration) bool {
	return s.Route.Batch && s.bat != nil && s.sendable(now)
}

func (s *stream) pile(p *pool) *pile {
	if s.bat != nil {
		for _, x := range s.bat.piles {
			if x.pool == p {
				return x
			}
		}
	}
	return nil
}

// backlog is how many rows are left for batches in all.
func (s *stream) backlog() int64 {
	n := int64(0)
	if s.bat != nil {
		for _, p := range s.bat.piles {
			n += p.left()
		}
	}
	return n
}

// deny takes a lane from a stream whose batches it does not accept, so that
// the same rows are not tried for ever.
func (s *stream) deny(l *lane) {
	t := s.batchState()
	if !slices.Contains(t.denied, l) {
		t.denied = append(t.denied, l)
	}
}

func (s *stream) denies(l *lane) bool { return s.bat != nil && slices.Contains(s.bat.denied, l) }

func (t *streamBatches) adopted(b *batch) { t.gathered += float64(b.rows) / b.stream.Weight }

func (c *Core) onBacklog(e *Backlog) {
	s := c.stream(e.Stream)
	if s == nil || s.closed || e.Pool < 0 || int(e.Pool) >= len(c.pools) {
		return
	}
	t := s.batchState()
	p := s.pile(c.pools[e.Pool])
	if p == nil {
		p = &pile{pool: c.pools[e.Pool]}
		t.piles = append(t.piles, p)
	}
	more := e.Rows > p.Rows
	if e.Rows <= 0 {
		p.Rows = 0 // what its rows were like is still of use
	} else {
		p.Backlog = *e
		for _, x := range [...]*float64{&p.Bytes, &p.Worst, &p.In, &p.Out, &p.MaxOut} {
			*x = sane(*x)
		}
		p.Rows = min(p.Rows, mostCount)
	}
	if more {
		c.bat.dirty = true
	} else {
		c.batchWake(c.bat.looked + replanLeast)
	}
}

// Figures beyond these are not believed, so that sums of them stay numbers.
const (
	mostCount  = 1 << 40
	mostFigure = 1e12
)

func sane(x float64) float64 {
	if x > 0 && x < mostFigure {
		return x
	}
	return 0
}

func (c *Core) onSetRoute(e *SetRoute) {
	if s := c.stream(e.Stream); s != nil {
		s.Route = e.Route
		if e.Route.Batch {
			s.batchState()
		}
		c.bat.dirty = true
	}
}
