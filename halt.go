package flotilla

import (
	"cmp"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// halt ends the sending of a stream; what is in flight drains.
func (f *Fleet) halt(now time.Duration, s *stream, cause Cause, err error) {
	if s.ended() {
		return
	}
	drainBy := now + cmp.Or(s.opt.Drain, 20*time.Second)
	if s.closed {
		s.haltAgain(cause, err, drainBy)
		return
	}
	if cause == DeadlinePassed {
		drainBy = now + drainAfterDeadline
	}
	s.closed, s.cause, s.err, s.drainBy = true, cause, err, drainBy
	f.forget(s)
	f.step(now, &sched.CloseStream{Stream: s.id})
}

// haltAgain takes in what happens to a stream that drains: an error is told
// beside any cause, and an interrupt shortens the drain after a deadline.
func (s *stream) haltAgain(cause Cause, err error, drainBy time.Duration) {
	switch {
	case cause == Stopped && s.err == nil:
		s.cause, s.err = cause, err
	case cause == Interrupted && s.cause == DeadlinePassed:
		s.cause, s.drainBy = cause, min(s.drainBy, drainBy)
	}
}

// forget drops the calls of a closed stream that were not sent: they stay
// pending in the journal.
func (f *Fleet) forget(s *stream) {
	for _, c := range f.calls {
		if c.stream == s && c.flying == 0 {
			f.drop(c)
		}
	}
}

// drop forgets a call of a closed stream, as the core does when none of its
// attempts is in flight.
func (f *Fleet) drop(c *call) {
	if f.calls[c.id] == nil {
		return // settled
	}
	delete(f.calls, c.id)
	c.stream.open--
	c.stream.dropped++
	if c.line != nil {
		f.dropLine(c)
	}
}
