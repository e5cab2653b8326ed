package sched

// item is a queued call that was never sent: 32 bytes, for there may be a
// million of them.
type item struct {
	id     CallID
	worst  int64
	in     int32
	maxOut int32
	out    int32
	model  uint16
	failed uint8
	flags  uint8
}

// Flags of an item.
const (
	itemDead  = 1 << iota // withdrawn: skipped when its turn comes
	itemDoubt             // an earlier process may have had it answered
)

const chunkLen = 512 // 16 KiB

type chunk struct {
	items    [chunkLen]item
	affinity *[chunkLen]uint32 // nil: of all 0
	next     *chunk
}

// chunkPool keeps a few emptied chunks for the next queue that grows.
type chunkPool struct {
	free *chunk
	n    int
}

func (p *chunkPool) get() *chunk {
	if c := p.free; c != nil {
		p.free, p.n, c.next = c.next, p.n-1, nil
		return c
	}
	return new(chunk)
}

func (p *chunkPool) put(c *chunk) {
	if c.affinity != nil {
		clear(c.affinity[:])
	}
	if p.n < 16 {
		c.next, p.free, p.n = p.free, c, p.n+1
	}
}

// fifo is a queue of items in chunks.
type fifo struct {
	first, last *chunk
	head, tail  int // of first, of last
	n           int
}

func (f *fifo) push(p *chunkPool, it item) {
	if f.last == nil || f.tail == chunkLen {
		c := p.get()
		if f.last == nil {
			f.first, f.head = c, 0
		} else {
			f.last.next = c
		}
		f.last, f.tail = c, 0
	}
	f.last.items[f.tail] = it
	f.tail++
	f.n++
}

// mark gives the item that was pushed last an affinity.
func (f *fifo) mark(affinity uint32) {
	if f.last.affinity == nil {
		f.last.affinity = new([chunkLen]uint32)
	}
	f.last.affinity[f.tail-1] = affinity
}

// marked is the affinity of the item to be popped next.
func (f *fifo) marked() uint32 {
	if f.first.affinity == nil {
		return 0
	}
	return f.first.affinity[f.head]
}

func (f *fifo) pop(p *chunkPool) item {
	it := f.first.items[f.head]
	f.head++
	f.n--
	if f.n == 0 {
		p.put(f.first)
		*f = fifo{}
	} else if f.head == chunkLen {
		c := f.first
		f.first, f.head = c.next, 0
		p.put(c)
	}
	return it
}

// find gives the item of a call, or nil. It walks the queue.
func (f *fifo) find(id CallID) *item {
	for c, i := f.first, f.head; c != nil; c, i = c.next, 0 {
		end := chunkLen
		if c == f.last {
			end = f.tail
		}
		for ; i < end; i++ {
			if c.items[i].id == id {
				return &c.items[i]
			}
		}
	}
	return nil
}
