package price

import (
	"math"
	"math/bits"
)

// Usage is what one answer consumed, in tokens, and what changes its price.
// Negative counts are taken as 0.
type Usage struct {
	Input        int64 // not held by any cache
	CacheWrite5m int64
	CacheWrite1h int64
	CacheRead    int64
	Output       int64 // thinking included

	US    bool // usage.inference_geo "us"
	Fast  bool // usage.speed "fast"
	Batch bool // usage.service_tier "batch"
}

// Prompt is all input tokens, cached ones included.
func (u Usage) Prompt() int64 {
	return max(u.Input, 0) + max(u.CacheWrite5m, 0) + max(u.CacheWrite1h, 0) + max(u.CacheRead, 0)
}

// Cost is what an answer costs: the exact sum over all token classes, rounded
// up once to a whole nano-dollar (facts/claude-api.md 6). Beyond what Nanos
// can hold it is the largest Nanos.
func (m Model) Cost(u Usage) Nanos {
	p := m.Prices
	if m.LongOver > 0 && u.Prompt() > m.LongOver {
		p = m.Long
	}
	return m.bill(p, u)
}

// Worst is an upper bound of what a call can cost: every input token at the
// dearest class it may fall into, and maxTokens of output. in must itself be
// an upper bound; what exceeds the context window would be refused, so the
// window bounds it too. write5m and write1h say that the body asks for caches
// of these lives; us, fast and batch as in [Usage]. A workspace may have "us"
// as its default, so us is certain to be false only for a body that says
// "global".
func (m Model) Worst(in, maxTokens int64, write5m, write1h, us, fast, batch bool) Nanos {
	if m.Context > 0 {
		in = min(in, m.Context)
	}
	worst := m.dearest(m.Prices, in, maxTokens, write5m, write1h, us, fast, batch)
	if m.LongOver > 0 && in > m.LongOver {
		worst = max(worst, m.dearest(m.Long, in, maxTokens, write5m, write1h, us, fast, batch))
	}
	return worst
}

// dearest bills all input at the highest input price that p has for it.
func (m Model) dearest(p Prices, in, out int64, write5m, write1h, us, fast, batch bool) Nanos {
	if write5m {
		p.In = max(p.In, p.Write5m)
	}
	if write1h {
		p.In = max(p.In, p.Write1h)
	}
	return m.bill(p, Usage{Input: in, Output: out, US: us, Fast: fast, Batch: batch})
}

func (m Model) bill(p Prices, u Usage) Nanos {
	var s sum
	s.add(u.Input, p.In)
	s.add(u.CacheWrite5m, p.Write5m)
	s.add(u.CacheWrite1h, p.Write1h)
	s.add(u.CacheRead, p.Read)
	s.add(u.Output, p.Out)
	times, over := uint64(1), uint64(perNano)
	if u.US && m.Geo {
		times, over = times*11, over*10
	}
	if u.Fast && m.Fast {
		times *= 2
	}
	if u.Batch {
		over *= 2
	}
	return s.nanos(times, over)
}

// sum adds tokens times Rate in 128 bits, so that no input overflows.
type sum struct{ hi, lo uint64 }

func (s *sum) add(tokens int64, r Rate) {
	hi, lo := bits.Mul64(uint64(max(tokens, 0)), uint64(max(r, 0)))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

// nanos is the sum times a fraction, rounded up.
func (s *sum) nanos(times, over uint64) Nanos {
	overflow, hi := bits.Mul64(s.hi, times)
	carryHi, lo := bits.Mul64(s.lo, times)
	hi, carry := bits.Add64(hi, carryHi, 0)
	if overflow != 0 || carry != 0 || hi >= over {
		return math.MaxInt64
	}
	q, r := bits.Div64(hi, lo, over)
	if r > 0 {
		q++
	}
	if q > math.MaxInt64 {
		return math.MaxInt64
	}
	return Nanos(q)
}
