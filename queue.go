package flotilla

import "sync"

// queue passes things from many goroutines to one, in order, without bound:
// what fills it is bounded elsewhere.
type queue[T any] struct {
	mu     sync.Mutex
	some   sync.Cond
	items  []T
	closed bool
}

func newQueue[T any]() *queue[T] {
	q := &queue[T]{}
	q.some.L = &q.mu
	return q
}

func (q *queue[T]) put(item T) {
	q.mu.Lock()
	q.items = append(q.items, item)
	q.mu.Unlock()
	q.some.Signal()
}

// close ends the queue: take gives what is left, and then nothing.
func (q *queue[T]) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.some.Signal()
}

// take waits for items and appends up to most of them to into; none mean that
// the queue is closed and empty.
func (q *queue[T]) take(into []T, most int) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.closed {
		q.some.Wait()
	}
	n := min(len(q.items), most)
	into = append(into, q.items[:n]...)
	rest := copy(q.items, q.items[n:])
	clear(q.items[rest:])
	q.items = q.items[:rest]
	return into
}
