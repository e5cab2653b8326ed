package flotilla

import (
	"cmp"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// tendLine looks after a line once a turn of the loop, as tend does after other
// streams. It is on the way of every call, so it asks for little.
func (f *Fleet) tendLine(now time.Duration, s *stream) time.Duration {
	l := s.line
	f.conclude(now, s)
	wake := f.tendBlocks(now, l)
	if len(l.lazy) > 0 {
		if wake = min(wake, l.flush); now >= l.flush {
			f.flushLine(l)
		}
	}
	if s.purse.until > 0 {
		wake = min(wake, s.purse.until)
	}
	switch {
	case s.closed && now >= s.drainBy && !s.aborted:
		s.aborted = true
		f.abortAll(s)
	case s.closed && !s.aborted:
		wake = min(wake, s.drainBy)
	case !s.closed && s.open > s.flying && f.core.HeldByMoney(s.id):
		f.refuseUnpaid(now, s)
		wake = min(wake, f.askAgain(now, s.purse))
	}
	if s.closed && s.open == 0 && s.flying == 0 && !l.money.asking {
		f.finishLine(s)
		return sched.Never
	}
	return wake
}

// finishLine ends a closed line, once its last records are durable.
func (f *Fleet) finishLine(s *stream) {
	if s.ending {
		return
	}
	s.ending = true
	f.flushLine(s.line)
	f.rememberLanes(&s.tally)
	f.endDurable(s)
}

// neverPaid says which cap can never pay a call's worst case, whatever else is
// given back. What a purse may still grant is not known here.
func (f *Fleet) neverPaid(s *stream, worst Money) error {
	for _, id := range s.ledgers {
		if id == s.purse.ledger {
			continue
		}
		if limit, spent, _ := f.core.Ledger(id); limit >= 0 && Money(spent)+worst > Money(limit) {
			return f.capError(s, id, worst)
		}
	}
	return nil
}

// looked is what a look at a line's money depends on.
type looked struct {
	has    Money        // in its ledgers
	rounds int          // answers of its purse
	newest sched.CallID // that was offered
}

// refuseUnpaid takes back what waits for money that will not come. What is only
// reserved, by whom ever, may.
func (f *Fleet) refuseUnpaid(now time.Duration, s *stream) {
	p := s.purse
	dry := p.ledger >= 0 && p.dry && !p.asking
	has := Money(0)
	for _, id := range s.ledgers {
		limit, spent, _ := f.core.Ledger(id)
		has += Money(limit - spent)
	}
	at := looked{has: has, rounds: p.rounds, newest: f.nextCall}
	if at == s.looked || has == s.looked.has && !dry {
		return
	}
	s.looked = at
	refused := false
	for _, c := range f.calls {
		if c.stream != s || c.flying > 0 || c.line.verdict != nil {
			continue
		}
		err := f.neverPaid(s, c.row.Facts.Worst)
		if limit, spent, _ := f.core.Ledger(p.ledger); err == nil && dry && Money(spent)+c.row.Facts.Worst > Money(limit) && c.row.Facts.Worst > p.free {
			err, refused = f.capError(s, p.ledger, c.row.Facts.Worst), true
		}
		if err != nil {
			f.takeBack(now, c, err)
		}
	}
	if refused { // the next call asks the purse again
		limit, _, _ := f.core.Ledger(p.ledger)
		p.dry = false
		f.step(now, &sched.SetLedger{Ledger: p.ledger, Limit: limit})
	}
}

// lateError says why a call is not sent any more.
func (f *Fleet) lateError(now time.Duration, c *call) error {
	if c.line.stopped && !c.line.doubts {
		return ErrStopped
	}
	return f.waitError(now, c)
}

// waitError says why a call could not go in time: a cap, connections that break,
// else what holds the lanes.
func (f *Fleet) waitError(now time.Duration, c *call) error {
	s, worst := c.stream, c.row.Facts.Worst
	for _, id := range s.ledgers {
		if id == s.purse.ledger && !s.purse.dry {
			continue // what it grants is no cap: it is asked when the call's turn comes
		}
		if limit, spent, reserved := f.core.Ledger(id); limit >= 0 && Money(spent+reserved)+worst > Money(limit) {
			e := f.capError(s, id, worst)
			if comes := f.neverPaid(s, worst) == nil; comes && (id != s.purse.ledger || worst <= s.purse.free) {
				e.RetryAfter = moneyPause
			}
			return e
		}
	}
	if a := c.line.broke; a != nil {
		return &TransportError{Err: a.answer.err, InDoubt: c.line.doubts, Attempts: c.line.tries}
	}
	return f.outlookError(now, c.line, f.outlook(c.line))
}

func (f *Fleet) outlook(lc *lineCall) sched.Outlook {
	return f.core.Outlook(lc.line.stream.id, f.pools[lc.Facts.Pool].id, f.model(lc.Facts.Model))
}

// longestRetry is the retry-after of a call that only a person can help.
const longestRetry = time.Hour

func (f *Fleet) outlookError(now time.Duration, lc *lineCall, o sched.Outlook) *WaitError {
	e := &WaitError{Class: "limits", RetryAfter: longestRetry, Attempts: lc.tries}
	switch {
	case o.Closed:
		e.Class = "closed:" + className(o.Class)
	case o.Paused:
		e.Class = "paused"
	case o.Money || lc.unpaid:
		e.Class = "budget"
	case o.Overloaded:
		e.Class = "overloaded"
	}
	if o.At < sched.Never && !o.Paused {
		e.RetryAfter = max(o.At-now, time.Second)
	}
	return e
}

// shutOutLine says that a call waits for nothing: all lanes that could take it
// are closed for longer than it may wait.
func (f *Fleet) shutOutLine(now time.Duration, lc *lineCall, p *poolState) error {
	if len(p.lanes) == 0 {
		return &WaitError{Class: "closed:sync", RetryAfter: longestRetry}
	}
	o := f.outlook(lc)
	if o.Closed && o.At > lc.arrived+cmp.Or(lc.MaxWait, defaultCallWait) {
		return f.outlookError(now, lc, o)
	}
	return nil
}

// refuseShutOut takes back the calls that a lane's closing leaves without hope.
func (f *Fleet) refuseShutOut(now time.Duration) {
	f.parked = false
	for _, c := range f.calls {
		if c.line == nil || c.flying > 0 || c.line.verdict != nil {
			continue
		}
		if err := f.shutOutLine(now, c.line, f.pools[c.row.Facts.Pool]); err != nil {
			f.takeBack(now, c, err)
		}
	}
}
