package price_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/flotilla-llm/flotilla/price"
	"pgregory.net/rapid"
)

// slowCost is the twin of Cost: fractions of dollars, no shortcuts.
func slowCost(m price.Model, u price.Usage) price.Nanos {
	p := m.Prices
	if m.LongOver > 0 && u.Input+u.CacheWrite5m+u.CacheWrite1h+u.CacheRead > m.LongOver {
		p = m.Long
	}
	total := new(big.Rat)
	for _, c := range []struct {
		tokens int64
		rate   price.Rate
	}{{u.Input, p.In}, {u.CacheWrite5m, p.Write5m}, {u.CacheWrite1h, p.Write1h}, {u.CacheRead, p.Read}, {u.Output, p.Out}} {
		perMillion := big.NewRat(int64(c.rate), 1_000_000)
		each := new(big.Rat).Quo(perMillion, big.NewRat(1_000_000, 1))
		total.Add(total, each.Mul(each, big.NewRat(c.tokens, 1)))
	}
	if u.US && m.Geo {
		total.Mul(total, big.NewRat(11, 10))
	}
	if u.Fast && m.Fast {
		total.Mul(total, big.NewRat(2, 1))
	}
	if u.Batch {
		total.Mul(total, big.NewRat(1, 2))
	}
	total.Mul(total, big.NewRat(1_000_000_000, 1))
	q, r := new(big.Int).QuoRem(total.Num(), total.Denom(), new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		return math.MaxInt64
	}
	return price.Nanos(q.Int64())
}

func drawModel(t *rapid.T) price.Model {
	return rapid.SampledFrom(price.Published().Models()).Draw(t, "model")
}

func drawUsage(t *rapid.T) price.Usage {
	tokens := rapid.OneOf(rapid.Int64Range(0, 200_000), rapid.Int64Range(0, 1<<40))
	flag := rapid.Bool()
	return price.Usage{
		Input: tokens.Draw(t, "input"), CacheWrite5m: tokens.Draw(t, "5m"), CacheWrite1h: tokens.Draw(t, "1h"),
		CacheRead: tokens.Draw(t, "read"), Output: tokens.Draw(t, "output"),
		US: flag.Draw(t, "us"), Fast: flag.Draw(t, "fast"), Batch: flag.Draw(t, "batch"),
	}
}

func TestCostEqualsRationalTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, u := drawModel(t), drawUsage(t)
		if got, want := m.Cost(u), slowCost(m, u); got != want {
			t.Fatalf("%s %+v: %s, by fractions %s", m.ID, u, got.Exact(), want.Exact())
		}
	})
}

// Worst bounds the cost of every usage that it was asked about.
func TestWorstBoundsCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, u := drawModel(t), drawUsage(t)
		if m.Context == 0 { // a model without prices costs nothing
			t.Skip()
		}
		split := rapid.Int64Range(0, m.Context)
		in := split.Draw(t, "in")
		u.CacheWrite5m = min(u.CacheWrite5m, in)
		u.CacheWrite1h = min(u.CacheWrite1h, in-u.CacheWrite5m)
		u.CacheRead = min(u.CacheRead, in-u.CacheWrite5m-u.CacheWrite1h)
		u.Input = in - u.CacheWrite5m - u.CacheWrite1h - u.CacheRead
		u.Output = split.Draw(t, "out")
		upper := in + split.Draw(t, "slack")
		worst := m.Worst(upper, u.Output, u.CacheWrite5m > 0, u.CacheWrite1h > 0, u.US, u.Fast, u.Batch)
		if cost := m.Cost(u); cost > worst {
			t.Fatalf("%s %+v: costs %s, worst case was %s", m.ID, u, cost.Exact(), worst.Exact())
		}
	})
}

func TestCostSaturates(t *testing.T) {
	m, _ := price.Published().Lookup("claude-opus-4-1")
	if got := m.Cost(price.Usage{Input: math.MaxInt64, Output: math.MaxInt64}); got != math.MaxInt64 {
		t.Errorf("cost of 2^64 tokens: %d, want the largest amount", got)
	}
	if got := m.Cost(price.Usage{Input: -5, Output: -1}); got != 0 {
		t.Errorf("cost of negative tokens: %d, want 0", got)
	}
}
