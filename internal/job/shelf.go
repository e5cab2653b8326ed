package job

import "github.com/flotilla-llm/flotilla"

// shelf holds the calls of one pool that may be taken now and are alike for a
// batch: those that it may carry, those of them that are in doubt, or, of any
// pool, those that it may not carry. A bit a call, so that to look for the next
// one from either end after any number were given back is a matter of
// microseconds at a million calls.
type shelf struct {
	pool, family string
	doubt        bool
	free         callSet
	last         int // no call above it is free
	load
}

// load sums what calls weigh.
type load struct {
	rows  int
	bytes int64          // in a batch's encoding
	worst flotilla.Money // by the batch tier
	in    int64          // estimated input tokens
	out   int64          // expected output tokens; 0: to be learned
	room  int64          // max_tokens
}

func (l *load) add(m load) {
	l.rows, l.bytes, l.worst, l.in, l.out, l.room = l.rows+m.rows, l.bytes+m.bytes, l.worst+m.worst, l.in+m.in, l.out+m.out, l.room+m.room
}

func (l *load) take(m load) {
	l.rows, l.bytes, l.worst, l.in, l.out, l.room = l.rows-m.rows, l.bytes-m.bytes, l.worst-m.worst, l.in-m.in, l.out-m.out, l.room-m.room
}

func (b *shelf) put(call int, weight load) {
	b.free.add(call)
	b.last = max(b.last, call)
	b.add(weight)
}

func (b *shelf) drop(call int, weight load) {
	b.free.drop(call)
	b.take(weight)
}

// farthest is the last free call up to a number, or -1.
func (b *shelf) farthest(call int) int {
	if b.rows == 0 {
		return -1
	}
	found := b.free.prev(min(call, b.last))
	if call >= b.last {
		b.last = found
	}
	return found
}

// backlog is what a shelf holds, as a fleet is told of it.
func (l *load) backlog(pool, family string) flotilla.Backlog {
	n := float64(l.rows)
	return flotilla.Backlog{
		Pool: pool, Family: family, Rows: l.rows, Bytes: float64(l.bytes) / n, Worst: float64(l.worst) / n,
		In: float64(l.in) / n, Out: float64(l.out) / n, MaxTokens: float64(l.room) / n,
	}
}

// shelve makes the shelves of a source, empty. Kinds of one pool share them.
func (s *source) shelve() {
	s.shelves, s.shelfOf = nil, make([]int, len(s.x.kinds))
	at := map[string]int{}
	for i, k := range s.x.kinds {
		pool := k.pool
		if k.alone {
			pool = "" // one for all pools: they are taken from the near end alone
		}
		first, ok := at[pool]
		if !ok {
			first = len(s.shelves)
			at[pool] = first
			for _, doubt := range []bool{false, true} {
				s.shelves = append(s.shelves, &shelf{pool: pool, family: k.family, doubt: doubt, free: newCallSet(s.x.calls()), last: -1})
			}
		}
		s.shelfOf[i] = first
	}
}

// shelf is where a call stands while it is free.
func (s *source) shelf(call int) *shelf {
	i := s.shelfOf[s.x.row(call).kind]
	if _, doubt := s.setback(call); doubt {
		i++
	}
	return s.shelves[i]
}

// weight is what a call weighs in a batch.
func (s *source) weight(call int) load {
	e := s.x.row(call)
	w := load{
		rows: 1, worst: e.worst.ByBatch(), in: int64(e.in), out: int64(s.x.kinds[e.kind].out), room: int64(e.maxTokens),
		bytes: itemSize(s.name, call, int(e.size)),
	}
	if r, ok := s.again[call]; ok && r.grow != nil {
		f := &r.grow.facts
		w.worst, w.in, w.room, w.bytes = f.Worst.ByBatch(), int64(f.In), int64(f.MaxTokens), itemSize(s.name, call, f.Size)
	}
	return w
}

// putBack makes a call free.
func (s *source) putBack(call int) {
	s.free.add(call)
	s.near = min(s.near, call)
	s.shelf(call).put(call, s.weight(call))
}

// takeOff takes a call that is free.
func (s *source) takeOff(call int) {
	s.shelf(call).drop(call, s.weight(call))
	s.free.drop(call)
}
