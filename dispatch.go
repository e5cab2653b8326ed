package flotilla

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
)

// feedBytes bounds the bodies that a Dispatch holds unsent: an iterator has no
// far end to look at, so we look a bounded way ahead.
const feedBytes = 64 << 20

// Dispatch makes the calls that requests yields and yields each result as it
// completes, in completion order. It pulls requests only as far ahead as it
// needs. A failed call is a Result whose Err says so; a run that hit its cap
// ends with a Result whose Err is a *BudgetExceededError, one that ended before
// its last request for another reason (a deadline, lanes closed for too long,
// Close) with an *IncompleteError, and nothing follows it. Leaving the loop
// early cancels what was not sent; what is in flight settles into the store. A
// context that ends does the same.
//
// When nothing can be sent at all (no usable key, a closed fleet) the one
// Result yielded says so in Err. A body that cannot be sent (not JSON, a model
// without a price, under a cap a tool billed per use) gives a Result with a
// *RequestError.
//
// The iterator runs in a goroutine of its own. After an early end of the loop
// it is told so when it next yields: one that blocks for ever is left behind. A
// panic in it is the program's end: the caller of Dispatch cannot recover it.
func (f *Fleet) Dispatch(ctx context.Context, requests iter.Seq[Request], opt Options) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		src := newFeed(f, cancel)
		src.capped = f.cfg.Spend != 0 || opt.MaxSpend != 0 || opt.Purse != nil
		go src.pull(ctx, requests)
		var report Report
		var err error
		go func() {
			report, err = f.Carry(ctx, src, opt)
			src.close()
		}()
		if !src.each(yield) {
			return
		}
		switch {
		case err != nil:
			yield(Result{Row: -1, Err: err})
		case report.Budget != nil:
			yield(Result{Row: -1, Err: report.Budget})
		case report.Cause != Finished && ctx.Err() == nil:
			yield(Result{Row: -1, Err: &IncompleteError{Cause: report.Cause, Closed: report.Closed}})
		}
	}
}

// feed is the Source over an iterator.
type feed struct {
	fleet   *Fleet
	capped  bool // money is: what has no worst case is not sent
	cancel  func()
	results chan Result
	gone    chan struct{} // closed when nobody reads results any more
	over    chan struct{} // closed when Carry has returned

	mu     sync.Mutex
	room   sync.Cond
	held   map[int]Request // given to the fleet or queued, by row, until settled
	rows   []Row           // queued
	bytes  int
	next   int
	ended  bool
	closed bool
	seen   map[[16]byte]int
}

func newFeed(f *Fleet, cancel func()) *feed {
	s := &feed{fleet: f, cancel: cancel, results: make(chan Result), gone: make(chan struct{}), over: make(chan struct{}), held: map[int]Request{}, seen: map[[16]byte]int{}}
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
	s.held[row] = req
	s.rows = append(s.rows, Row{Index: row, Facts: facts, Nth: nth})
	s.bytes += len(req.Body)
	first := len(s.rows) == 1
	s.mu.Unlock()
	if first { // else the loop has not taken all it could
		s.kick()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes > feedBytes || len(s.rows) > lookAhead {
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
	s.rows = s.rows[:copy(s.rows, s.rows[n:])]
	if n > 0 {
		s.room.Broadcast()
	}
	if s.ended && len(s.rows) == 0 {
		return rows, io.EOF
	}
	return rows, nil
}

// Body implements Source.
func (s *feed) Body(row int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req, ok := s.held[row]
	if !ok {
		return nil, errors.New("the request has settled")
	}
	return req.Body, nil
}

// Settled implements Source.
func (s *feed) Settled(ctx context.Context, res Result) error {
	s.mu.Lock()
	req := s.held[res.Row]
	delete(s.held, res.Row)
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
