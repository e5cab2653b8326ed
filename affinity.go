package flotilla

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// affinities says which calls belong together for a cache of the provider's:
// those that mark the same beginning of a prompt, and the turns of a
// conversation, each of which begins with the marked end of the one before
// (facts/gateways.md, rule 6).
type affinities struct {
	seed maphash.Seed
	mu   sync.Mutex
	// Marked beginnings that were sent, in two generations: the older one goes
	// when the younger is full or has the age that an entry can live unused.
	young, old map[uint64]uint32
	since      time.Duration
	last       uint32
}

const (
	// maxMarks bounds a generation.
	maxMarks = 1 << 15
	// markLife is the longer of the two lives of a cache (facts/claude-api.md 7).
	markLife = time.Hour
	// lookback is how many blocks before a mark the provider looks for what it keeps.
	lookback = 20
)

func (a *affinities) init() {
	a.seed = maphash.MakeSeed()
	a.young, a.old = map[uint64]uint32{}, map[uint64]uint32{}
}

// of is the affinity of a body: 0 where it marks nothing.
func (a *affinities) of(body []byte, now time.Duration) uint32 {
	bounds := wire.Boundaries(nil, a.seed, body)
	if !slices.ContainsFunc(bounds, func(b wire.Boundary) bool { return b.Marked }) {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.age(now)
	n := a.find(bounds)
	if n == 0 {
		a.last++
		n = max(a.last, 1)
	}
	for _, b := range bounds {
		if b.Marked {
			a.young[b.Hash] = n
		}
	}
	return n
}

// find is the affinity of the longest beginning that was marked before.
func (a *affinities) find(bounds []wire.Boundary) uint32 {
	reach := 0 // boundaries before a mark that are still looked at
	for i := len(bounds) - 1; i >= 0; i-- {
		if bounds[i].Marked {
			reach = lookback + 1
		}
		if reach == 0 {
			continue
		}
		reach--
		if n := a.young[bounds[i].Hash]; n != 0 {
			return n
		}
		if n := a.old[bounds[i].Hash]; n != 0 {
			return n
		}
	}
	return 0
}

// age begins a new generation.
func (a *affinities) age(now time.Duration) {
	if len(a.young) < maxMarks && now-a.since < markLife {
		return
	}
	a.old, a.young, a.since = a.young, map[uint64]uint32{}, now
}
