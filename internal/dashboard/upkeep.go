package dashboard

import (
	"context"
	"sync"
	"time"
)

// upkeep is one piece of work in the background, which requests begin and wait
// for a while: there is never more than one of it under way.
type upkeep struct {
	mu   sync.Mutex
	busy chan struct{} // closed when what is under way is done; nil: nothing is
	stop context.CancelFunc
}

// run begins the work where it is not under way, and waits for it. A desk that is
// closed begins none.
func (u *upkeep) run(d *jobDesk, wait time.Duration, do func(context.Context)) {
	u.mu.Lock()
	if u.busy == nil {
		ctx, stop := context.WithCancel(d.ctx)
		done := make(chan struct{})
		began := d.goOn(func() {
			defer stop()
			do(ctx)
			u.mu.Lock()
			defer u.mu.Unlock()
			u.busy = nil
			close(done)
		})
		if !began {
			stop()
			u.mu.Unlock()
			return
		}
		u.busy, u.stop = done, stop
	}
	busy := u.busy
	u.mu.Unlock()
	patience := time.NewTimer(wait)
	defer patience.Stop()
	select {
	case <-busy:
	case <-patience.C:
	}
}
