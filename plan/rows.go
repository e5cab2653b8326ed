package plan

import (
	"math"
	"math/bits"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// rows is what a job's source still has: sync takes from the near end, batches
// from the far one, and rows that come back stand where they stood.
type rows struct {
	n     int
	call  func(i int) Call
	taken bitset
	left  int // rows that are not taken
	near  int // no row before it is left
	again map[int]again

	// Of jobs that may batch alone.
	kinds []kind // of each row; nil: nobody asks
	piles []pile // by pool
	odd   int    // no row before it is left that no batch may carry
	odds  int    // such rows left
}

// kind is the pool of a row that a batch may carry, or alone.
type kind int16

const alone kind = -1

// again is what is remembered of a row that came back.
type again struct {
	failed  int32
	inDoubt bool
}

// pile is what is left of a pool for batches.
type pile struct {
	far                           int // no row from it on is left
	rows                          int64
	bytes, worst, in, out, maxOut float64 // sums
	changed                       bool
}

func newRows(n int, call func(i int) Call) rows {
	return rows{n: n, call: call, left: n, taken: newBitset(n), again: map[int]again{}}
}

// sort looks at all rows once, as an index pass does.
func (r *rows) sort(poolOf func(c *Call) int32, pools int) {
	r.kinds = make([]kind, r.n)
	r.piles = make([]pile, pools)
	for p := range r.piles {
		r.piles[p].far = r.n
	}
	var c Call // one for all: poolOf has it escape
	for i := range r.n {
		c = r.call(i)
		if r.kinds[i] = kind(poolOf(&c)); c.Alone {
			r.kinds[i] = alone
		}
		r.count(i, &c, 1)
	}
}

// count adds a row to what is left, or takes it off.
func (r *rows) count(i int, c *Call, sign float64) {
	if r.kinds[i] == alone {
		r.odds += int(sign)
		return
	}
	p := &r.piles[r.kinds[i]]
	p.changed = true
	p.rows += int64(sign)
	p.bytes += sign * float64(c.size())
	p.worst += sign * float64(c.batchWorst())
	p.in += sign * float64(c.Sched.In)
	p.out += sign * float64(c.Sched.Out)
	p.maxOut += sign * float64(c.Sched.MaxOut)
}

func (r *rows) take(i int, c *Call) {
	r.taken.set(i)
	r.left--
	if r.kinds != nil {
		r.count(i, c, -1)
	}
}

// back gives a row back as it stood, with what happened to it.
func (r *rows) back(i int, failed int32, inDoubt bool) {
	r.taken.clear(i)
	r.left++
	r.near = min(r.near, i)
	if failed > 0 || inDoubt {
		r.again[i] = again{failed: failed, inDoubt: inDoubt}
	}
	if r.kinds == nil {
		return
	}
	c := r.call(i)
	r.count(i, &c, 1)
	if k := r.kinds[i]; k == alone {
		r.odd = min(r.odd, i)
	} else {
		r.piles[k].far = max(r.piles[k].far, i+1)
	}
}

// pull takes the next row for sync; with only, one that no batch may carry.
func (r *rows) pull(only bool) (int, Call, bool) {
	i := r.near
	if only {
		if r.odds == 0 {
			return 0, Call{}, false
		}
		i = r.odd
	}
	for i = r.taken.next(i); i < r.n && only && r.kinds[i] != alone; {
		i = r.taken.next(i + 1)
	}
	if i >= r.n {
		return 0, Call{}, false
	}
	if only {
		r.odd = i + 1
	} else {
		r.near = i + 1
	}
	c := r.read(i)
	r.take(i, &c)
	return i, c, true
}

// read is a row with what happened to it so far.
func (r *rows) read(i int) Call {
	c := r.call(i)
	if a, ok := r.again[i]; ok {
		c.Sched.Failed, c.Sched.InDoubt = c.Sched.Failed+a.failed, a.inDoubt
	}
	return c
}

// pullFar takes rows for one batch from the far end, within all bounds of want.
// The first is taken even where it alone has more bytes.
func (r *rows) pullFar(pool int32, want *sched.Gather) (got []int32, bytes, worst int64) {
	p := &r.piles[pool]
	for i := r.taken.last(p.far); i >= 0 && int64(len(got)) < want.Rows; i = r.taken.last(i) {
		if r.kinds[i] != kind(pool) {
			continue
		}
		c := r.call(i)
		size, cost := c.size(), c.batchWorst()
		if len(got) > 0 && bytes+size > want.Bytes || worst+cost > want.Worst {
			break
		}
		got, bytes, worst = append(got, int32(i)), bytes+size, worst+cost
		r.take(i, &c)
		p.far = i
	}
	return got, bytes, worst
}

// backlog tells what is left of each pool whose figures changed.
func (r *rows) backlog(stream sched.StreamID, tell func(*sched.Backlog)) {
	for id := range r.piles {
		p := &r.piles[id]
		if !p.changed {
			continue
		}
		p.changed = false
		b := sched.Backlog{Stream: stream, Pool: int32(id), Rows: p.rows}
		if n := float64(p.rows); n > 0 {
			b.Bytes, b.Worst = p.bytes/n, math.Ceil(p.worst/n)
			b.In, b.Out, b.MaxOut = p.in/n, p.out/n, p.maxOut/n
		}
		tell(&b)
	}
}

// bitset is a set of rows.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, n/64+1) }

func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) clear(i int)    { b[i/64] &^= 1 << (i % 64) }

// next is the first from i on that is not in the set; it may lie beyond the end.
func (b bitset) next(i int) int {
	for w := i / 64; w < len(b); w++ {
		word := ^b[w]
		if w == i/64 {
			word &= ^uint64(0) << (i % 64)
		}
		if word != 0 {
			return w*64 + bits.TrailingZeros64(word)
		}
	}
	return len(b) * 64
}

// last is the last before i that is not in the set; -1: there is none.
func (b bitset) last(i int) int {
	for w := i / 64; w >= 0; w-- {
		word := ^b[w]
		if w == i/64 {
			word &= 1<<(i%64) - 1
		}
		if word != 0 {
			return w*64 + 63 - bits.LeadingZeros64(word)
		}
	}
	return -1
}
