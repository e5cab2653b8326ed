package flotilla

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// lineCall is a Call on its way. The caller's goroutine carries out its
// exchanges and otherwise waits for the loop to say what is next.
type lineCall struct {
	Call
	line     *Line
	ctx      context.Context // the caller's
	arrived  time.Duration
	affinity uint32    // equal for calls that mark the same beginning for a cache; 0: none
	turns    chan turn // to the caller's goroutine: never more than one is due

	// The caller's goroutine's.
	prior Money // what earlier attempts cost

	// The loop's.
	id      sched.CallID
	unpaid  bool     // it waited for a block when its time was over
	expired bool     // its MaxWait is over, or its Stop closed: it is not sent again
	stopped bool     // its Stop is closed
	handed  bool     // Do has returned
	broke   *attempt // its newest attempt, where that got no answer; nil: it got one
	tries   int      // attempts that were sent and ended
	doubts  bool     // one of them may have been answered and billed
	verdict error    // what Do is to say once the call is out of the core; nil: by its Settle
}

// turn is what the caller's goroutine is to do next: carry an attempt out, or
// return.
type turn struct {
	attempt *attempt
	answer  *attempt // whose answer stands
	tries   int
	err     error
}

// lineOp is what a message says of a lineCall.
type lineOp uint8

const (
	lineArrives lineOp = iota
	lineExpires        // its MaxWait is over
	lineStops          // its Stop is closed
	lineLeaves         // its caller has gone
)

// carry takes the call to its answer.
func (lc *lineCall) carry() (*Answer, error) {
	f := lc.line.fleet
	patience := f.timer(f.clock.real(cmp.Or(lc.MaxWait, defaultCallWait)))
	defer func() {
		patience.Stop()
		f.timers.Put(patience)
	}()
	left, stop := lc.ctx.Done(), lc.Stop
	f.inbox.put(message{line: lc})
	for {
		select {
		case t := <-lc.turns:
			if t.attempt == nil {
				return lc.end(t)
			}
			if ans, err := lc.exchange(t.attempt); ans != nil || err != nil {
				return ans, err
			}
		case <-patience.C:
			f.inbox.put(message{line: lc, op: lineExpires})
		case <-stop:
			stop = nil
			f.inbox.put(message{line: lc, op: lineStops})
		case <-left:
			left = nil // the loop's last word still comes: an attempt may be on its way here
			f.inbox.put(message{line: lc, op: lineLeaves})
		case <-f.done:
			return nil, cmp.Or(f.fatal, ErrClosed)
		}
	}
}

// tellLate says, before an attempt is told to have ended, what happened while the
// caller's goroutine carried it out: the core would send the call again else.
func (lc *lineCall) tellLate() {
	f := lc.line.fleet
	select {
	case <-lc.Stop:
		f.inbox.put(message{line: lc, op: lineStops})
	default:
	}
	if f.clock.now()-lc.arrived >= cmp.Or(lc.MaxWait, defaultCallWait) {
		f.inbox.put(message{line: lc, op: lineExpires})
	}
}

// timer is one that was used before, where there is one: nearly every call stops
// its own long before it is due.
func (f *Fleet) timer(d time.Duration) *time.Timer {
	if t, ok := f.timers.Get().(*time.Timer); ok {
		t.Reset(d)
		return t
	}
	return time.NewTimer(d)
}

// end turns the loop's last word into Do's results.
func (lc *lineCall) end(t turn) (*Answer, error) {
	switch {
	case t.err != nil:
		return nil, t.err
	case t.answer == nil || t.answer.answer.api == nil:
		return nil, &TransportError{Err: errUnroutable, Attempts: t.tries}
	}
	return lc.refusedAnswer(t.answer, t.tries), nil
}

// offerArrived offers the calls of lines that came one after the other: one step
// takes them all.
func (f *Fleet) offerArrived(now time.Duration) {
	if len(f.offered) > 0 {
		f.step(now, &sched.Offer{Calls: f.offered})
		f.offered = f.offered[:0]
	}
}

// arrive makes a call of the fleet out of a lineCall, to be offered.
func (f *Fleet) arrive(now time.Duration, lc *lineCall) {
	l, facts := lc.line, lc.Facts
	s := l.stream
	if s.closed || s.ended() {
		lc.turns <- turn{err: cmp.Or(f.fatal, ErrClosed)}
		return
	}
	p := f.poolOf(now, facts.Pool, facts.Family)
	if err := f.neverPaid(s, facts.Worst); err != nil {
		lc.turns <- turn{err: err}
		return
	}
	if err := f.shutOutLine(now, lc, p); err != nil {
		lc.turns <- turn{err: err}
		return
	}
	f.nextCall++
	lc.id = f.nextCall
	f.calls[lc.id] = &call{id: lc.id, stream: s, line: lc, at: now, row: Row{Index: l.row, Facts: *facts, Nth: lc.Nth}}
	l.row++
	s.open++
	f.offered = append(f.offered, sched.Call{
		ID: lc.id, Stream: s.id, Pool: p.id, Model: f.model(facts.Model),
		In: clampInt(facts.In), MaxOut: clampInt(facts.MaxTokens), Out: clampInt(facts.Out),
		Worst: int64(facts.Worst), Affinity: lc.affinity,
	})
}

// poolOf is pool, found without a name made for it.
func (f *Fleet) poolOf(now time.Duration, name, family string) *poolState {
	if p := f.pools[name]; p != nil {
		return p
	}
	f.offerArrived(now) // opening lanes steps the core: what came before goes first
	return f.pool(now, name, family)
}

// lineSays takes in that a caller has gone, that its patience is over, or that it
// is no longer one.
func (f *Fleet) lineSays(now time.Duration, lc *lineCall, op lineOp) {
	c := f.calls[lc.id]
	if c == nil || c.line != lc {
		return // it has its last word
	}
	switch op {
	case lineLeaves:
		f.takeBack(now, c, lc.ctx.Err())
	case lineExpires, lineStops:
		lc.expired, lc.stopped = true, lc.stopped || op == lineStops
		if c.flying == 0 {
			f.takeBack(now, c, f.lateError(now, c))
		}
		f.dropWaitingOf(c)
	}
}

// dropWaitingOf ends an attempt of a line's call that waits for money alone.
func (f *Fleet) dropWaitingOf(c *call) {
	if c.line != nil && c.flying > 0 {
		f.dropWaiting(c.line.line, func(a *attempt) bool {
			c.line.unpaid = c.line.unpaid || a.call == c
			return a.call == c
		})
	}
}

// takeBack withdraws a call; Do gives err.
func (f *Fleet) takeBack(now time.Duration, c *call, err error) {
	c.line.verdict = err
	f.step(now, &sched.Withdraw{Call: c.id})
}

// launchLine gives an attempt to the caller's goroutine.
func (f *Fleet) launchLine(a *attempt) { a.call.line.turns <- turn{attempt: a} }

// settleLine takes the core's verdict on a line's call.
func (f *Fleet) settleLine(now time.Duration, c *call, s *sched.Settle) {
	lc := c.line
	delete(f.calls, c.id)
	c.stream.open--
	a := f.attempt(c, s.Attempt)
	if a == nil {
		a = c.last
	}
	f.recorded = f.recorded || s.Attempt != 0 && s.Attempt == f.ending
	if s.Attempts > 0 {
		f.recordLine(now, c, a, s)
	}
	if lc.handed {
		return
	}
	if lc.verdict == errPastWait {
		lc.verdict = f.lateError(now, c)
	}
	t := turn{answer: a, tries: s.Attempts, err: lc.verdict}
	switch {
	case t.err != nil:
	case s.Outcome == sched.OverBudget:
		t.err = f.capError(c.stream, 0, c.row.Facts.Worst)
	case s.Outcome == sched.Canceled:
		t.err = ErrClosed
	case a == nil && f.denied[c.row.Facts.Model] != nil:
		t.answer = &attempt{answer: *f.denied[c.row.Facts.Model]}
	case a == nil || a.answer.api == nil:
		t.err = f.errorOf(c, a, s)
	}
	lc.turns <- t
}

// dropLine ends a call of a line that was closed.
func (f *Fleet) dropLine(c *call) {
	if c.line.handed {
		return
	}
	c.line.turns <- turn{err: cmp.Or(c.line.verdict, f.fatal, ErrClosed)}
}

// lineEnded comes before the core is told that an attempt of a line's call has
// ended: one whose caller has its answer, or has gone, is not repeated.
func (f *Fleet) lineEnded(now time.Duration, c *call, a *attempt) {
	lc := c.line
	lc.handed = lc.handed || a.handed
	if a.dropped == nil { // else it only waited for its money
		lc.tries++
		lc.doubts = lc.doubts || a.answer.inDoubt()
		if lc.broke = nil; a.answer.failed != nil {
			lc.broke = a
		}
	}
	switch {
	case a.answer.succeeded():
	case a.answer.source != nil && lc.verdict == nil:
		f.takeBack(now, c, &TransportError{Err: a.answer.source, Attempts: lc.tries})
	case a.handed:
		f.takeBack(now, c, lc.verdict)
	case lc.expired && lc.verdict == nil && c.flying == 0 && !a.answer.mayStand():
		f.takeBack(now, c, errPastWait) // before the core sends it again
	}
}

// mayStand reports whether a refusal may be the call's last word.
func (a *answer) mayStand() bool {
	return a.refused != nil && (a.refused.Refusal.Class == sched.Invalid || a.refused.Refusal.Class == sched.NoModel)
}

// errPastWait stands for lateError until the core has taken in how the last
// attempt ended.
var errPastWait = errors.New("the call is not sent again")
