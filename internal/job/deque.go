package job

import (
	"io"
	"math"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

var _ flotilla.Deque = (*source)(nil)

// setback is what a fleet says of a call that it gave back.
type setback struct {
	failed int
	doubt  bool
}

// setback is how often a call has failed by itself, and whether it is in doubt.
func (s *source) setback(call int) (failed int, doubt bool) {
	if b, ok := s.back[call]; ok {
		return b.failed, b.doubt
	}
	if _, again := s.again[call]; again {
		return 0, false // what it failed by was decided before
	}
	return s.standing.Failed(call), s.standing.InDoubt(call)
}

// itemSize is what a body takes in a create, at most: the number of the batch is
// not known yet.
func itemSize(job string, call, body int) int64 {
	return int64(wire.BatchItemSize(wire.RowID{Job: job, Intent: math.MaxInt64, Row: call}, body))
}

// Pull returns the next calls from the near end. While a canary is out there
// are none.
func (s *source) Pull(most int) ([]flotilla.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.canary.waits() {
		return s.pullCanary(false, ""), nil
	}
	var rows []flotilla.Row
	if !s.noSync {
		for len(rows) < most {
			call := s.free.next(s.near)
			if call < 0 {
				s.near = s.x.calls()
				break
			}
			s.near = call + 1
			rows = append(rows, s.pulled(call))
		}
	}
	return rows, s.end(rows)
}

// end is io.EOF where nothing came and nothing more will.
func (s *source) end(rows []flotilla.Row) error {
	if len(rows) > 0 || s.inBatches > 0 || s.near < s.x.calls() && s.free.next(s.near) >= 0 {
		return nil
	}
	s.over = true
	return io.EOF
}

// PullIneligible returns the next calls that no batch may carry. Canaries are
// among them: they go by sync, whatever the route.
func (s *source) PullIneligible(most int) ([]flotilla.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.canary.waits() {
		return s.pullCanary(false, ""), nil
	}
	var rows []flotilla.Row
	for _, b := range s.shelves {
		if b.pool != "" || s.noSync {
			continue
		}
		for call := b.free.next(0); call >= 0 && len(rows) < most; call = b.free.next(call) {
			rows = append(rows, s.pulled(call))
		}
	}
	return rows, s.end(rows)
}

// pullCanary sends the canary whose turn it is, if none is out: by sync, or
// where no org takes sync, as a batch of one.
func (s *source) pullCanary(far bool, pool string) []flotilla.Row {
	if far != s.noSync {
		return nil
	}
	call := s.canary.peek()
	if call < 0 || far && s.x.kinds[s.x.row(call).kind].pool != pool {
		return nil
	}
	s.canary.send(call)
	return []flotilla.Row{s.pulled(call)}
}

// pulled hands a call out.
func (s *source) pulled(call int) flotilla.Row {
	row := s.row(call)
	s.takeOff(call)
	s.out.add(call)
	return row
}

// moneySkips is how many calls that are too dear for what is left of a cap a
// batch passes over in search of ones that fit.
const moneySkips = 256

// PullFar takes calls of one pool from the far end into a batch: those in doubt
// only when there are no others.
func (s *source) PullFar(want flotilla.Chunk) ([]flotilla.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.canary.waits() {
		rows := s.pullCanary(true, want.Pool)
		s.batch(rows)
		return rows, nil
	}
	var rows []flotilla.Row
	for _, b := range s.shelves {
		if b.pool == want.Pool && b.pool != "" && len(rows) == 0 {
			rows = s.pullShelf(b, want)
		}
	}
	s.batch(rows)
	return rows, nil
}

func (s *source) pullShelf(b *shelf, want flotilla.Chunk) (rows []flotilla.Row) {
	left := load{rows: want.Rows, bytes: want.Bytes, worst: want.Worst}
	skips := 0
	for call := b.farthest(math.MaxInt); call >= 0 && left.rows > 0; call = b.farthest(call - 1) {
		w := s.weight(call)
		if w.worst > left.worst {
			if skips++; skips > moneySkips {
				break
			}
			continue
		}
		if w.bytes > left.bytes && len(rows) > 0 {
			break
		}
		left.take(w)
		rows = append(rows, s.pulled(call))
	}
	return rows
}

// batch notes that calls which were pulled are in a batch.
func (s *source) batch(rows []flotilla.Row) {
	for i := range rows {
		s.batched.add(rows[i].Index)
	}
	s.inBatches += len(rows)
}

// Backlog is what is left for batches, pool by pool.
func (s *source) Backlog() []flotilla.Backlog {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.canary.waits() {
		return s.canaryBacklog()
	}
	var out []flotilla.Backlog
	for i := 0; i < len(s.shelves); i += 2 {
		b := s.shelves[i]
		sum := b.load
		if sum.add(s.shelves[i+1].load); sum.rows > 0 && b.pool != "" {
			out = append(out, sum.backlog(b.pool, b.family))
		}
	}
	return out
}

// canaryBacklog is the canary alone, where it can only go as a batch.
func (s *source) canaryBacklog() []flotilla.Backlog {
	call := s.canary.peek()
	if call < 0 || !s.noSync {
		return nil
	}
	w := s.weight(call)
	k := &s.x.kinds[s.x.row(call).kind]
	return []flotilla.Backlog{w.backlog(k.pool, k.family)}
}

// Take marks calls as being in a batch of an earlier run and returns those that
// are still wanted. Calls behind --limit are among them: they are paid for.
func (s *source) Take(calls []int) []flotilla.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []flotilla.Row
	for _, call := range calls {
		if !s.x.holds(call) || !s.wants(call) || s.out.has(call) {
			continue
		}
		row := s.row(call)
		if s.free.has(call) {
			s.takeOff(call)
		}
		s.kept.drop(call)
		s.out.add(call)
		rows = append(rows, row)
	}
	s.batch(rows)
	return rows
}

// Return makes calls free that were pulled and have not settled.
func (s *source) Return(rows []flotilla.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range rows {
		call := rows[i].Index
		if !s.x.holds(call) || !s.out.has(call) {
			continue
		}
		s.in(call)
		s.back[call] = setback{rows[i].Failed, rows[i].InDoubt}
		if s.canary.returned(call); call < s.limit {
			s.putBack(call)
		}
	}
}

// in notes that a call is no longer out.
func (s *source) in(call int) {
	s.out.drop(call)
	if s.batched.has(call) {
		s.batched.drop(call)
		s.inBatches--
	}
}
