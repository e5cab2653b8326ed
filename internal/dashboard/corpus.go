package dashboard

import "slices"

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
	cut      bool        // some text was left out, for lack of room
	seen     [256]uint64 // how often each byte is in the text

	prompt, answer []uint32 // the document of a row, from 1; 0: none
	moved          int      // how often a document took the place of another

	known map[string]*remembered // of search, by term
	asked int                    // how often known was asked
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
	for _, b := range text {
		c.seen[b]++
	}
	of := &c.prompt
	if answer {
		of = &c.answer
	}
	if more := row + 1 - len(*of); more > 0 {
		*of = append(*of, make([]uint32, more)...)
	}
	if (*of)[row] > 0 {
		c.moved++
	}
	(*of)[row] = s.first + uint32(len(s.ends))
}

// documents is how many there are.
func (c *corpus) documents() uint32 {
	if len(c.segments) == 0 {
		return 0
	}
	s := c.segments[len(c.segments)-1]
	return s.first + uint32(len(s.ends))
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
