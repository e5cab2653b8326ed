package emulator

import (
	"math"
	"time"
)

// Prompt caching (facts/claude-api.md section 7): a prefix that ends at a
// cache_control mark is written once and read by later requests of the same
// org and model, from the first token of the answer that wrote it on, until
// its time to live has passed without use. A prefix shorter than the model's
// minimum is processed as if it had no mark.

// Prefix is the prompt up to the end of one block.
type Prefix struct {
	Hash   [16]byte      // of everything before it, the model included
	Tokens int64         // as estimated
	TTL    time.Duration // 5 min or 1 h where the block bears a mark; 0: it bears none
}

// lookback is how many blocks before a mark are looked at for a prefix that
// was written earlier.
const lookback = 20

type cacheKey struct {
	org  int
	hash [16]byte
}

type cached struct {
	ready, expires time.Duration
	ttl            time.Duration
	writer         uint64 // serial of the exchange that wrote it
}

// split takes a prompt with marks apart: what is read from the cache, what is
// written to it, and the rest, which Est then is of alone. It changes nothing
// in the cache: a refused request leaves no trace.
func (m *Model) split(now time.Duration, x *Exchange) {
	x.hit = -1
	if len(x.Prefixes) == 0 {
		return
	}
	least := catalog[x.Model].minCache
	x.hit = m.longestCached(now, x, least)
	done, est := int64(0), int64(0)
	if x.hit >= 0 {
		done, est = m.prefixTokens(&x.Prefixes[x.hit]), x.Prefixes[x.hit].Tokens
		x.CacheRead = done
	}
	for i := x.hit + 1; i < len(x.Prefixes); i++ {
		p := &x.Prefixes[i]
		if n := m.prefixTokens(p); p.TTL > 0 && n >= least && n > done {
			x.write(p.TTL, n-done)
			done, est = n, p.Tokens
		}
	}
	x.Est = max(0, x.Est-est)
}

// keep refreshes what an admitted exchange reads and reserves what it writes.
func (m *Model) keep(now time.Duration, x *Exchange) {
	if len(x.Prefixes) == 0 {
		return
	}
	if x.hit >= 0 {
		k := cacheKey{x.Org, x.Prefixes[x.hit].Hash}
		c := m.cache[k]
		c.expires = max(c.expires, now+c.ttl)
		m.cache[k] = c
	}
	m.writes++
	x.writer = m.writes
	least := catalog[x.Model].minCache
	for i := x.hit + 1; i < len(x.Prefixes); i++ {
		p := &x.Prefixes[i]
		k := cacheKey{x.Org, p.Hash}
		if c, ok := m.cache[k]; p.TTL == 0 || m.prefixTokens(p) < least || ok && c.alive(now) {
			continue
		}
		m.cache[k] = cached{ready: Never, ttl: p.TTL, writer: x.writer}
	}
}

// alive says whether an entry is there or on its way.
func (c *cached) alive(now time.Duration) bool { return c.ready == Never || now < c.expires }

func (x *Exchange) write(ttl time.Duration, tokens int64) {
	if ttl == time.Hour {
		x.CacheWrite1h += tokens
		return
	}
	x.CacheWrite5m += tokens
}

// longestCached finds the longest prefix that a mark can reach and that is in
// the cache; -1: none.
func (m *Model) longestCached(now time.Duration, x *Exchange, least int64) int {
	reach := 0
	for i := len(x.Prefixes) - 1; i >= 0; i-- {
		p := &x.Prefixes[i]
		if p.TTL > 0 {
			reach = lookback + 1
		}
		if reach == 0 {
			continue
		}
		reach--
		c, ok := m.cache[cacheKey{x.Org, p.Hash}]
		if ok && now >= c.ready && now < c.expires && m.prefixTokens(p) >= least {
			return i
		}
	}
	return -1
}

// prefixTokens are the true tokens of a prefix, the same in every prompt that
// begins with it.
func (m *Model) prefixTokens(p *Prefix) int64 { return m.trueInput(p.Tokens, p.Hash) }

// publish makes what an exchange writes readable from its first token on; one
// that broke off before wrote nothing.
func (m *Model) publish(x *Exchange, began bool) {
	for i := range x.Prefixes {
		k := cacheKey{x.Org, x.Prefixes[i].Hash}
		c, ok := m.cache[k]
		if !ok || c.writer != x.writer {
			continue
		}
		if !began {
			delete(m.cache, k)
			continue
		}
		c.ready, c.expires = x.FirstToken, x.FirstToken+c.ttl
		m.cache[k] = c
	}
}

// trueInput draws true input tokens around the estimate. It is keyed by the
// body alone, so every arrival of it has the same.
func (m *Model) trueInput(est int64, hash [16]byte) int64 {
	if m.sc.InputNoise <= 0 || est <= 0 {
		return est
	}
	k := bodyKey(0, hash, 0)
	return max(1, int64(math.Round(k.lognormal(drawInput, float64(est), m.sc.InputNoise))))
}
