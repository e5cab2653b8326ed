package job

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
)

// likeness finds out how much of their beginnings rows have in common that mark
// nothing for caches: a long one is worth a hint (facts/claude-api.md 7).
type likeness struct {
	mu    sync.Mutex
	kinds map[alike]*beginning
}

// alike are rows whose bodies may begin alike.
type alike struct {
	model string
	shape uint64
}

// beginning is what rows have in common so far.
type beginning struct {
	text   []byte // of the first body
	whole  int    // its length
	tokens int    // its estimate
	rows   int
}

// Bounds of what is looked at: kinds of rows, and bytes of a beginning.
const (
	maxAlike     = 64
	maxBeginning = 1 << 20
)

func newLikeness() *likeness { return &likeness{kinds: map[alike]*beginning{}} }

// see takes in a body. One goroutine's likeness is its own until it is merged.
func (l *likeness) see(k alike, body []byte, tokens int) {
	b := l.kinds[k]
	if b == nil {
		if len(l.kinds) < maxAlike {
			l.kinds[k] = &beginning{slices.Clone(body[:min(len(body), maxBeginning)]), len(body), tokens, 1}
		}
		return
	}
	b.rows++
	b.text = b.text[:common(b.text, body)]
}

// common is how many bytes both begin with: mostly all of a.
func common(a, b []byte) int {
	if bytes.HasPrefix(b, a) {
		return len(a)
	}
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// merge takes in what another goroutine saw.
func (l *likeness) merge(other *likeness) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, o := range other.kinds {
		b := l.kinds[k]
		if b == nil {
			l.kinds[k] = o
			continue
		}
		b.rows += o.rows
		b.text = b.text[:common(b.text, o.text)]
	}
}

// enoughAlike is how many rows must begin alike for a hint.
const enoughAlike = 20

// tokenCount is how many tokens the common beginning has, about.
func (b *beginning) tokenCount() float64 {
	return float64(b.tokens) * float64(len(b.text)) / float64(max(b.whole, 1))
}

// longest is the kind of a model's rows that would gain most by a cache; nil
// where none would: too few rows, or less in common than the model's caches take.
func (l *likeness) longest(model string, least int64) *beginning {
	var best *beginning
	gain := func(b *beginning) float64 { return float64(b.rows) * b.tokenCount() }
	for k, b := range l.kinds {
		if k.model != model || b.rows < enoughAlike || least == 0 || b.tokenCount() < float64(least) {
			continue
		}
		if best == nil || cmp.Compare(gain(b), gain(best)) > 0 {
			best = b
		}
	}
	return best
}
