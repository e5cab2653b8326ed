package emulator

import "time"

// entry is one model of the emulator's own table (facts/claude-api.md section
// 6). Prices are whole nano-dollars a token, which is the published dollars per
// million tokens times 1000.
type entry struct {
	id, alias, name    string
	pool, family       string
	released, retires  string // dates; empty: not known
	deprecated         bool
	limited            bool // only invited orgs may call it
	context, maxOut    int64
	in, out            int64
	write5m, write1h   int64
	read               int64
	minCache           int64
	generation         int  // 100 × major + minor, as rules about parameters count it
	geo                bool // takes inference_geo (4.6 and later)
	noPrefill          bool // a last message of the assistant is refused (4.6 and later)
	noSampling         bool // temperature, top_p, top_k other than the defaults are refused (4.7 and later)
	noManualThinking   bool // thinking.type "enabled" is refused (4.7 and later)
	noForcedTool       bool // tool_choice "any" and "tool" are refused
	longOut            bool // takes the longest answers of batches
	newTokenizer       bool // counts 1.3 times as many tokens (from Opus 4.7 on)
	fast               bool // takes speed "fast", at twice the price
	bandAbove, bandMul int64
}

const (
	kilo    = 1_000
	million = 1_000_000
)

// catalog is ordered by release within a family, newest first, as the Models
// API lists them. The order is part of what a seed fixes: model indices.
var catalog = buildCatalog([]entry{
	{id: "claude-fable-5-2", name: "Claude Fable 5.2", pool: "fable-5.x", family: "fable", generation: 502, released: "2026-11-09", in: 8000, out: 40000, write5m: 10000, write1h: 16000, read: 200, minCache: 512, fast: true},
	{id: "claude-mythos-5-2", name: "Claude Mythos 5.2", pool: "mythos-5.x", family: "mythos", generation: 502, released: "2026-11-09", limited: true, in: 8000, out: 40000, write5m: 10000, write1h: 16000, read: 200, minCache: 512, fast: true},
	{id: "claude-haiku-5-5", name: "Claude Haiku 5.5", pool: "haiku-5.5", family: "haiku", generation: 505, released: "2026-10-07", in: 100, out: 500, write5m: 125, write1h: 200, read: 10, minCache: 512, bandAbove: 100 * kilo, bandMul: 5},
	{id: "claude-sonnet-5-5", name: "Claude Sonnet 5.5", pool: "sonnet-5.5", family: "sonnet", generation: 505, released: "2026-09-28", in: 2000, out: 10000, write5m: 2500, write1h: 4000, read: 100, minCache: 512, noForcedTool: true},
	{id: "claude-opus-5-5", name: "Claude Opus 5.5", pool: "opus-5.5", family: "opus", generation: 505, released: "2026-09-22", in: 4000, out: 20000, write5m: 5000, write1h: 8000, read: 200, minCache: 512, noForcedTool: true, fast: true},
	{id: "claude-fable-5-1", name: "Claude Fable 5.1", pool: "fable-5.x", family: "fable", generation: 501, in: 10000, out: 50000, write5m: 12500, write1h: 20000, read: 250, minCache: 512, noForcedTool: true},
	{id: "claude-mythos-5-1", name: "Claude Mythos 5.1", pool: "mythos-5.x", family: "mythos", generation: 501, limited: true, in: 10000, out: 50000, write5m: 12500, write1h: 20000, read: 250, minCache: 512},
	{id: "claude-opus-5", name: "Claude Opus 5", pool: "opus-5", family: "opus", generation: 500, released: "2026-07-24", in: 5000, out: 25000, write5m: 6250, write1h: 10000, read: 500, minCache: 512, fast: true},
	{id: "claude-sonnet-5", name: "Claude Sonnet 5", pool: "sonnet-5", family: "sonnet", generation: 500, released: "2026-06-30", in: 2000, out: 10000, write5m: 2500, write1h: 4000, read: 200, minCache: 1024},
	{id: "claude-fable-5", name: "Claude Fable 5", pool: "fable-5.x", family: "fable", generation: 500, released: "2026-06-09", in: 10000, out: 50000, write5m: 12500, write1h: 20000, read: 1000, minCache: 512},
	{id: "claude-mythos-5", name: "Claude Mythos 5", pool: "mythos-5.x", family: "mythos", generation: 500, released: "2026-06-09", limited: true, in: 10000, out: 50000, write5m: 12500, write1h: 20000, read: 1000, minCache: 512},
	{id: "claude-opus-4-8", name: "Claude Opus 4.8", pool: "opus-4.x", family: "opus", generation: 408, released: "2026-05-28", in: 5000, out: 25000, write5m: 6250, write1h: 10000, read: 500, minCache: 1024},
	{id: "claude-opus-4-7", name: "Claude Opus 4.7", pool: "opus-4.x", family: "opus", generation: 407, released: "2026-04-16", in: 5000, out: 25000, write5m: 6250, write1h: 10000, read: 500, minCache: 2048},
	{id: "claude-sonnet-4-6", name: "Claude Sonnet 4.6", pool: "sonnet-4.x", family: "sonnet", generation: 406, released: "2026-02-17", in: 3000, out: 15000, write5m: 3750, write1h: 6000, read: 300, minCache: 1024},
	{id: "claude-opus-4-6", name: "Claude Opus 4.6", pool: "opus-4.x", family: "opus", generation: 406, released: "2026-02-05", in: 5000, out: 25000, write5m: 6250, write1h: 10000, read: 500, minCache: 4096},
	{id: "claude-opus-4-5-20251101", alias: "claude-opus-4-5", name: "Claude Opus 4.5", pool: "opus-4.x", family: "opus", generation: 405, released: "2025-11-24", retires: "2027-01-22", deprecated: true, context: 200 * kilo, maxOut: 64 * kilo, in: 5000, out: 25000, write5m: 6250, write1h: 10000, read: 500, minCache: 4096},
	{id: "claude-haiku-4-5-20251001", alias: "claude-haiku-4-5", name: "Claude Haiku 4.5", pool: "haiku-4.5", family: "haiku", generation: 405, released: "2025-10-15", context: 200 * kilo, maxOut: 64 * kilo, in: 1000, out: 5000, write5m: 1250, write1h: 2000, read: 100, minCache: 4096},
	{id: "claude-sonnet-4-5-20250929", alias: "claude-sonnet-4-5", name: "Claude Sonnet 4.5", pool: "sonnet-4.x", family: "sonnet", generation: 405, released: "2025-09-29", retires: "2026-11-30", deprecated: true, context: 200 * kilo, maxOut: 64 * kilo, in: 3000, out: 15000, write5m: 3750, write1h: 6000, read: 300, minCache: 1024},
	// Retired on the first-party API: requests answer 404, and prices are not
	// kept, because nothing can be bought.
	{id: "claude-mythos-preview", name: "Claude Mythos Preview", family: "mythos", retires: "2026-06-30", deprecated: true, limited: true},
	{id: "claude-opus-4-1-20250805", alias: "claude-opus-4-1", name: "Claude Opus 4.1", family: "opus", retires: "2026-08-05", deprecated: true},
	{id: "claude-opus-4-20250514", alias: "claude-opus-4-0", name: "Claude Opus 4", family: "opus", retires: "2026-06-15", deprecated: true},
	{id: "claude-sonnet-4-20250514", alias: "claude-sonnet-4-0", name: "Claude Sonnet 4", family: "sonnet", retires: "2026-06-15", deprecated: true},
	{id: "claude-3-haiku-20240307", name: "Claude Haiku 3", family: "haiku", retires: "2026-04-20", deprecated: true},
	{id: "claude-3-5-haiku-20241022", alias: "claude-3-5-haiku-latest", name: "Claude Haiku 3.5", family: "haiku", retires: "2026-02-19", deprecated: true},
	{id: "claude-3-7-sonnet-20250219", alias: "claude-3-7-sonnet-latest", name: "Claude Sonnet 3.7", family: "sonnet", retires: "2026-02-19", deprecated: true},
	{id: "claude-3-opus-20240229", alias: "claude-3-opus-latest", name: "Claude Opus 3", family: "opus", retires: "2026-01-05", deprecated: true},
	{id: "claude-3-5-sonnet-20241022", alias: "claude-3-5-sonnet-latest", name: "Claude Sonnet 3.5", family: "sonnet", retires: "2025-10-28", deprecated: true},
})

// pools are the rate-limit groups in the catalog's order, each once.
var pools = poolsOf(catalog)

// models finds a catalog index by id and by alias.
var models = indexCatalog(catalog)

// buildCatalog fills in what follows from a model's generation
// (facts/claude-api.md 1.1 and 0): 4.6 and 4.7 are where the rules changed.
func buildCatalog(es []entry) []entry {
	for i := range es {
		e := &es[i]
		if e.context == 0 {
			e.context, e.maxOut = million, 128*kilo
		}
		e.geo = e.generation >= 406
		e.noPrefill = e.generation >= 406
		e.noSampling = e.generation >= 407
		e.noManualThinking = e.generation >= 407
		e.newTokenizer = e.generation >= 407
		e.longOut = e.generation >= 406 && (e.family == "opus" || e.family == "sonnet") || e.id == "claude-haiku-5-5"
	}
	return es
}

func poolsOf(es []entry) []string {
	var out []string
	seen := map[string]bool{}
	for _, e := range es {
		if e.pool != "" && !seen[e.pool] {
			seen[e.pool] = true
			out = append(out, e.pool)
		}
	}
	return out
}

func indexCatalog(es []entry) map[string]int {
	m := make(map[string]int, 2*len(es))
	for i, e := range es {
		m[e.id] = i
		if e.alias != "" {
			m[e.alias] = i
		}
	}
	return m
}

// lifecycle is what the Models API calls active, deprecated or retired. A
// model is retired from the first instant of its date, in UTC.
func (e *entry) lifecycle(now time.Time) string {
	if e.retires != "" && !now.Before(date(e.retires)) {
		return "retired"
	}
	if e.deprecated {
		return "deprecated"
	}
	return "active"
}

func date(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return time.Time{} // only "" occurs: release days that are not known
	}
	return t
}

// ModelIndex gives the number that [Arrival.Model] takes for a model's id or
// alias; false for a model that the table does not have.
func ModelIndex(model string) (int, bool) {
	i, ok := models[model]
	return i, ok
}

// PoolOf names the rate-limit pool of a model index; empty for a retired model.
func PoolOf(model int) string { return catalog[model].pool }
