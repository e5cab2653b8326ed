package flotilla

import (
	"errors"
	"io"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// coreRoute is a Route on the core's time line.
func (f *Fleet) coreRoute(r Route) sched.Route {
	out := sched.Route{Batch: r.Batch, NoSync: r.NoSync}
	switch {
	case !r.Target.IsZero():
		out.Target = max(f.clock.at(r.Target), 1)
	case r.Patient:
		out.Target = sched.Never
	}
	return out
}

// fillBoth pulls from the near end of a stream what the core wants for sync
// now, and tells it what is left at the far one for batches.
func (f *Fleet) fillBoth(now time.Duration, s *stream) {
	f.tellBacklog(now, s)
	for {
		view := f.core.Stream(s.id)
		pull, n := s.deque.Pull, view.Wants
		switch {
		case s.idle():
			// What is left now, if anything is, no batch takes.
			n = lookAhead / 2
		case view.OnlyIneligible:
			pull = s.deque.PullIneligible
		}
		if n <= 0 {
			return
		}
		rows, err := pull(n)
		if len(rows) > 0 {
			f.offer(now, s, rows)
			f.tellBacklog(now, s)
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
		if len(rows) < n {
			return
		}
	}
}

// idle reports whether nothing of a stream is anywhere but in its source, and
// nothing there is for batches.
func (s *stream) idle() bool {
	return s.batches == 0 && s.open == 0 && s.backlog() == 0
}

// backlog counts the rows that batches could take, as the core was told.
func (s *stream) backlog() (n int) {
	for i := range s.left {
		n += s.left[i].Rows
	}
	return n
}

// unanswered counts the rows of a stream that batches may take or that wait for
// sync: in batches, offered, and in the source, where some may have come back
// since the core was last told.
func (s *stream) unanswered(v *sched.StreamView) int {
	n := int(v.Batched) + s.open
	if s.deque != nil {
		for _, b := range s.deque.Backlog() {
			n += b.Rows
		}
	}
	return n
}

// tellBacklog tells the core of every pool whose far end has changed.
func (f *Fleet) tellBacklog(now time.Duration, s *stream) {
	for _, b := range f.backlogs(now, s) {
		f.step(now, b)
	}
}

// backlogs are the changes of a stream's far end since the core was last told.
func (f *Fleet) backlogs(now time.Duration, s *stream) (changed []*sched.Backlog) {
	left := s.deque.Backlog()
	for i := range left {
		l := &left[i]
		if old := backlogOf(s.left, l.Pool); old == *l || old.Pool == "" && l.Rows == 0 {
			continue
		}
		p := f.pool(now, l.Pool, l.Family)
		f.batchLanes(now, p)
		changed = append(changed, &sched.Backlog{
			Stream: s.id, Pool: p.id, Rows: int64(l.Rows), Bytes: l.Bytes, Worst: l.Worst, In: l.In, Out: l.Out, MaxOut: l.MaxTokens,
		})
	}
	for i := range s.left {
		if l := &s.left[i]; l.Rows != 0 && backlogOf(left, l.Pool).Pool == "" {
			changed = append(changed, &sched.Backlog{Stream: s.id, Pool: f.pools[l.Pool].id})
		}
	}
	s.left = append(s.left[:0], left...)
	return changed
}

// tellAnew sees to it that the core is told of a pool again: it has counted what
// it gathered by itself, so that what looks to us as it did before, where as
// many rows came back meanwhile, need not be what it believes.
func (s *stream) tellAnew(pool string) {
	s.gathered = true
	for i := range s.left {
		if s.left[i].Pool == pool {
			s.left[i].Rows = -1
		}
	}
}

// backlogOf is the entry of a pool; one without a name: there is none.
func backlogOf(list []Backlog, pool string) Backlog {
	for i := range list {
		if list[i].Pool == pool {
			return list[i]
		}
	}
	return Backlog{}
}
