package gateway

import (
	"sync"
	"time"
)

// maxWaiting is how many calls of one caller may be under way or waiting at
// once: more than any lane takes, and each holds its body.
const maxWaiting = 10_000

// busy counts the calls of each caller that are under way.
type busy struct {
	most int

	mu      sync.Mutex
	callers map[string]*tally
}

// tally is one caller's.
type tally struct {
	n    int
	ends [16]time.Time // the last ends, in a ring, to tell how fast places become free
	next int
}

func newBusy(most int) *busy { return &busy{most: most, callers: map[string]*tally{}} }

// enter takes a place. Where there is none it says when there will be.
func (b *busy) enter(name string, now time.Time) (retryAfter time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.callers[name]
	if t == nil {
		t = &tally{}
		b.callers[name] = t
	}
	if t.n >= b.most {
		return t.pace(now), false
	}
	t.n++
	return 0, true
}

func (b *busy) leave(name string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.callers[name]
	t.n--
	t.ends[t.next] = now
	t.next = (t.next + 1) % len(t.ends)
}

// pace is how long the next end is away if they go on as they did, from a second
// to a minute.
func (t *tally) pace(now time.Time) time.Duration {
	oldest := t.ends[t.next]
	if oldest.IsZero() {
		return time.Minute
	}
	return min(max(now.Sub(oldest)/time.Duration(len(t.ends)), time.Second), time.Minute)
}
