package emulator

import (
	"crypto/sha256"
	"hash"
	"time"

	"github.com/tidwall/gjson"
)

// maxMarks is how many cache_control marks a request may bear.
const maxMarks = 4

// prefixes lists the prompt's blocks in the order in which the cache sees
// them, tools, system, messages, where any of them bears a mark; nil where
// none does. A top-level cache_control marks the last block.
type prefixes struct {
	h     hash.Hash
	share int64
	list  []Prefix
	marks int
	bad   *apiError
}

func (r *request) prefixes() ([]Prefix, *apiError) {
	p := &prefixes{h: sha256.New(), share: baseShare}
	p.h.Write([]byte(r.entry.id))
	if r.tools.Exists() {
		p.share += toolsShare
	}
	p.blocks("tool", r.tools, func(b gjson.Result) int64 { return stringShare(b.Raw) })
	p.blocks("system", r.system, blockShare)
	r.messages.ForEach(func(_, m gjson.Result) bool {
		p.share += messageShare
		p.blocks(m.Get("role").Str, m.Get("content"), blockShare)
		return true
	})
	if r.cacheControl.Exists() && len(p.list) > 0 {
		p.mark(&p.list[len(p.list)-1], r.cacheControl)
	}
	if p.bad == nil && p.marks > maxMarks {
		p.bad = invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", maxMarks, p.marks)
	}
	if p.bad != nil || p.marks == 0 {
		return nil, p.bad
	}
	if r.entry.newTokenizer {
		for i := range p.list {
			p.list[i].Tokens = p.list[i].Tokens * 13 / 10
		}
	}
	return p.list, nil
}

// blocks adds a string or a list of blocks.
func (p *prefixes) blocks(where string, content gjson.Result, count func(gjson.Result) int64) {
	if content.Type == gjson.String {
		p.add(where, content, textShare(content))
		return
	}
	if !content.IsArray() {
		return
	}
	content.ForEach(func(_, b gjson.Result) bool {
		p.add(where, b, count(b))
		if c := b.Get("cache_control"); c.Exists() && c.Type != gjson.Null {
			p.mark(&p.list[len(p.list)-1], c)
		}
		return true
	})
}

// add hashes a block without its mark, so that a mark that moves on with the
// conversation finds what was written before.
func (p *prefixes) add(where string, b gjson.Result, share int64) {
	p.h.Write([]byte{0})
	p.h.Write([]byte(where))
	if b.IsObject() {
		b.ForEach(func(k, v gjson.Result) bool {
			if k.Str != "cache_control" {
				p.h.Write([]byte(k.Raw))
				p.h.Write([]byte(v.Raw))
			}
			return true
		})
	} else {
		p.h.Write([]byte(b.Raw))
	}
	p.share += share
	p.list = append(p.list, Prefix{Hash: [16]byte(p.h.Sum(nil)), Tokens: (p.share + perToken/2) / perToken})
}

func (p *prefixes) mark(at *Prefix, c gjson.Result) {
	p.marks++
	switch ttl := c.Get("ttl"); {
	case c.Get("type").Str != "ephemeral":
		p.bad = invalid("cache_control.type: Input should be 'ephemeral'")
	case !ttl.Exists() || ttl.Str == "5m":
		at.TTL = 5 * time.Minute
	case ttl.Str == "1h":
		at.TTL = time.Hour
	default:
		p.bad = invalid("cache_control.ttl: Input should be '5m' or '1h'")
	}
}
