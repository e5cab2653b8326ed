package dashboard

import (
	"bytes"
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// needle is a term to look for, by its rarest byte: a text is then gone through
// at the speed of memory.
type needle struct {
	term []byte
	at   int    // of the byte in term
	seen uint64 // how often the corpus has that byte
}

func (c *corpus) needle(term []byte) needle {
	n := needle{term: term, seen: c.seen[term[0]]}
	for i, b := range term {
		if c.seen[b] < n.seen {
			n.at, n.seen = i, c.seen[b]
		}
	}
	return n
}

// in is the first place of the term in a text, from a place on; -1: there is none.
func (n *needle) in(text []byte, from int) int {
	rare := n.term[n.at]
	for at := from + n.at; at < len(text); at++ {
		i := bytes.IndexByte(text[at:], rare)
		if i < 0 {
			return -1
		}
		at += i
		if begin := at - n.at; bytes.HasPrefix(text[begin:], n.term) {
			return begin
		}
	}
	return -1
}

// search is the set of the rows, n in all, whose documents have every term.
func (c *corpus) search(terms [][]byte, n int) rowSet {
	set := newRowSet(n)
	if len(terms) == 0 {
		set.fill(n)
		return set
	}
	needles := make([]needle, len(terms))
	for i, t := range terms {
		needles[i] = c.needle(t)
	}
	// The rarest first: the others are then looked for only in the rows that have it.
	slices.SortFunc(needles, func(a, b needle) int { return cmp.Or(cmp.Compare(a.seen, b.seen), len(b.term)-len(a.term)) })
	c.scan(&needles[0], set, n)
	for i := range needles[1:] {
		c.keep(&needles[i+1], set)
	}
	return set
}

// atOnce does something for each of n parts, on all processors.
func atOnce(n int, do func(next func() (part int, ok bool))) {
	var taken atomic.Int64
	next := func() (int, bool) {
		part := int(taken.Add(1)) - 1
		return part, part < n
	}
	var work sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		work.Go(func() { do(next) })
	}
	work.Wait()
}

// scan adds the rows, of n, that have a term.
func (c *corpus) scan(term *needle, set rowSet, n int) {
	var mu sync.Mutex
	atOnce(len(c.segments), func(next func() (int, bool)) {
		mine := make(rowSet, len(set))
		for i, ok := next(); ok; i, ok = next() {
			c.scanSegment(c.segments[i], term, mine, n)
		}
		mu.Lock()
		defer mu.Unlock()
		set.or(mine)
	})
}

func (c *corpus) scanSegment(s *segment, term *needle, set rowSet, n int) {
	for at, doc := 0, 0; ; {
		if at = term.in(s.text, at); at < 0 {
			return
		}
		for s.ends[doc] <= uint32(at) {
			doc++
		}
		owner := s.owner[doc]
		if row := int(owner / 2); row < n && c.stands(owner, s.first+uint32(doc)+1) {
			set.add(row)
		}
		at = int(s.ends[doc])
	}
}

// keepPart is how many words of a set one processor looks through at a time.
const keepPart = 32

// keep takes those rows out of a set that lack a term.
func (c *corpus) keep(term *needle, set rowSet) {
	atOnce((len(set)+keepPart-1)/keepPart, func(next func() (int, bool)) {
		for i, ok := next(); ok; i, ok = next() {
			part := set[i*keepPart : min((i+1)*keepPart, len(set))]
			for _, at := range part.page(0, len(part)*64) {
				row := i*keepPart*64 + at
				if !c.has(c.prompt, row, term) && !c.has(c.answer, row, term) {
					part[at/64] &^= 1 << (at % 64)
				}
			}
		}
	})
}

func (c *corpus) has(of []uint32, row int, term *needle) bool {
	return row < len(of) && term.in(c.document(of[row]), 0) >= 0
}
