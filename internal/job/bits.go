package job

import (
	"math/bits"
	"slices"
)

// callSet is a set of call numbers, a bit each.
type callSet []uint64

func newCallSet(n int) callSet { return make(callSet, (n+63)/64) }

func (s callSet) has(call int) bool { return s[call/64]>>(call%64)&1 != 0 }
func (s callSet) add(call int)      { s[call/64] |= 1 << (call % 64) }
func (s callSet) drop(call int)     { s[call/64] &^= 1 << (call % 64) }
func (s callSet) clone() callSet    { return slices.Clone(s) }

func (s callSet) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}
