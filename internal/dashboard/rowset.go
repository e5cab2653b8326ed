package dashboard

import "math/bits"

// rowSet is a set of rows: a bit each.
type rowSet []uint64

func newRowSet(n int) rowSet { return make(rowSet, (n+63)/64) }

func (s rowSet) add(row int) { s[row/64] |= 1 << (row % 64) }

func (s rowSet) fill(n int) {
	for row := range n / 64 {
		s[row] = ^uint64(0)
	}
	for row := n / 64 * 64; row < n; row++ {
		s.add(row)
	}
}

// or adds the rows of another set that is no larger.
func (s rowSet) or(o rowSet) {
	for i := range min(len(s), len(o)) {
		s[i] |= o[i]
	}
}

// and keeps the rows that are in another set too.
func (s rowSet) and(o rowSet) {
	for i := range s {
		if i < len(o) {
			s[i] &= o[i]
		} else {
			s[i] = 0
		}
	}
}

func (s rowSet) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// page lists rows in order: those from the offset-th on, at most so many.
func (s rowSet) page(offset, limit int) []int {
	out := make([]int, 0, min(limit, 1<<10))
	for i, w := range s {
		if n := bits.OnesCount64(w); offset >= n {
			offset -= n
			continue
		}
		for ; w != 0 && len(out) < limit; w &= w - 1 {
			if offset > 0 {
				offset--
				continue
			}
			out = append(out, i*64+bits.TrailingZeros64(w))
		}
		if len(out) == limit {
			break
		}
	}
	return out
}
