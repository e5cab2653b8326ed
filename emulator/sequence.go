package emulator

import (
	"context"
	"net/http"
	"strconv"
	"sync"
)

// sequence lets requests pass in the order of their numbers.
type sequence struct {
	mu   sync.Mutex
	next uint64
	held map[uint64]chan struct{}
}

func newSequence() *sequence { return &sequence{next: 1, held: map[uint64]chan struct{}{}} }

// enter waits for the turn of a request; pass ends it. A request without a
// number has no turn.
func (q *sequence) enter(ctx context.Context, r *http.Request) (pass func()) {
	none := func() {}
	if q == nil {
		return none
	}
	n, err := strconv.ParseUint(r.Header.Get(SequenceHeader), 10, 64)
	if err != nil {
		return none
	}
	q.mu.Lock()
	if n > q.next {
		turn := make(chan struct{})
		q.held[n] = turn
		q.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
		}
		q.mu.Lock()
	}
	q.mu.Unlock()
	return func() { q.pass(n) }
}

func (q *sequence) pass(n uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next = max(q.next, n+1)
	if turn, ok := q.held[q.next]; ok {
		delete(q.held, q.next)
		close(turn)
	}
}
