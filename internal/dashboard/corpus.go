package dashboard

import (
	"bytes"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Bounds of an index. The 141,600 rows of a job of short prompts and answers take
// well under a third of it.
const (
	segmentSize = 1 << 20
	maxDocument = 64 << 10  // of one prompt, or one answer
	maxCorpus   = 256 << 20 // of all
)

// endOfDocument ends every document. It is in no folded text, so that nothing is
// found over an end.
const endOfDocument = '\n'

// corpus is folded text to search: documents one after the other. Each row has
// one for its id and prompt, and one for its answer.
type corpus struct {
	segments []*segment
	bytes    int
	cut      bool // some text was left out, for lack of room

	prompt, answer []uint32 // the document of a row, from 1; 0: none
}

// segment is a piece of a corpus.
type segment struct {
	first uint32 // number of its first document
	text  []byte
	ends  []uint32
	owner []uint32 // row of each document, times two, and one for an answer
}

// put adds the document of a row; a later answer takes the place of an earlier.
func (c *corpus) put(row int, answer bool, text []byte) {
	if len(text) > maxDocument {
		text, c.cut = text[:maxDocument], true
	}
	if c.bytes+len(text) > maxCorpus {
		text, c.cut = nil, true
	}
	s, kind := c.room(len(text)+1), 0
	if answer {
		kind = 1
	}
	s.text = append(append(s.text, text...), endOfDocument)
	s.ends, s.owner = append(s.ends, uint32(len(s.text))), append(s.owner, uint32(row*2+kind))
	c.bytes += len(text) + 1
	of := &c.prompt
	if answer {
		of = &c.answer
	}
	if more := row + 1 - len(*of); more > 0 {
		*of = append(*of, make([]uint32, more)...)
	}
	(*of)[row] = s.first + uint32(len(s.ends))
}

// room is the segment for so many bytes more.
func (c *corpus) room(n int) *segment {
	first := uint32(0)
	if k := len(c.segments); k > 0 {
		s := c.segments[k-1]
		if len(s.text)+n <= segmentSize {
			return s
		}
		first = s.first + uint32(len(s.ends))
	}
	s := &segment{first: first, text: make([]byte, 0, segmentSize)}
	c.segments = append(c.segments, s)
	return s
}

// document is the text of a document by its number from 1; nil: it has none.
func (c *corpus) document(number uint32) []byte {
	if number == 0 {
		return nil
	}
	i, ok := slices.BinarySearchFunc(c.segments, number-1, func(s *segment, n uint32) int { return int(int64(s.first) - int64(n)) })
	if !ok {
		i--
	}
	s := c.segments[i]
	at := number - 1 - s.first
	begin := uint32(0)
	if at > 0 {
		begin = s.ends[at-1]
	}
	return s.text[begin:s.ends[at]]
}

// stands says that a document is the one of its row.
func (c *corpus) stands(owner, number uint32) bool {
	row, of := int(owner/2), c.prompt
	if owner%2 == 1 {
		of = c.answer
	}
	return row < len(of) && of[row] == number
}

// search is the set of the rows, n in all, whose documents have every term.
func (c *corpus) search(terms [][]byte, n int) rowSet {
	set := newRowSet(n)
	if len(terms) == 0 {
		set.fill(n)
		return set
	}
	// The longest is likely the rarest: the others are then looked for only in the
	// rows that have it.
	terms = slices.SortedFunc(slices.Values(terms), func(a, b []byte) int { return len(b) - len(a) })
	c.scan(terms[0], set, n)
	for _, t := range terms[1:] {
		c.keep(t, set)
	}
	return set
}

// scan adds the rows, of n, that have a term.
func (c *corpus) scan(term []byte, set rowSet, n int) {
	var next atomic.Int64
	var mu sync.Mutex
	var work sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(c.segments)) {
		work.Go(func() {
			mine := make(rowSet, len(set))
			for i := next.Add(1) - 1; int(i) < len(c.segments); i = next.Add(1) - 1 {
				c.scanSegment(c.segments[i], term, mine, n)
			}
			mu.Lock()
			defer mu.Unlock()
			set.or(mine)
		})
	}
	work.Wait()
}

func (c *corpus) scanSegment(s *segment, term []byte, set rowSet, n int) {
	for at, doc := 0, 0; ; {
		i := bytes.Index(s.text[at:], term)
		if i < 0 {
			return
		}
		for at += i; s.ends[doc] <= uint32(at); {
			doc++
		}
		owner := s.owner[doc]
		if row := int(owner / 2); row < n && c.stands(owner, s.first+uint32(doc)+1) {
			set.add(row)
		}
		at = int(s.ends[doc])
	}
}

// keep takes those rows out of a set that lack a term.
func (c *corpus) keep(term []byte, set rowSet) {
	for _, row := range set.page(0, len(set)*64) {
		if !c.has(c.prompt, row, term) && !c.has(c.answer, row, term) {
			set[row/64] &^= 1 << (row % 64)
		}
	}
}

func (c *corpus) has(of []uint32, row int, term []byte) bool {
	return row < len(of) && bytes.Contains(c.document(of[row]), term)
}
