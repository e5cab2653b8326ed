package flotilla

import "slices"

// rowOverhead is about what a batch adds to a body: its wire id and the words
// around it.
const rowOverhead = 72

// farEnd sums up the queued rows of a pool that batches may take.
type farEnd struct {
	pool, family              string
	rows                      int
	bytes, in, out, maxTokens int
	worst                     Money
}

// Backlog implements Deque.
func (s *feed) Backlog() []Backlog {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Backlog, 0, len(s.far))
	for i := range s.far {
		e := &s.far[i]
		b := Backlog{Pool: e.pool, Family: e.family}
		if n := float64(e.rows); e.rows > 0 && s.load < batchBytes {
			b.Rows, b.Bytes, b.Worst = e.rows, float64(e.bytes)/n, float64(e.worst)/n
			b.In, b.Out, b.MaxTokens = float64(e.in)/n, float64(e.out)/n, float64(e.maxTokens)/n
		}
		out = append(out, b)
	}
	return out
}

// queued counts rows in, or out with sign -1, that batches may take.
func (s *feed) queued(rows []Row, sign int) {
	for i := range rows {
		f := &rows[i].Facts
		if f.Alone {
			continue
		}
		at := slices.IndexFunc(s.far, func(e farEnd) bool { return e.pool == f.Pool })
		if at < 0 {
			at = len(s.far)
			s.far = append(s.far, farEnd{pool: f.Pool, family: f.Family})
		}
		e := &s.far[at]
		e.rows += sign
		e.bytes += sign * (f.Size + rowOverhead)
		e.in += sign * f.In
		e.out += sign * f.Out
		e.maxTokens += sign * f.MaxTokens
		e.worst += Money(sign) * f.Worst.ByBatch()
	}
}

// batchable reports whether a batch may take a queued row now.
func (s *feed) batchable(r *Row) bool {
	return !r.Facts.Alone && (s.away == 0 || s.load+r.Facts.Size <= batchBytes)
}

// PullFar implements Deque.
func (s *feed) PullFar(want Chunk) ([]Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []Row
	size, worst := int64(0), Money(0)
	keep := len(s.rows) // rows from here on stay
	for i := len(s.rows) - 1; i >= 0; i-- {
		r := &s.rows[i]
		bytes, money := int64(r.Facts.Size+rowOverhead), r.Facts.Worst.ByBatch()
		fits := r.Facts.Pool == want.Pool && s.batchable(r) && len(rows) < want.Rows && worst+money <= want.Worst &&
			(len(rows) == 0 || size+bytes <= want.Bytes)
		if !fits {
			keep--
			s.rows[keep] = *r
			continue
		}
		size, worst = size+bytes, worst+money
		rows = append(rows, *r)
		s.leave(r)
	}
	s.rows = s.rows[:copy(s.rows, s.rows[keep:])]
	s.queued(rows, -1)
	s.room.Broadcast()
	slices.Reverse(rows)
	return rows, nil
}

// leave says that a batch has a row.
func (s *feed) leave(r *Row) {
	s.held[r.Index].away = true
	s.away++
	s.load += r.Facts.Size
	s.bytes -= r.Facts.Size
}

// comeBack says that a batch has it no longer.
func (s *feed) comeBack(r *feedRow) {
	if !r.away {
		return
	}
	r.away = false
	s.away--
	s.load -= len(r.Body)
	s.bytes += len(r.Body)
}

// PullIneligible implements Deque.
func (s *feed) PullIneligible(limit int) ([]Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []Row
	s.rows = slices.DeleteFunc(s.rows, func(r Row) bool {
		if !r.Facts.Alone || len(rows) == limit {
			return false
		}
		rows = append(rows, r)
		return true
	})
	if len(rows) > 0 {
		s.room.Broadcast()
	}
	return rows, s.spent()
}

// Take implements Deque: an iterator's rows are in no earlier run's batches.
func (s *feed) Take([]int) []Row { return nil }

// Return implements Deque: what was taken first goes first.
func (s *feed) Return(rows []Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	back := make([]Row, 0, len(rows)+len(s.rows))
	for i := range rows {
		held := s.held[rows[i].Index]
		s.comeBack(held)
		held.row.Failed, held.row.InDoubt = rows[i].Failed, rows[i].InDoubt
		back = append(back, held.row)
	}
	s.queued(back, 1)
	s.rows = append(back, s.rows...)
}
