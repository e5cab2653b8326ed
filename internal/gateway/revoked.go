package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// revocations watches the keys of calls under way: a call that waits when its
// key is revoked would go on to spend, for up to a day and ten thousandfold.
// Calls of one key are watched together.
type revocations struct {
	known func(ctx context.Context, keys [2]string) error // of Clients

	mu    sync.Mutex
	under map[[2]string]*watchedKey
}

// watchedKey is one that calls are under way with.
type watchedKey struct {
	n    int
	gone chan struct{} // closed: it is nobody's any more
}

// enter watches the keys that a request came with, until leave. gone is closed
// within lookAgain once they let nobody in.
func (r *revocations) enter(keys [2]string) (gone <-chan struct{}, leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.under[keys]
	if w == nil {
		w = &watchedKey{gone: make(chan struct{})}
		r.under[keys] = w
		r.lookLater(keys, w)
	}
	w.n++
	return w.gone, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		w.n--
	}
}

// lookLater asks again whether keys are somebody's, for as long as calls are
// under way with them.
func (r *revocations) lookLater(keys [2]string, w *watchedKey) {
	time.AfterFunc(lookAgain, func() {
		r.mu.Lock()
		idle := w.n == 0
		if idle {
			delete(r.under, keys)
		}
		r.mu.Unlock()
		if idle {
			return
		}
		if err := r.known(context.Background(), keys); !errors.Is(err, ErrBadKey) && !errors.Is(err, ErrNoKey) {
			r.lookLater(keys, w)
			return
		}
		r.mu.Lock()
		delete(r.under, keys)
		r.mu.Unlock()
		close(w.gone)
	})
}

// goneOf is closed once the key that a request came with is revoked; nil: that is
// not watched.
func goneOf(ctx context.Context) <-chan struct{} {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v.gone
	}
	return nil
}

// watchKey watches the key of a call, until leave.
func (s *shell) watchKey(r *http.Request, v *visit) (leave func()) {
	if !revocable(s.clients) {
		return func() {}
	}
	v.gone, leave = s.revoked.enter(keysOf(r.Header))
	return leave
}

// revocable says whether clients can lose their keys.
func revocable(c Clients) bool {
	switch c.(type) {
	case nil, oneKey, noKeys:
		return false
	}
	return true
}
