package gateway

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Batches of one client that are carried at once, in rows: more would only fill
// the memory, for each has an index and a stream of its own, and no org takes so
// many. Small ones do not wait for large ones.
const (
	fewRows   = 1000
	fewAtOnce = 40 * fewRows
	atOnce    = 3 * maxUploadRows
)

// batchTurns lets the batches of a client wait for each other, the first come first.
type batchTurns struct {
	mu sync.Mutex
	of map[batchTurn]*semaphore.Weighted
}

// batchTurn is what waits together.
type batchTurn struct {
	client string
	few    bool
}

func (t *batchTurns) queue(client string, rows int) *semaphore.Weighted {
	k, size := batchTurn{client, rows <= fewRows}, int64(atOnce)
	if k.few {
		size = fewAtOnce
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[batchTurn]*semaphore.Weighted{}
	}
	if t.of[k] == nil {
		t.of[k] = semaphore.NewWeighted(size)
	}
	return t.of[k]
}

// take waits for a batch's turn. One whose end was asked for does not wait.
func (t *batchTurns) take(ctx context.Context, run *batchRun, rows int) (leave func(), err error) {
	if run.ending() {
		return func() {}, nil
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	go run.untilEnding(inner, stop)
	s := t.queue(run.client, rows)
	if err := s.Acquire(inner, int64(rows)); err == nil {
		return func() { s.Release(int64(rows)) }, nil
	}
	return func() {}, ctx.Err()
}

// untilEnding stops a wait when the batch's end is asked for, or its time is up.
func (run *batchRun) untilEnding(ctx context.Context, stop func()) {
	t := time.NewTicker(pauseHeld)
	defer t.Stop()
	for {
		select {
		case <-run.canceled:
			stop()
			return
		case <-t.C:
			if run.expired() {
				stop()
			}
		case <-ctx.Done():
			return
		}
	}
}
