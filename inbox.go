package flotilla

import (
	"sync"
	"time"
)

// message is something for the loop: an attempt that ended, a result that was
// delivered, a word of a line's caller, or a function to run with the core in
// hand.
type message struct {
	ended *attempt
	first *attempt    // first byte of a stream: its limit headers are in first.reading
	given *settlement // its source has it
	line  *lineCall
	op    lineOp // of line
	run   func(now time.Duration)
}

// inbox is an unbounded queue in front of the loop. What fills it is bounded
// elsewhere: attempts in flight by the windows, functions by their callers.
type inbox struct {
	mu    sync.Mutex
	queue []message
	spare []message
	ready chan struct{} // holds one token while queue is not empty
}

func (b *inbox) put(m message) {
	b.mu.Lock()
	b.queue = append(b.queue, m)
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// kick makes the loop take a turn.
func (f *Fleet) kick() { f.inbox.put(message{run: func(time.Duration) {}}) }

// take returns all that has gathered; it is valid until the next take.
func (b *inbox) take() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.queue
	clear(b.spare)
	b.queue, b.spare = b.spare[:0], got
	return got
}
