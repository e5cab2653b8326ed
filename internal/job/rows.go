package job

import (
	"github.com/flotilla-llm/flotilla"
)

// entry is what the index keeps of a row: 72 bytes.
type entry struct {
	off       int64          // of its text in its input
	key       [16]byte       // hash of provider, version, betas and canonical body
	body      uint64         // first 8 bytes of the canonical body's hash
	worst     flotilla.Money // at most, by the sync tier
	len       uint32         // of its text
	sum       uint32         // CRC-32C of its text, to see that it is still the same
	in        uint32         // estimated input tokens
	maxTokens uint32
	nth       uint32 // how-many-th equal body, from 0
	size      uint32 // bytes of its body
	kind      uint16 // which of the index's kinds
	input     uint16
}

// kind is what rows have in common for the scheduler.
type kind struct {
	model, pool, family string
	shape               uint64
	stream              bool
	alone               bool // no batch may carry it
	out                 int
	affinity            uint32 // of the beginning that it marks for a cache; 0: none
	metered             string // the first tool billed per use; empty: none
	told                bool   // its rows bring their outcomes with them: no call is made
}

// noKind marks a record that --skip-bad set aside.
const noKind = ^uint16(0)

// entries is a long slice in pieces, so that growing it never holds it twice.
type entries struct {
	pieces [][]entry
	n      int
}

const pieceLen = 1 << 14

func (e *entries) at(i int) *entry { return &e.pieces[i/pieceLen][i%pieceLen] }

func (e *entries) add(one entry) {
	if e.n%pieceLen == 0 {
		e.pieces = append(e.pieces, make([]entry, 0, pieceLen))
	}
	last := &e.pieces[len(e.pieces)-1]
	*last = append(*last, one)
	e.n++
}

// holds says that a number is one of the job's calls.
func (x *index) holds(call int) bool {
	return call >= 0 && call < x.calls() && x.row(call).kind != noKind
}

// told says that a call's row brings its outcome with it.
func (x *index) told(call int) bool {
	k := x.row(call).kind
	return k != noKind && x.kinds[k].told
}

// shapes numbers the (model, shape of body) that each kind is of: one canary goes
// before all rows of one.
func (x *index) shapes() (of []int, n int) {
	type class struct {
		model string
		shape uint64
	}
	classes := map[class]int{}
	of = make([]int, len(x.kinds))
	for i, k := range x.kinds {
		c := class{k.model, k.shape}
		if _, ok := classes[c]; !ok {
			classes[c] = len(classes)
		}
		of[i] = classes[c]
	}
	return of, len(classes)
}
