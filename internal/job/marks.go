package job

import (
	"cmp"
	"hash/maphash"

	"github.com/tidwall/gjson"
)

// mark is where a cache_control mark stands in a body: the provider keeps the
// prompt up to there, and a later call to the same org and model that begins
// alike reads it (facts/claude-api.md 7).
type mark struct {
	hash   uint64  // of the model and the prompt up to there
	tokens float64 // estimated, up to there
	own    float64 // of them, those behind the mark before
	hour   bool    // kept for an hour, not for five minutes
}

// maxMarks is how many marks the API takes in one body.
const maxMarks = 4

// markReader goes through a prompt in the API's order: tools, system, messages.
type markReader struct {
	h     maphash.Hash
	bytes int
	found []mark // tokens: bytes so far
}

// marksOf finds the marks of a body whose prompt has so many tokens, as estimated.
func marksOf(seed maphash.Seed, body []byte, model string, tokens int) []mark {
	r := markReader{}
	r.h.SetSeed(seed)
	_, _ = r.h.WriteString(model)
	v := gjson.ParseBytes(body)
	r.blocks(v.Get("tools"))
	r.blocks(v.Get("system"))
	v.Get("messages").ForEach(func(_, m gjson.Result) bool {
		_, _ = r.h.WriteString(m.Get("role").Str)
		r.blocks(m.Get("content"))
		return true
	})
	if c := v.Get("cache_control"); c.IsObject() {
		r.mark(c)
	}
	return r.scaled(float64(tokens))
}

// blocks reads a text, or a list of blocks.
func (r *markReader) blocks(v gjson.Result) {
	if !v.IsArray() {
		r.text(v.Raw)
		return
	}
	v.ForEach(func(_, b gjson.Result) bool {
		r.text(b.Raw)
		if c := b.Get("cache_control"); c.IsObject() {
			r.mark(c)
		}
		return true
	})
}

func (r *markReader) text(raw string) {
	_, _ = r.h.WriteString(raw)
	r.bytes += len(raw)
}

func (r *markReader) mark(c gjson.Result) {
	if len(r.found) < maxMarks {
		r.found = append(r.found, mark{hash: r.h.Sum64(), tokens: float64(r.bytes), hour: c.Get("ttl").Str == "1h"})
	}
}

// scaled makes tokens of bytes, by the share of the whole prompt.
func (r *markReader) scaled(tokens float64) []mark {
	before := 0.0
	for i := range r.found {
		m := &r.found[i]
		m.tokens *= tokens / float64(max(r.bytes, 1))
		m.own, before = m.tokens-before, m.tokens
	}
	return r.found
}

// prefix is what calls have in common that marked the same beginning.
type prefix struct {
	model       string
	rows        int
	tokens, own float64 // sums over rows
	hour        bool
	affinity    uint32 // 0: none was given
}

// maxAffinities bounds the kinds of rows that marks make.
const maxAffinities = 1 << 12

// maxPrefixes bounds the memory of the index: beyond it a prefix counts as one
// that no other row has.
const maxPrefixes = 1 << 16

// prefixes are the marked beginnings of all rows.
type prefixes struct {
	byHash map[uint64]*prefix
	rest   map[string]*prefix // by model: those that were not told apart
	rows   map[string]int     // by model: rows with a mark
	given  uint32             // affinities
}

func newPrefixes() *prefixes {
	return &prefixes{byHash: map[uint64]*prefix{}, rest: map[string]*prefix{}, rows: map[string]int{}}
}

// take takes in the marks of a row, and says by which of them it belongs with
// others: the last that another row has had before, else the first that is long
// enough for a cache.
func (p *prefixes) take(model string, marks []mark, least float64) (affinity uint32) {
	p.rows[model]++
	for _, m := range marks {
		x := p.of(model, m.hash)
		x.rows++
		x.tokens, x.own, x.hour = x.tokens+m.tokens, x.own+m.own, x.hour || m.hour
		if x != p.rest[model] && least > 0 && m.tokens >= least && (x.rows > 1 || affinity == 0) {
			affinity = p.affinity(x, affinity)
		}
	}
	return affinity
}

func (p *prefixes) of(model string, hash uint64) *prefix {
	if x := p.byHash[hash]; x != nil {
		return x
	}
	x := &prefix{model: model}
	if len(p.byHash) < maxPrefixes {
		p.byHash[hash] = x
		return x
	}
	if p.rest[model] == nil {
		p.rest[model] = x
	}
	return p.rest[model]
}

// affinity is a prefix's number, or where there are too many already, that of
// the mark before.
func (p *prefixes) affinity(x *prefix, before uint32) uint32 {
	if x.affinity == 0 && p.given < maxAffinities {
		p.given++
		x.affinity = p.given
	}
	return cmp.Or(x.affinity, before)
}

// shared is what caches may do for the calls of a model.
type shared struct {
	rows   int     // with a mark
	marked float64 // tokens of their prefixes, over all calls
	once   float64 // of them, those that must be written once
	hour   bool
}

// sum sums the prefixes of a model that are long enough for a cache: those under
// its minimum are processed as if they had no mark. Each row makes so many calls.
func (p *prefixes) sum(model string, least int64, repeats int) (s shared) {
	s.rows = p.rows[model] * repeats
	for _, x := range p.byHash {
		if x.model != model {
			continue
		}
		n := float64(x.rows)
		if own := x.kept(float64(least)); own > 0 {
			s.marked += own * n * float64(repeats)
			s.once += own
			s.hour = s.hour || x.hour
		}
	}
	if x := p.rest[model]; x != nil {
		if own := x.kept(float64(least)); own > 0 {
			s.marked += own * float64(x.rows*repeats)
			s.once += own * float64(x.rows)
		}
	}
	return s
}

// kept is how many tokens a call's mark adds to what is kept, on average: all up
// to it, where the mark before is too early to count.
func (x *prefix) kept(least float64) float64 {
	n := float64(x.rows)
	switch tokens, own := x.tokens/n, x.own/n; {
	case tokens < least || least == 0:
		return 0
	case tokens-own < least:
		return tokens
	default:
		return own
	}
}
