package flotilla

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
)

// Bounds on what a Dispatch holds: an iterator has no far end to look at, so we
// look a bounded way ahead. Bodies in batches are held too, for those that a
// batch does not answer are sent again.
const (
	feedBytes  = 64 << 20  // of bodies not in batches
	batchBytes = 192 << 20 // of those in batches
	feedRows   = 32 << 10  // not yet taken
)

// feed is the Deque over an iterator.
type feed struct {
	fleet   *Fleet
	capped  bool // money is: what has no worst case is not sent
	cancel  func()
	results chan Result
	gone    chan struct{} // closed when nobody reads results any more
	over    chan struct{} // closed when Carry has returned

	mu     sync.Mutex
	room   sync.Cond
	held   map[int]*feedRow // given to the fleet or queued, by row, until settled
	rows   []Row            // queued, the next one for sync first
	bytes  int              // of bodies held, but for those in batches
	far    []farEnd         // what of the queued batches may take, by pool
	away   int              // rows that batches took
	load   int              // … and the bytes of their bodies
	next   int
	ended  bool
	closed bool
	seen   map[[16]byte]int
}

// feedRow is a request that the feed holds.
type feedRow struct {
	Request
	row  Row
	away bool // a batch took it
}

func newFeed(f *Fleet, cancel func()) *feed {
	s := &feed{fleet: f, cancel: cancel, results: make(chan Result), gone: make(chan struct{}), over: make(chan struct{}), held: map[int]*feedRow{}, seen: map[[16]byte]int{}}
	s.room.L = &s.mu
	return s
}

// pull runs the caller's iterator, in a goroutine of its own since it may block.
func (s *feed) pull(ctx context.Context, requests iter.Seq[Request]) {
	defer s.end()
	for req := range requests {
		if ctx.Err() != nil || !s.take(req) {
			return
		}
	}
}

// end says that no more requests come.
func (s *feed) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.kick()
}

// take queues a request and waits for room; false ends the pulling.
func (s *feed) take(req Request) bool {
	facts, err := s.fleet.Weigh(req.Body)
	if err == nil && s.capped && facts.Metered != "" {
		err = fmt.Errorf("%s is billed per use, so a cap cannot be kept", facts.Metered)
	}
	s.mu.Lock()
	row := s.next
	s.next++
	if err != nil {
		s.mu.Unlock()
		return s.show(context.Background(), Result{ID: req.ID, Row: row, Err: &RequestError{Err: err}})
	}
	nth := s.seen[facts.Hash]
	s.seen[facts.Hash] = nth + 1
	held := &feedRow{Request: req, row: Row{Index: row, Facts: facts, Nth: nth}}
	s.held[row] = held
	s.rows = append(s.rows, held.row)
	s.queued(s.rows[len(s.rows)-1:], 1)
	s.bytes += len(req.Body)
	first := len(s.rows) == 1
	s.mu.Unlock()
	if first { // else the loop has not taken all it could
		s.kick()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes > feedBytes || len(s.rows) > feedRows {
		if s.closed {
			return false
		}
		s.room.Wait()
	}
	return !s.closed
}

// kick makes the loop look at its streams again.
func (s *feed) kick() { s.fleet.kick() }

// each yields results until Carry has returned; false when the reader left
// first, by a break, a panic or the end of its goroutine.
func (s *feed) each(yield func(Result) bool) (all bool) {
	defer func() {
		if !all {
			s.abandon()
		}
	}()
	for {
		select {
		case res := <-s.results:
			if !yield(res) {
				return false
			}
		case <-s.over:
			return true
		}
	}
}

// show hands a result to the reader; false when the reader has gone, or is
// waited for no longer.
func (s *feed) show(ctx context.Context, res Result) bool {
	select {
	case s.results <- res:
		return true
	case <-s.gone:
		return false
	case <-s.over:
		return false
	case <-ctx.Done():
		return false
	}
}

// Pull implements Source.
func (s *feed) Pull(limit int) ([]Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(limit, len(s.rows))
	rows := append([]Row(nil), s.rows[:n]...)
	s.queued(rows, -1)
	s.rows = s.rows[:copy(s.rows, s.rows[n:])]
	if n > 0 {
		s.room.Broadcast()
	}
	return rows, s.spent()
}

// spent is io.EOF when nothing more will come: no request, and no row that a
// batch may give back.
func (s *feed) spent() error {
	if s.ended && len(s.rows) == 0 && s.away == 0 {
		return io.EOF
	}
	return nil
}

// Body implements Source.
func (s *feed) Body(row int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req := s.held[row]
	if req == nil {
		return nil, errors.New("the request has settled")
	}
	return req.Body, nil
}

// Settled implements Source.
func (s *feed) Settled(ctx context.Context, res Result) error {
	s.mu.Lock()
	req := s.held[res.Row]
	delete(s.held, res.Row)
	s.comeBack(req)
	s.bytes -= len(req.Body)
	s.room.Broadcast()
	s.mu.Unlock()
	res.ID = req.ID
	s.show(ctx, res)
	return nil
}

// abandon is what leaving the loop early does.
func (s *feed) abandon() {
	close(s.gone)
	s.cancel()
	s.stop()
}

// close ends the results once Carry has returned.
func (s *feed) close() {
	s.stop()
	close(s.over)
}

// stop lets a waiting pull go.
func (s *feed) stop() {
	s.mu.Lock()
	s.closed = true
	s.room.Broadcast()
	s.mu.Unlock()
}
