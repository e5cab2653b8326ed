package gateway

import (
	"context"
	"sync"
)

// underWay counts the requests that are under way, until no more are let in.
type underWay struct {
	mu      sync.Mutex
	n       int
	stopped bool
	empty   chan struct{} // made by wait, closed when the last one leaves
}

// enter lets a request in; false: none are any more.
func (u *underWay) enter() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stopped {
		return false
	}
	u.n++
	return true
}

func (u *underWay) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n--
	if u.n == 0 && u.empty != nil {
		close(u.empty)
		u.empty = nil
	}
}

func (u *underWay) stop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopped = true
}

func (u *underWay) isStopped() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.stopped
}

// wait returns when none is under way, or when ctx ends.
func (u *underWay) wait(ctx context.Context) {
	u.mu.Lock()
	if u.n == 0 {
		u.mu.Unlock()
		return
	}
	if u.empty == nil {
		u.empty = make(chan struct{})
	}
	empty := u.empty
	u.mu.Unlock()
	select {
	case <-empty:
	case <-ctx.Done():
	}
}
