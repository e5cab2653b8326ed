package flotilla

import (
	"cmp"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// tend looks after a stream once a turn of the loop: it refills it, notices
// that it is done, stuck or out of time, and ends it. It returns when it must
// be looked at again, Never if only an event can change anything.
func (f *Fleet) tend(now time.Duration, s *stream) time.Duration {
	if s.ended() {
		return sched.Never
	}
	if s.line != nil {
		return f.tendLine(now, s)
	}
	f.conclude(now, s)
	f.hold(now, s)
	s.letParcels()
	f.fill(now, s)
	if s.closed {
		f.shed(now, s)
	}
	view := f.core.Stream(s.id)
	if view.Rescuing != s.rescuing {
		s.rescuing = view.Rescuing
		if s.rescuing {
			f.notify(Notice{At: f.clock.wall(now), Kind: Rescue, Value: float64(s.unanswered(&view))})
		}
	}
	wake := time.Duration(sched.Never)
	switch {
	case s.closed && now >= s.drainBy && !s.aborted:
		s.aborted = true
		f.abortAll(s)
	case s.closed && !s.aborted:
		wake = s.drainBy
	case s.closed:
		// Aborted: only an event can change anything.
	case s.deadline > 0 && now >= s.deadline:
		f.halt(now, s, DeadlinePassed, nil)
		wake = s.drainBy
	case s.deadline > 0:
		wake = s.deadline
	}
	if f.quitting && s.closed && now >= s.drainBy {
		s.letGo()
	}
	if s.purse.until > 0 {
		wake = min(wake, s.purse.until)
	}
	switch {
	case s.closed || view.InFlight > 0:
	case s.batches > 0:
		wake = min(wake, f.shutOut(now, s, view))
	case view.Queued > 0 || s.backlog() > 0:
		wake = min(wake, f.stuck(now, s, view))
	}
	if s.open == 0 && s.flying == 0 && s.owed == 0 && s.exchanges == 0 && (s.closed || s.eof && s.batches == 0) {
		f.finish(now, s)
		return sched.Never
	}
	return wake
}

// conclude halts a stream whose fleet has failed or is being closed, also one that
// was opened since.
func (f *Fleet) conclude(now time.Duration, s *stream) {
	switch {
	case f.fatal != nil:
		f.halt(now, s, Stopped, f.fatal)
	case f.quitting:
		f.halt(now, s, Interrupted, nil)
	}
}

// hold keeps a source that takes its results slowly from filling the memory
// with them.
func (f *Fleet) hold(now time.Duration, s *stream) {
	switch {
	case !s.held && s.undelivered > holdBytes:
		s.held = true
	case s.held && s.undelivered < resumeBytes:
		s.held = false
	default:
		return
	}
	f.step(now, &sched.PauseStream{Stream: s.id, Paused: s.held})
}

// stuck decides whether a stream with calls but nothing in flight can ever go
// on: a cap may hold it, or every lane be closed for too long.
func (f *Fleet) stuck(now time.Duration, s *stream, view sched.StreamView) time.Duration {
	if view.BudgetBound && (view.Ledger != s.purse.ledger || s.purse.dry && !s.purse.asking) {
		s.budget = f.capError(s, view.Ledger, Money(view.Needs))
		f.halt(now, s, CapReached, nil)
		return now
	}
	if !view.AllClosed {
		return sched.Never
	}
	wait := cmp.Or(s.opt.MaxWait, time.Hour)
	if view.ClosedFor == sched.Daily {
		wait = cmp.Or(s.opt.MaxWaitDaily, 25*time.Hour)
	}
	limit := view.ClosedSince + wait
	if (view.Reopens != 0 && view.Reopens > limit) || now >= limit || view.Reopens == sched.Never {
		f.halt(now, s, LanesClosed, nil)
		return now
	}
	return limit
}

// shutOut decides whether a stream that waits for batches can ever see them
// end: every org that has some of them may be closed for too long. They are left
// running then.
func (f *Fleet) shutOut(now time.Duration, s *stream, view sched.StreamView) time.Duration {
	reopens := time.Duration(sched.Never)
	for _, b := range f.batches {
		if b.stream != s {
			continue
		}
		v := f.core.Lane(b.lane)
		if !v.Closed {
			s.shutSince = 0
			return sched.Never
		}
		reopens = min(reopens, v.Reopens)
	}
	if view.Queued > 0 && !view.AllClosed {
		return sched.Never
	}
	if s.shutSince == 0 {
		s.shutSince = now
	}
	limit := s.shutSince + cmp.Or(s.opt.MaxWait, time.Hour)
	if reopens > limit || now >= limit {
		f.halt(now, s, LanesClosed, nil)
		return now
	}
	return limit
}

// finish ends a stream, and lets Carry return once its last records are durable:
// what keeps them for its job is given back then.
func (f *Fleet) finish(now time.Duration, s *stream) {
	if s.ending {
		return
	}
	s.ending = true
	if !s.closed {
		s.closed, s.cause = true, Finished
		f.step(now, &sched.CloseStream{Stream: s.id})
	}
	s.tally.report.Running = f.leave(now, s)
	switch {
	case s.cause == DeadlinePassed && s.eof && s.dropped == 0 && len(s.tally.report.Running) == 0:
		s.cause = Finished // the last calls were in flight when it passed
	case s.cause == Finished && len(s.tally.report.Orphans) > 0:
		s.cause = LanesClosed // what is left is in batches of a key that we do not have
	}
	s.report = f.reportOn(now, s)
	f.rememberLanes(&s.tally)
	s.deliveries.close()
	f.endDurable(s)
}

// endDurable marks a stream as ended once all records up to here are durable, or
// the store has failed.
func (f *Fleet) endDurable(s *stream) {
	f.commits.put(entry{bare: true, then: func(err error) {
		f.inbox.put(message{run: func(time.Duration) {
			if err != nil && s.err == nil {
				s.err, s.report.Cause = err, Stopped
			}
			close(s.finished)
		}})
	}})
}

// capError says which cap holds a call.
func (f *Fleet) capError(s *stream, ledger sched.LedgerID, needs Money) *BudgetExceededError {
	limit, spent, reserved := f.core.Ledger(ledger)
	e := &BudgetExceededError{Cap: Money(limit), Spent: Money(spent + reserved), Needs: needs}
	if ledger == s.purse.ledger {
		e.Per = 24 * time.Hour
	}
	if i := slices.IndexFunc(s.opt.Pots, func(p *Pot) bool { return p.ledger == ledger }); i >= 0 {
		p := s.opt.Pots[i]
		e.Name, e.Cap, e.Spent = p.name, e.Cap-p.before, e.Spent-p.before
	}
	return e
}
