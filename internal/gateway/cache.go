package gateway

import (
	"context"
	"sync"

	"github.com/flotilla-llm/flotilla/journal"
)

// cache answers what an earlier run of the same program was answered: by the
// request's hash, which covers provider, version, betas and canonical body, and
// how-many-th equal request it is since this gateway began (interface.md,
// "Gateway"). A program that samples ten answers to one prompt gets ten.
type cache struct {
	journal *journal.Journal
	answers map[answerKey]int64 // places of the answers that were there at the start

	mu   sync.Mutex
	next map[[16]byte]int   // turns given
	free map[[16]byte][]int // of them, those that came to no answer, so that a retry has the turn of the request it repeats
}

type answerKey struct {
	hash [16]byte
	nth  int32
}

// openCache reads which answers there are: of the same provider, and of the same
// emulator where it is one.
func openCache(ctx context.Context, cfg *Config) (*cache, error) {
	c := &cache{
		journal: cfg.Journal, answers: map[answerKey]int64{},
		next: map[[16]byte]int{}, free: map[[16]byte][]int{},
	}
	for s, err := range cfg.Journal.Successes(ctx, journal.Realm{Provider: cfg.Provider, Emulated: cfg.Emulated}) {
		if err != nil {
			return nil, err
		}
		c.answers[answerKey{s.Hash, int32(s.Nth)}] = s.ID // the later of two stands
	}
	return c, nil
}

// turn is a request's place among equal ones.
type turn struct {
	cache *cache // nil: there is none
	hash  [16]byte
	nth   int
	id    int64 // of the answer; 0: there is none
	kept  bool  // the client has its answer: the turn is not given again
}

// take gives a request its turn: the first that no request under way or answered has.
func (c *cache) take(hash [16]byte) *turn {
	t := &turn{cache: c, hash: hash}
	if c == nil {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if free := c.free[hash]; len(free) > 0 {
		t.nth = free[0]
		c.free[hash] = free[1:]
		if len(free) == 1 {
			delete(c.free, hash)
		}
	} else {
		t.nth = c.next[hash]
		c.next[hash]++
	}
	t.id = c.answers[answerKey{hash, int32(t.nth)}]
	return t
}

func (t *turn) hit() bool { return t.id != 0 }

// end gives the turn back where it came to nothing.
func (t *turn) end() {
	c := t.cache
	if c == nil || t.kept {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	free := append(c.free[t.hash], t.nth)
	for i := len(free) - 1; i > 0 && free[i] < free[i-1]; i-- {
		free[i], free[i-1] = free[i-1], free[i]
	}
	c.free[t.hash] = free
}
