package wire

import "hash/maphash"

// A Boundary is the end of a block of a prompt: where the provider may keep
// what came before it for later calls that begin alike (facts/claude-api.md 7,
// "Prompt caching").
type Boundary struct {
	Hash   uint64 // of the model and of the prompt up to there, its marks left out
	Bytes  int    // of the prompt up to there
	Marked bool   // by a cache_control
}

// Boundaries appends those of a valid body to dst, in the order in which the
// API reads a prompt: tools, system, messages. Marks move from turn to turn of
// a conversation, so they are no part of what is hashed. One seed makes equal
// hashes of equal prompts.
func Boundaries(dst []Boundary, seed maphash.Seed, body []byte) []Boundary {
	r := boundaryReader{found: dst}
	r.h.SetSeed(seed)
	c := cursor{b: body}
	o := readObject(nil, &c)
	_, _ = r.h.Write(o.get("model"))
	before := len(dst)
	r.list(o.get("tools"))
	r.content(o.get("system"))
	r.messages(o.get("messages"))
	// At the top level a mark stands for one on the last block.
	if v := o.get("cache_control"); len(v) > 0 && v[0] == '{' && len(r.found) > before {
		r.found[len(r.found)-1].Marked = true
	}
	return r.found
}

type boundaryReader struct {
	h     maphash.Hash
	bytes int
	found []Boundary
}

func (r *boundaryReader) write(p []byte) {
	_, _ = r.h.Write(p) // a hash takes everything
	r.bytes += len(p)
}

func (r *boundaryReader) end(marked bool) {
	r.found = append(r.found, Boundary{Hash: r.h.Sum64(), Bytes: r.bytes, Marked: marked})
}

func (r *boundaryReader) messages(v []byte) {
	c := cursor{b: v}
	if !c.enter('[') {
		return
	}
	var m object
	for c.element() {
		if m = readObject(m, &c); m != nil {
			_, _ = r.h.Write(m.get("role"))
			r.content(m.get("content"))
		}
	}
}

// content reads a text, which is one block, or a list of blocks.
func (r *boundaryReader) content(v []byte) {
	if len(v) == 0 {
		return
	}
	if v[0] == '[' {
		r.list(v)
		return
	}
	r.write(v)
	r.end(false)
}

func (r *boundaryReader) list(v []byte) {
	c := cursor{b: v}
	if !c.enter('[') {
		return
	}
	for c.element() {
		r.block(&c)
	}
}

// block reads one block, its mark apart.
func (r *boundaryReader) block(c *cursor) {
	marked := false
	if !c.enter('{') {
		r.write(c.raw())
		r.end(false)
		return
	}
	_ = r.h.WriteByte('{')
	for key, ok := c.member(); ok; key, ok = c.member() {
		value := c.raw()
		if string(key) == "cache_control" {
			marked = len(value) > 0 && value[0] == '{'
			continue
		}
		r.write(key)
		_ = r.h.WriteByte(':')
		r.write(value)
	}
	r.end(marked)
}
