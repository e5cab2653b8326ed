package price_test

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// The provider's published figures, written out again: dollars per million
// tokens (facts/claude-api.md 6), batch columns included.
var figures = []struct {
	name                                               string
	pool                                               string
	in, out, write5m, write1h, read, batchIn, batchOut float64
	context, maxOutput, minCacheable                   int64
}{
	{"claude-fable-5-2", "fable-5.x", 8, 40, 10, 16, 0.20, 4, 20, 1000000, 128000, 512},
	{"claude-mythos-5-2", "mythos-5.x", 8, 40, 10, 16, 0.20, 4, 20, 1000000, 128000, 512},
	{"claude-fable-5-1", "fable-5.x", 10, 50, 12.50, 20, 0.25, 5, 25, 1000000, 128000, 512},
	{"claude-mythos-5-1", "mythos-5.x", 10, 50, 12.50, 20, 0.25, 5, 25, 1000000, 128000, 512},
	{"claude-fable-5", "fable-5.x", 10, 50, 12.50, 20, 1.00, 5, 25, 1000000, 128000, 512},
	{"claude-mythos-5", "mythos-5.x", 10, 50, 12.50, 20, 1.00, 5, 25, 1000000, 128000, 512},
	{"claude-opus-5-5", "opus-5.5", 4, 20, 5, 8, 0.20, 2, 10, 1000000, 128000, 512},
	{"claude-opus-5", "opus-5", 5, 25, 6.25, 10, 0.50, 2.50, 12.50, 1000000, 128000, 512},
	{"claude-opus-4-8", "opus-4.x", 5, 25, 6.25, 10, 0.50, 2.50, 12.50, 1000000, 128000, 1024},
	{"claude-opus-4-7", "opus-4.x", 5, 25, 6.25, 10, 0.50, 2.50, 12.50, 1000000, 128000, 2048},
	{"claude-opus-4-6", "opus-4.x", 5, 25, 6.25, 10, 0.50, 2.50, 12.50, 1000000, 128000, 4096},
	{"claude-opus-4-5", "opus-4.x", 5, 25, 6.25, 10, 0.50, 2.50, 12.50, 200000, 64000, 4096},
	{"claude-opus-4-5-20251101", "opus-4.x", 5, 25, 6.25, 10, 0.50, 2.50, 12.50, 200000, 64000, 4096},
	{"claude-sonnet-5-5", "sonnet-5.5", 2, 10, 2.50, 4, 0.10, 1, 5, 1000000, 128000, 512},
	{"claude-sonnet-5", "sonnet-5", 2, 10, 2.50, 4, 0.20, 1, 5, 1000000, 128000, 1024},
	{"claude-sonnet-4-6", "sonnet-4.x", 3, 15, 3.75, 6, 0.30, 1.50, 7.50, 1000000, 128000, 1024},
	{"claude-sonnet-4-5", "sonnet-4.x", 3, 15, 3.75, 6, 0.30, 1.50, 7.50, 200000, 64000, 1024},
	{"claude-sonnet-4-5-20250929", "sonnet-4.x", 3, 15, 3.75, 6, 0.30, 1.50, 7.50, 200000, 64000, 1024},
	{"claude-haiku-5-5", "haiku-5.5", 0.10, 0.50, 0.125, 0.20, 0.01, 0.05, 0.25, 1000000, 128000, 512},
	{"claude-haiku-4-5", "haiku-4.5", 1, 5, 1.25, 2, 0.10, 0.50, 2.50, 200000, 64000, 4096},
	{"claude-haiku-4-5-20251001", "haiku-4.5", 1, 5, 1.25, 2, 0.10, 0.50, 2.50, 200000, 64000, 4096},
	// Retired, from the pricing page of their time.
	{"claude-opus-4-1-20250805", "opus-4.x", 15, 75, 18.75, 30, 1.50, 7.50, 37.50, 200000, 32000, 1024},
	{"claude-opus-4-20250514", "opus-4.x", 15, 75, 18.75, 30, 1.50, 7.50, 37.50, 200000, 32000, 1024},
	{"claude-sonnet-4-20250514", "sonnet-4.x", 3, 15, 3.75, 6, 0.30, 1.50, 7.50, 200000, 64000, 1024},
	{"claude-3-7-sonnet-20250219", "sonnet-3.7", 3, 15, 3.75, 6, 0.30, 1.50, 7.50, 200000, 64000, 1024},
	{"claude-3-5-haiku-20241022", "haiku-3.5", 0.80, 4, 1, 1.60, 0.08, 0.40, 2, 200000, 8192, 2048},
	{"claude-3-haiku-20240307", "haiku-3", 0.25, 1.25, 0.30, 0.50, 0.03, 0.125, 0.625, 200000, 4096, 2048},
}

// million is the bill for a million tokens of one class, under Haiku 5.5's
// band where the class is asked for in ten parts.
func million(m price.Model, u price.Usage) price.Nanos {
	parts := int64(1)
	if m.LongOver > 0 {
		parts = 10
	}
	u.Input, u.Output = u.Input/parts, u.Output/parts
	u.CacheWrite5m, u.CacheWrite1h, u.CacheRead = u.CacheWrite5m/parts, u.CacheWrite1h/parts, u.CacheRead/parts
	return m.Cost(u) * price.Nanos(parts)
}

func TestPeerFault24PublishedFigures(t *testing.T) {
	const mega = 1_000_000
	for _, f := range figures {
		m, ok := price.Published().Lookup(f.name)
		if !ok {
			t.Errorf("%s: not in the table", f.name)
			continue
		}
		for _, c := range []struct {
			class string
			usage price.Usage
			want  float64
		}{
			{"in", price.Usage{Input: mega}, f.in},
			{"out", price.Usage{Output: mega}, f.out},
			{"write 5m", price.Usage{CacheWrite5m: mega}, f.write5m},
			{"write 1h", price.Usage{CacheWrite1h: mega}, f.write1h},
			{"read", price.Usage{CacheRead: mega}, f.read},
			{"batch in", price.Usage{Input: mega, Batch: true}, f.batchIn},
			{"batch out", price.Usage{Output: mega, Batch: true}, f.batchOut},
		} {
			if got := million(m, c.usage); got != price.USD(c.want) {
				t.Errorf("%s %s: %s a million tokens, published %s", f.name, c.class, got, price.USD(c.want))
			}
		}
		if m.Pool != f.pool || m.Context != f.context || m.MaxOutput != f.maxOutput || m.MinCacheable != f.minCacheable {
			t.Errorf("%s: pool %s, context %d, max output %d, min cacheable %d; published %s, %d, %d, %d",
				f.name, m.Pool, m.Context, m.MaxOutput, m.MinCacheable, f.pool, f.context, f.maxOutput, f.minCacheable)
		}
	}
}

// Haiku 5.5 prices the whole request higher once its prompt, cache included, is
// over 100k tokens.
func TestHaikuBand(t *testing.T) {
	m, _ := price.Published().Lookup("claude-haiku-5-5")
	for _, c := range []struct {
		name  string
		usage price.Usage
		want  float64
	}{
		{"at the edge", price.Usage{Input: 100_000, Output: 1000}, 0.01 + 0.0005},
		{"over by a cached token", price.Usage{Input: 100_000, CacheRead: 1, Output: 1000}, 0.05 + 0.00000005 + 0.0025},
		{"million in", price.Usage{Input: 1_000_000}, 0.50},
		{"million written 5m", price.Usage{CacheWrite5m: 1_000_000}, 0.625},
		{"million written 1h", price.Usage{CacheWrite1h: 1_000_000}, 1},
		{"million read", price.Usage{CacheRead: 1_000_000}, 0.05},
		{"batch", price.Usage{Input: 1_000_000, Output: 1_000_000, Batch: true}, 0.25 + 1.25},
		{"one batch write", price.Usage{CacheWrite5m: 1, Batch: true}, 0.000000063}, // 62.5 nano-dollars, rounded up once
		{"two batch writes", price.Usage{CacheWrite5m: 2, Batch: true}, 0.000000125},
	} {
		if got := m.Cost(c.usage); got != price.USD(c.want) {
			t.Errorf("%s: %s, want %s", c.name, got.Exact(), price.USD(c.want).Exact())
		}
	}
}

func TestMultipliers(t *testing.T) {
	u := price.Usage{Input: 1_000_000}
	us, fast := u, u
	us.US, fast.Fast = true, true
	for _, c := range []struct {
		model           string
		plain, us, fast float64
	}{
		{"claude-opus-5-5", 4, 4.4, 8},
		{"claude-opus-5", 5, 5.5, 10},
		{"claude-opus-4-8", 5, 5.5, 10},
		{"claude-opus-4-7", 5, 5.5, 5},
		{"claude-opus-4-6", 5, 5.5, 5}, // silently standard
		{"claude-opus-4-5", 5, 5, 5},   // before 4.6 no inference_geo
		{"claude-sonnet-4-6", 3, 3.3, 3},
		{"claude-haiku-4-5", 1, 1, 1},
	} {
		m, _ := price.Published().Lookup(c.model)
		if a, b, d := m.Cost(u), m.Cost(us), m.Cost(fast); a != price.USD(c.plain) || b != price.USD(c.us) || d != price.USD(c.fast) {
			t.Errorf("%s: %s, us %s, fast %s; want %v %v %v", c.model, a, b, d, c.plain, c.us, c.fast)
		}
	}
}

// The parameter rules of facts/claude-api.md 1.1, model by model.
func TestRules(t *testing.T) {
	from46 := map[string]bool{"claude-opus-4-6": true, "claude-sonnet-4-6": true}
	forced := map[string]bool{"claude-fable-5-1": true, "claude-opus-5-5": true, "claude-sonnet-5-5": true}
	before := map[string]bool{
		"claude-opus-4-5-20251101": true, "claude-sonnet-4-5-20250929": true,
		"claude-haiku-4-5-20251001": true, "claude-mythos-preview": true,
	}
	for _, m := range price.Published().Models() {
		from47 := m.Status != price.Retired && !before[m.ID] && !from46[m.ID]
		want := price.Rules{
			Geo: from47 || from46[m.ID], RefusesPrefill: from47 || from46[m.ID],
			RefusesSampling: from47, RefusesEnabled: from47, NewTokenizer: from47,
			RefusesForced: forced[m.ID], Fast: m.Fast,
		}
		if m.Rules != want {
			t.Errorf("%s: rules %+v, want %+v", m.ID, m.Rules, want)
		}
	}
}

func TestLifecycle(t *testing.T) {
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateTime, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		model, at string
		want      price.Status
	}{
		{"claude-sonnet-4-5", "2026-11-29 23:59:59", price.Deprecated},
		{"claude-sonnet-4-5", "2026-11-30 00:00:00", price.Retired},
		{"claude-opus-4-5", "2026-11-30 12:00:00", price.Deprecated},
		{"claude-opus-4-5", "2027-01-22 00:00:00", price.Retired},
		{"claude-haiku-4-5", "2027-06-01 00:00:00", price.Active}, // its date is a promise
		{"claude-opus-4-1", "2026-01-01 00:00:00", price.Retired}, // as stated, whatever the clock says
		{"claude-mythos-5", "2026-11-30 00:00:00", price.Limited},
		{"claude-mythos-preview", "2026-11-30 00:00:00", price.Retired},
		{"claude-sonnet-5-5", "2030-01-01 00:00:00", price.Active},
	} {
		m, ok := price.Published().Lookup(c.model)
		if got := m.Lifecycle(day(c.at)); !ok || got != c.want {
			t.Errorf("%s at %s: %s, want %s", c.model, c.at, got, c.want)
		}
	}
}

func TestReplacement(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for model, want := range map[string]string{
		"claude-sonnet-4-5": "claude-sonnet-4-6",
		"claude-opus-4-5":   "claude-opus-4-8",
		"claude-opus-4-1":   "", // nothing in the pool at its price
		"claude-3-haiku":    "", // alone in its pool
		"claude-sonnet-4-0": "claude-sonnet-4-6",
	} {
		m, _ := price.Published().Lookup(model)
		r, ok := price.Published().Replacement(m, now)
		if r.ID != want || ok != (want != "") {
			t.Errorf("%s: replaced by %q, want %q", model, r.ID, want)
		}
	}
}

func TestFamily(t *testing.T) {
	for model, want := range map[string]string{
		"claude-3-5-haiku-20241022": "haiku", "claude-sonnet-4-6": "sonnet", "claude-opus-5": "opus",
		"claude-fable-5": "fable", "claude-mythos-preview": "mythos", "grok": "other",
	} {
		if got := price.FamilyOf(model); got != want {
			t.Errorf("%s: family %s, want %s", model, got, want)
		}
	}
}
