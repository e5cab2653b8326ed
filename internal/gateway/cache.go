package gateway

import (
	"context"
	"slices"
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

	again map[[16]byte]bool // bodies that have an answer of a later turn, and so may lack one of the first

	mu sync.Mutex
	// How many turns of a body were given. Of bodies that have answers all are kept,
	// or a client would be given one of them twice. Of others they are kept for as
	// long as they are young, in two generations: an equal request that comes later
	// is answered by the provider just so, and a next run pays for one answer more.
	known      map[[16]byte]*turns
	young, old map[[16]byte]*turns
}

// generation bounds the bodies of a generation. Each takes about 100 bytes.
const generation = 1 << 17

// turns are those of one body.
type turns struct {
	next int   // as many were given
	free []int // of them, those that came to no answer, so that a retry has the turn of the request it repeats
}

type answerKey struct {
	hash [16]byte
	nth  int32
}

// openCache reads which answers there are: of the same provider, and of the same
// emulator where it is one.
func openCache(ctx context.Context, cfg *Config) (*cache, error) {
	c := newCache(cfg.Journal)
	for s, err := range cfg.Journal.Successes(ctx, journal.Realm{Provider: cfg.Provider, Emulated: cfg.Emulated}) {
		if err != nil {
			return nil, err
		}
		c.answers[answerKey{s.Hash, int32(s.Nth)}] = s.ID // the later of two stands
		if s.Nth > 0 {
			c.again[s.Hash] = true
		}
	}
	return c, nil
}

func newCache(j *journal.Journal) *cache {
	return &cache{
		journal: j, answers: map[answerKey]int64{}, again: map[[16]byte]bool{},
		known: map[[16]byte]*turns{}, young: map[[16]byte]*turns{}, old: map[[16]byte]*turns{},
	}
}

// find is what was given of a body; nil: nothing that is known. mu is held.
func (c *cache) find(hash [16]byte) *turns {
	for _, all := range [...]map[[16]byte]*turns{c.known, c.young, c.old} {
		if t := all[hash]; t != nil {
			return t
		}
	}
	return nil
}

// keep remembers what was given of a body, and keeps it young. mu is held.
func (c *cache) keep(hash [16]byte, t *turns) {
	if c.again[hash] || c.answers[answerKey{hash, 0}] != 0 {
		c.known[hash] = t
		return
	}
	if len(c.young) >= generation {
		c.old, c.young = c.young, map[[16]byte]*turns{}
	}
	c.young[hash] = t
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
	given := c.find(hash)
	if given == nil {
		given = &turns{}
	}
	c.keep(hash, given)
	if len(given.free) > 0 {
		t.nth, given.free = given.free[0], given.free[1:]
	} else {
		t.nth = given.next
		given.next++
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
	given := c.find(t.hash)
	if given == nil {
		return // it was forgotten meanwhile
	}
	at, _ := slices.BinarySearch(given.free, t.nth)
	given.free = slices.Insert(given.free, at, t.nth)
}
