package job

import (
	"fmt"
	"math"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// Caching is what prompt caching does for the calls of a run that are still to
// be sent, and could do.
type Caching struct {
	Calls    int     // that mark a beginning long enough for a cache
	Short    int     // that mark only beginnings too short for one: the API ignores them
	Prefixes int     // different beginnings
	Tokens   float64 // of the beginnings, over all calls

	// What the marks save against the same calls without any, negative where
	// writing costs more than reading saves: by sync with each beginning written
	// once, and by batch, where hits are a matter of luck.
	Sync, BatchLow, BatchHigh flotilla.Money

	Hint string // how caching would make the calls cheaper; empty: no way is known
}

// Text is a line for people about the marks; empty: there are none.
func (c *Caching) Text() string {
	switch {
	case c.Calls > 0:
	case c.Short > 0:
		return fmt.Sprintf("cache_control: of %s is ignored, what is marked is too short for a cache", rows(c.Short))
	default:
		return ""
	}
	are, saves, sync, low, high := "are", "saves", c.Sync, c.BatchLow, c.BatchHigh
	if c.Prefixes == 1 {
		are = "is"
	}
	if c.Sync < 0 {
		saves, sync, low, high = "writing costs more than reading saves:", -sync, -high, -low
	}
	return fmt.Sprintf("cache_control: %s of %s %s cached; %s about %s by sync, %s to %s by batch",
		counted(c.Prefixes, "beginning"), rows(c.Calls), are, saves, sync, low, high)
}

// Hit shares that the provider has seen in batches (facts/claude-api.md 4.7).
const batchHitsLow, batchHitsHigh = 0.30, 0.98

// caching fills in what the classes' marks come to.
func (r *Run) caching() {
	var c Caching
	for i := range r.plan.Classes {
		k := &r.plan.Classes[i]
		m, ok := r.cfg.Prices.Lookup(k.Model)
		if !ok {
			continue
		}
		r.cachingOf(&c, k, &m)
		if hint := r.cachingHint(k, &m); hint != "" && c.Hint == "" {
			c.Hint = hint
		}
	}
	r.plan.Caching = c
}

func (r *Run) cachingOf(c *Caching, k *Class, m *price.Model) {
	s := r.x.prefixes.sum(k.Model, m.MinCacheable, r.x.repeats)
	if s.rows == 0 {
		return
	}
	// The index knows all rows, the class those that are left.
	share := float64(k.Rows) / float64(r.rowsOf(k.Model))
	left := int(math.Round(float64(s.rows) * share))
	if s.marked == 0 {
		c.Short += left
		return
	}
	c.Calls += left
	k.Prefix, k.Hour = s.marked*share/float64(k.Rows), s.hour
	once := min(s.once, s.marked*share)
	k.Prefixes = max(1, int(math.Round(once/(s.marked*share/float64(left)))))
	c.Prefixes += k.Prefixes
	c.Tokens += s.marked * share
	write := m.Write5m
	if s.hour {
		write = m.Write1h
	}
	saved := func(hits float64) flotilla.Money {
		read := (s.marked*share - once) * hits
		written := s.marked*share - read
		return money(read*perToken(m.In, m.Read) - written*perToken(write, m.In))
	}
	sync := saved(1)
	c.Sync += sync
	c.BatchLow += saved(batchHitsLow) / 2
	c.BatchHigh += saved(batchHitsHigh) / 2
	k.Expected = min(k.Expected-sync, k.Worst)
}

// rowsOf is how many calls of a model the job has.
func (r *Run) rowsOf(model string) (n int) {
	for i, k := range r.x.kinds {
		if k.model == model {
			n += r.x.kindRows[i]
		}
	}
	return n * r.x.repeats
}

// cachingHint says what a cache would save that nothing is marked for. Amounts
// under a cent are no advice.
func (r *Run) cachingHint(k *Class, m *price.Model) string {
	b := r.x.likeness.longest(k.Model, m.MinCacheable)
	if b == nil {
		return ""
	}
	tokens := b.tokenCount()
	calls := math.Min(float64(b.rows*r.x.repeats), float64(k.Rows))
	saves := money((calls-1)*tokens*perToken(m.In, m.Read) - tokens*perToken(m.Write5m, m.In))
	if saves < price.Dollar/100 {
		return ""
	}
	return fmt.Sprintf("the first %s tokens of %s are the same: as a block of their own with cache_control, caching would make the job cheaper by about %s",
		grouped(int(math.Round(tokens/100)*100)), rows(int(calls)), saves)
}

// perToken is the difference of two prices, in nano-dollars a token.
func perToken(dear, cheap price.Rate) float64 { return float64(dear-cheap) / 1000 }

func money(nanos float64) flotilla.Money { return flotilla.Money(math.Round(nanos)) }
