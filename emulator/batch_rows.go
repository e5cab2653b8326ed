package emulator

import "time"

// settleRows fixes what became of each row of a batch that ends: n of them
// were processed, the rest is as the end left it. Which ones, the key says.
func (m *Model) settleRows(b *Batch, n int64, rest RowKind) {
	if b.Other {
		b.counts.Succeeded = n
		for range int64(b.n) - n {
			b.counts.add(rest)
		}
		return
	}
	o := newShuffle(b.n, b.key, drawBatchOrder)
	seen := map[cacheKey]bool{}
	b.results = make([]RowResult, b.n)
	for i := range b.results {
		r := &b.results[i]
		r.Kind = rest
		if int64(o.at(i)) < n {
			a := b.row(i)
			a.Org = b.Org
			m.process(b.EndedAt, r, a, seen)
		}
		b.counts.add(r.Kind)
	}
	b.row = nil
	m.queues[b.Org].stats.add(&b.counts)
}

// process answers one row. Its answer is keyed as that of a sync call is, so
// that the tier changes no content.
func (m *Model) process(now time.Duration, r *RowResult, a Arrival, seen map[cacheKey]bool) {
	if a.Invalid {
		r.Kind, r.Class = Errored, Invalid
		return
	}
	x := &m.scratch
	*x = Exchange{Arrival: a}
	if k := m.arrivalKey(x); k.chance(drawBatchErrored, m.pacing.Errored) {
		r.Kind, r.Class = Errored, Overload
		if k.bits(drawBatchErrored)&1 == 0 {
			r.Class = Injected
		}
		return
	}
	m.splitBatch(x, seen)
	m.usage(x)
	m.answer(x)
	r.Kind, r.Stop, r.Answer, r.Usage = Succeeded, x.Stop, x.Answer, x.Usage
	r.Cost = catalog[a.Model].cost(r.Usage, terms{us: a.US, batch: true})
	m.billBatch(now, &a, r)
}

func (m *Model) billBatch(now time.Duration, a *Arrival, r *RowResult) {
	m.orgs[a.Org].spent += r.Cost
	m.queues[a.Org].stats.Billed += r.Cost
	m.lanes[a.Org][m.pool[a.Model]].record(m.minute(now), a.Model, true, r.Usage)
	if r.Answer == 0 {
		m.distinct++
	}
}

// splitBatch is split for a row of a batch: rows of one batch share what they
// write to the cache, with luck (facts/claude-api.md 4.7), and neither find
// nor leave anything there for others.
func (m *Model) splitBatch(x *Exchange, seen map[cacheKey]bool) {
	if len(x.Prefixes) == 0 {
		return
	}
	least := catalog[x.Model].minCache
	k := bodyKey(m.seed, x.Hash, x.Arrived)
	lucky := k.chance(drawBatchCache, m.pacing.CacheHits)
	done, est := int64(0), int64(0)
	for i := range x.Prefixes {
		p := &x.Prefixes[i]
		n := m.prefixTokens(p)
		if p.TTL == 0 || n < least || n <= done {
			continue
		}
		at := cacheKey{x.Org, p.Hash}
		if seen[at] && lucky {
			x.CacheRead += n - done
		} else {
			x.write(p.TTL, n-done)
		}
		seen[at] = true
		done, est = n, p.Tokens
	}
	x.Est = max(0, x.Est-est)
}
