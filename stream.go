package flotilla

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// lookAhead is how many rows of a stream the core holds unsent. It is far more
// than can start between two turns of the loop, and keeps memory the same for
// a thousand rows and for a million.
const lookAhead = 4096

// Bounds on results that are durable but not yet taken by the source: a stream
// is held above the first and goes on below the second.
const (
	holdBytes   = 64 << 20
	resumeBytes = 32 << 20
)

// call is a row inside the fleet until it settles.
type call struct {
	id     sched.CallID
	stream *stream
	line   *lineCall     // it is a line's; nil: a source's
	at     time.Duration // it came
	row    Row
	flying int      // attempts of it in flight
	last   *attempt // the newest attempt that ended with an answer
	first  *attempt // the one of two in flight that ended first
	hedged bool
}

// attempt finds an attempt that the core names: one that is just ending, or
// the winner of two, which ended before the other was out of the way.
func (f *Fleet) attempt(c *call, id sched.AttemptID) *attempt {
	if a := f.attempts[id]; a != nil {
		return a
	}
	if c.first != nil && c.first.id == id {
		return c.first
	}
	return nil
}

// won reports whether the call was answered by another attempt than a.
func (c *call) won(a *attempt) bool {
	return c.first != nil && c.first != a && c.first.answer.succeeded()
}

// stream is one Dispatch or Carry on its way, or a Line.
type stream struct {
	id      sched.StreamID
	line    *Line  // nil: a Dispatch or Carry
	src     Source // nil: a Line
	deque   Deque  // src, where it can be taken from at both ends; nil: it cannot
	route   Route
	opt     Options
	ctx     context.Context // of Settled: ends when results are no longer waited for
	letGo   context.CancelFunc
	ledger  sched.LedgerID // of Options.MaxSpend; -1: none
	ledgers []sched.LedgerID
	purse   *allowance
	headers map[*orgState]http.Header // of its requests, where they are not the orgs' own
	looked  looked                    // when a line's calls were last held against them

	open     int  // calls offered and not settled
	flying   int  // attempts in flight
	dropped  int  // calls that were offered and will not settle
	eof      bool // the source has no more rows, and none can come back
	held     bool // paused for undelivered results
	closed   bool // nothing new is sent
	ending   bool // its last records are on their way
	cause    Cause
	err      error
	budget   *BudgetExceededError // with CapReached
	aborted  bool
	drainBy  time.Duration // abort what is in flight then; 0: not draining
	deadline time.Duration
	started  bool

	batches   int             // that have not ended for us
	exchanges int             // creates and downloads of theirs under way
	left      []Backlog       // what the core was told of the far end
	gathered  bool            // it is to be told anew
	rescuing  bool            // as it was told to people
	shutSince time.Duration   // all orgs that have batches of it are closed; 0: they are not
	parcels   []*parcel       // of results, held until the source has taken more
	earlier   map[int]earlier // of rows that batches gave back
	refusing  []*orgState     // do not accept its batches, as people were told

	deliveries  *deliverer
	undelivered int           // bytes durable and not yet taken
	owed        int           // results on their way to the source
	tally       tally         // what the report needs
	finished    chan struct{} // closed when the stream has ended
	report      Report
}

// Carry brings every row of src to a result, and says how it ended. It returns
// when nothing of the stream is in flight any more and every result was
// delivered. The error is src's or the store's; every other end is the
// Report's Cause.
func (f *Fleet) Carry(ctx context.Context, src Source, opt Options) (Report, error) {
	if _, err := f.Connect(ctx); err != nil {
		return Report{Cause: Stopped}, err
	}
	s := &stream{src: src, opt: opt, finished: make(chan struct{})}
	s.deque, _ = src.(Deque)
	if opt.Route != nil && s.deque != nil {
		s.route = *opt.Route
	}
	if hasBreak(opt.Version) || hasBreak(strings.Join(opt.Betas, "")) {
		return Report{Cause: Stopped}, errors.New("anthropic-version and betas are single words")
	}
	if len(opt.Batches) > 0 && s.deque == nil {
		return Report{Cause: Stopped}, errors.New("batches of earlier runs need a source that can be taken from at both ends")
	}
	s.ctx, s.letGo = context.WithCancel(context.WithoutCancel(ctx))
	defer s.letGo()
	s.deliveries = newDeliverer(f.deliver)
	if opt.Caps != nil {
		go f.watchCaps(s)
	}
	f.inbox.put(message{run: func(now time.Duration) { f.open(now, s) }})
	stop := context.AfterFunc(ctx, func() {
		f.inbox.put(message{run: func(now time.Duration) { f.halt(now, s, Interrupted, nil) }})
	})
	defer stop()
	select {
	case <-s.finished:
	case <-f.done:
		if !s.ended() {
			return Report{Cause: Stopped}, cmp.Or(f.fatal, ErrClosed)
		}
	}
	return s.report, s.err
}

// ErrClosed says that the fleet was closed, or is being closed.
var ErrClosed = errors.New("the fleet is closed")

// open registers a Dispatch or Carry with the core.
func (f *Fleet) open(now time.Duration, s *stream) {
	s.headers = f.headersOf(&s.opt)
	f.register(now, s)
	f.flights.Go(s.deliveries.run)
	f.adopt(now, s)
	s.eof = s.opt.CancelBatches
}

// register makes a stream known to the core.
func (f *Fleet) register(now time.Duration, s *stream) {
	f.openLedgers(now, s)
	if !s.opt.Deadline.IsZero() {
		s.deadline = max(f.clock.at(s.opt.Deadline), 1)
	}
	s.id = f.nextStream
	f.nextStream++
	f.streams = append(f.streams, s)
	s.tally.start(f, now)
	f.step(now, &sched.AddStream{Stream: sched.StreamConfig{
		Priority: sched.Priority(s.opt.Priority),
		Weight:   s.opt.Weight,
		Deadline: s.deadline,
		Ledgers:  s.ledgers,
		N:        int64(s.opt.N),
		Route:    f.coreRoute(s.route),
	}})
}

// openLedgers opens the ledgers of a stream's own caps and gathers all that it
// draws on.
func (f *Fleet) openLedgers(now time.Duration, s *stream) {
	s.ledger = -1
	if f.cfg.Spend != 0 {
		s.ledgers = append(s.ledgers, 0)
	}
	if s.opt.MaxSpend != 0 || s.opt.Caps != nil {
		spent := s.opt.Spent + f.orphaned(s.opt.Batches)
		s.ledger = f.addLedger(now, sched.Ledger{Limit: capLimit(s.opt.MaxSpend), Spent: int64(spent)})
		s.ledgers = append(s.ledgers, s.ledger)
	}
	for _, p := range s.opt.Pots {
		s.ledgers = append(s.ledgers, p.ledger)
	}
	if s.purse = f.allowanceOf(now, s.opt.Purse); s.purse.ledger >= 0 {
		s.ledgers = append(s.ledgers, s.purse.ledger)
	}
}

// capLimit is a cap as a ledger's limit: 0 is none, a negative one lets nothing
// be spent.
func capLimit(limit Money) int64 {
	switch {
	case limit == 0:
		return -1
	case limit < 0:
		return 0
	}
	return int64(limit)
}

// watchCaps moves a stream's cap as Options.Caps says, until it ends.
func (f *Fleet) watchCaps(s *stream) {
	for {
		select {
		case limit, ok := <-s.opt.Caps:
			if !ok {
				return
			}
			f.inbox.put(message{run: func(now time.Duration) {
				if !s.ended() {
					f.step(now, &sched.SetLedger{Ledger: s.ledger, Limit: capLimit(limit)})
				}
			}})
		case <-s.finished:
			return
		case <-f.done:
			return
		}
	}
}

// fill pulls rows until the core holds enough of the stream.
func (f *Fleet) fill(now time.Duration, s *stream) {
	if s.eof || s.closed || s.held {
		return
	}
	if s.route.Batch {
		f.fillBoth(now, s)
		return
	}
	queued := f.core.Stream(s.id).Queued
	for queued < lookAhead/2 && !s.eof {
		rows, err := s.src.Pull(lookAhead - queued)
		if len(rows) > 0 {
			f.offer(now, s, rows)
			queued += len(rows)
		}
		if errors.Is(err, io.EOF) {
			s.eof = true
			f.step(now, &sched.Exhausted{Stream: s.id})
			return
		}
		if err != nil {
			f.halt(now, s, Stopped, err)
			return
		}
		if len(rows) == 0 {
			return
		}
	}
}

// offer hands rows to the core, opening the lanes their pools need.
func (f *Fleet) offer(now time.Duration, s *stream, rows []Row) {
	f.offered = f.offered[:0]
	for _, row := range rows {
		p := f.pool(now, row.Facts.Pool, row.Facts.Family)
		f.nextCall++
		c := &call{id: f.nextCall, stream: s, at: now, row: row}
		f.calls[c.id] = c
		f.offered = append(f.offered, sched.Call{
			ID: c.id, Stream: s.id, Pool: p.id, Model: f.model(row.Facts.Model),
			In: clampInt(row.Facts.In), MaxOut: clampInt(row.Facts.MaxTokens), Out: clampInt(row.Facts.Out),
			Failed: clampInt(row.Failed), InDoubt: row.InDoubt, Worst: int64(row.Facts.Worst),
			Affinity: row.Affinity,
		})
	}
	s.open += len(rows)
	f.offerArrived(now)
}

func (s *stream) ended() bool {
	select {
	case <-s.finished:
		return true
	default:
		return false
	}
}
