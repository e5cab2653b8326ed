package flotilla

import (
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Records of a line's calls are gathered for lineFlush, or lineGroup of them:
// nobody waits for them, and a commit costs the same for one and for many. What a
// crash takes of them is in doubt with its block.
const (
	lineFlush = 200 * time.Millisecond
	lineGroup = 256
)

// keeps reports whether a line's calls are recorded.
func (f *Fleet) keeps(l *Line) bool { return f.cfg.Store != nil && l.opt.Job != 0 }

// keepLine queues a record of a line.
func (f *Fleet) keepLine(now time.Duration, l *Line, r Record) {
	if len(l.lazy) == 0 {
		l.flush = now + time.Duration(float64(lineFlush)*f.clock.speed)
	}
	l.lazy = append(l.lazy, r)
	if len(l.lazy) >= lineGroup {
		f.flushLine(l)
	}
}

func (f *Fleet) flushLine(l *Line) {
	for i := range l.lazy {
		f.commits.put(entry{record: l.lazy[i]})
	}
	clear(l.lazy)
	l.lazy = l.lazy[:0]
}

// recordLineAttempt keeps an attempt that did not settle its call.
func (f *Fleet) recordLineAttempt(now time.Duration, a *attempt) {
	l := a.call.line.line
	if !f.keeps(l) || a.block == nil {
		return // not sent: it drew on nothing
	}
	r := f.attemptRecord(a)
	r.Block = a.block.number
	f.keepLine(now, l, r)
	f.recordedOn(now, l, a.block)
}

// recordLine keeps what became of a call.
func (f *Fleet) recordLine(now time.Duration, c *call, a *attempt, s *sched.Settle) {
	l := c.line.line
	if !f.keeps(l) {
		return
	}
	r := Record{
		Kind: OutcomeRecord, Job: l.opt.Job, Row: c.row.Index, Attempt: int64(s.Attempt), At: f.clock.wall(now),
		Tier: tierName(sched.Sync), Pool: c.row.Facts.Pool, Model: c.row.Facts.Model, Type: outcomeType(s.Outcome),
		Cost: Money(s.Cost), Hash: c.row.Facts.Hash, Nth: c.row.Nth, Attempts: s.Attempts,
	}
	if a != nil {
		r.Org, r.Latency, r.Emulated, r.Status = f.lanes[a.lane].org.Name, a.endedAt-a.sentAt, a.answer.emulated, a.answer.status
		r.StopReason, r.Out = a.answer.stopReason, a.answer.usage.Output
		if l.opt.Keep && s.Outcome == sched.Succeeded {
			r.Answer = a.answer.message
		}
	}
	if l.opt.Keep && s.Outcome != sched.Succeeded {
		r.Answer = Envelope(f.lineError(c, a, s))
	}
	var from *block
	if at := f.attempts[s.Attempt]; at != nil { // one that ended before has a record of its own
		from = at.block
		r.Worst, r.Charged, r.InDoubt, r.Tokens = at.worst, at.charged(), at.answer.inDoubt(), at.answer.tokens()
		if from != nil {
			r.Block = from.number
		}
	}
	f.keepLine(now, l, r)
	f.recordedOn(now, l, from)
}

// lineError is why a call has no answer, for its record.
func (f *Fleet) lineError(c *call, a *attempt, s *sched.Settle) error {
	switch {
	case s.Outcome == sched.Canceled:
		return &CanceledError{}
	case s.Outcome == sched.OverBudget:
		return f.capError(c.stream, 0, c.row.Facts.Worst)
	}
	return f.errorOf(c, a, s)
}
