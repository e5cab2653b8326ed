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

// fewRows is which part of all rows is few: looking into each of them then costs
// less than going through all text.
const fewRows = 4

// search is the set of the rows, n in all, whose documents have every term. The
// rarest term goes first. What is found of one is remembered: the next page of a
// list, or the next letter of another word, costs nothing.
func (c *corpus) search(terms [][]byte, n int) rowSet {
	set := newRowSet(n)
	set.fill(n)
	needles := make([]needle, len(terms))
	for i, t := range terms {
		needles[i] = c.needle(t)
	}
	slices.SortFunc(needles, func(a, b needle) int { return cmp.Or(cmp.Compare(a.seen, b.seen), len(b.term)-len(a.term)) })
	left := n
	for i := range needles {
		if left < n/fewRows && c.known[string(needles[i].term)] == nil {
			c.keep(&needles[i], set)
		} else {
			set.and(c.with(&needles[i], n))
		}
		left = set.count()
	}
	return set
}

// remembered is the rows that have a term, as far as documents have been gone
// through for it.
type remembered struct {
	rows      rowSet
	documents uint32
	moved     int // corpus.moved then: a document that lost its place may have been why a row is in
	used      int
}

// termsKept is how many terms are remembered: each takes a bit a row.
const termsKept = 32

// with is the rows that have a term. It goes through what came since it was
// asked last.
func (c *corpus) with(term *needle, n int) rowSet {
	c.asked++
	r := c.known[string(term.term)]
	if r == nil || r.moved != c.moved {
		r = &remembered{moved: c.moved}
		c.remember(term, r)
	}
	if more := len(newRowSet(max(n, len(c.prompt), len(c.answer)))) - len(r.rows); more > 0 {
		r.rows = append(r.rows, make(rowSet, more)...)
	}
	c.scan(term, r)
	r.used = c.asked
	return r.rows
}

// remember keeps what is found of a term, in place of what was asked longest ago.
func (c *corpus) remember(term *needle, r *remembered) {
	if c.known == nil {
		c.known = map[string]*remembered{}
	}
	if len(c.known) >= termsKept {
		oldest := ""
		for t, k := range c.known {
			if oldest == "" || k.used < c.known[oldest].used {
				oldest = t
			}
		}
		delete(c.known, oldest)
	}
	c.known[string(term.term)] = r
}

// scan goes through the documents that came since, and adds the rows that have
// the term.
func (c *corpus) scan(term *needle, r *remembered) {
	segments := c.segments
	for len(segments) > 0 && segments[0].first+uint32(len(segments[0].ends)) <= r.documents {
		segments = segments[1:]
	}
	var mu sync.Mutex
	atOnce(len(segments), func(next func() (int, bool)) {
		mine := make(rowSet, len(r.rows))
		for i, ok := next(); ok; i, ok = next() {
			c.scanSegment(segments[i], term, r.documents, mine)
		}
		mu.Lock()
		defer mu.Unlock()
		r.rows.or(mine)
	})
	r.documents = c.documents()
}

// scanSegment goes through the documents of a segment from a number on.
func (c *corpus) scanSegment(s *segment, term *needle, from uint32, set rowSet) {
	at, doc := 0, 0
	if from > s.first {
		doc = int(from - s.first)
		at = int(s.ends[doc-1])
	}
	for {
		if at = term.in(s.text, at); at < 0 {
			return
		}
		for s.ends[doc] <= uint32(at) {
			doc++
		}
		owner := s.owner[doc]
		if c.stands(owner, s.first+uint32(doc)+1) {
			set.add(int(owner / 2))
		}
		at = int(s.ends[doc])
	}
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
