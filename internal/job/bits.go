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

// next is the first member from call on, or -1: 64 numbers a step.
func (s callSet) next(call int) int {
	for i := call / 64; i < len(s); i++ {
		w := s[i]
		if i == call/64 {
			w &= ^uint64(0) << (call % 64)
		}
		if w != 0 {
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// prev is the last member up to call, or -1.
func (s callSet) prev(call int) int {
	for i := call / 64; i >= 0 && call >= 0; i-- {
		w := s[i]
		if i == call/64 {
			w &= ^uint64(0) >> (63 - call%64)
		}
		if w != 0 {
			return i*64 + 63 - bits.LeadingZeros64(w)
		}
	}
	return -1
}
