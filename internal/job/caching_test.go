package job

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/price"
)

const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// documents are rows of questions on documents behind one system prompt, each of
// so many tokens, about; marks says which of the two are marked.
func documents(n, docs, tokens int, systemMark, docMark string) string {
	var in strings.Builder
	for i := range n {
		text := func(of string) string { return strings.Repeat(of+" ", tokens*4/(len(of)+1)) }
		fmt.Fprintf(&in, `{"custom_id":"r/%d","params":{"model":"claude-sonnet-4-6","max_tokens":50,"system":[{"type":"text","text":%q%s}],`+
			`"messages":[{"role":"user","content":[{"type":"text","text":%q%s},{"type":"text","text":"question %d"}]}]}}`+"\n",
			i, text("rules"), systemMark, text(fmt.Sprint("document ", i%docs)), docMark, i)
	}
	return in.String()
}

func planOf(t *testing.T, b *bench, in string) Plan {
	t.Helper()
	b.cfg.Shape = Shape{Provider: b.cfg.Shape.Provider, Version: b.cfg.Shape.Version}
	b.cfg.Inputs = []string{b.file("in.jsonl", in)}
	run, err := Open(t.Context(), b.fleet(), b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	return run.Plan()
}

func TestCachingOfMarks(t *testing.T) {
	const n, docs, tokens = 120, 5, 2000
	m, _ := price.Published().Lookup("claude-sonnet-4-6")
	saved := func(reads, writes float64) float64 {
		return reads*perToken(m.In, m.Read) - writes*perToken(m.Write5m, m.In)
	}
	for _, c := range []struct {
		name            string
		in              string
		prefixes, calls int
		short           int
		tokens          float64 // of all calls
		once            float64 // to be written
		hint            bool
	}{
		{name: "the system prompt", in: documents(n, docs, tokens, cacheMark, ""), prefixes: 1, calls: n, tokens: n * tokens, once: tokens},
		{name: "both", in: documents(n, docs, tokens, cacheMark, cacheMark), prefixes: 3, calls: n, tokens: 2 * n * tokens, once: tokens + docs*tokens},
		{name: "the documents", in: documents(n, docs, tokens, "", cacheMark), prefixes: docs, calls: n, tokens: 2 * n * tokens, once: 2 * docs * tokens},
		{name: "each its own", in: documents(n, n, tokens, "", cacheMark), prefixes: n, calls: n, tokens: 2 * n * tokens, once: 2 * n * tokens},
		{name: "under the minimum", in: documents(n, docs, 400, cacheMark, ""), short: n},
		{name: "over it together", in: documents(n, docs, 600, cacheMark, cacheMark), prefixes: docs, calls: n, tokens: 2 * n * 600, once: 2 * docs * 600},
		{name: "nothing", in: documents(n, docs, tokens, "", ""), hint: true},
		{name: "nothing, few rows", in: documents(19, docs, tokens, "", "")},
		{name: "nothing, too short", in: documents(n, docs, 400, "", "")},
	} {
		p := planOf(t, newBench(t), c.in)
		got := p.Caching
		near := func(what string, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > 0.06*math.Abs(want)+1 {
				t.Errorf("%s: %s is %v, want about %v", c.name, what, got, want)
			}
		}
		if got.Calls != c.calls || got.Short != c.short || got.Prefixes != c.prefixes || (got.Hint != "") != c.hint {
			t.Errorf("%s: %+v", c.name, got)
		}
		near("tokens", got.Tokens, c.tokens)
		near("sync", float64(got.Sync), saved(c.tokens-c.once, c.once))
		near("batch at worst", float64(got.BatchLow), saved(.3*(c.tokens-c.once), .7*c.tokens+.3*c.once)/2)
		near("batch at best", float64(got.BatchHigh), saved(.98*(c.tokens-c.once), .02*c.tokens+.98*c.once)/2)
		if k := p.Classes[0]; c.calls > 0 && math.Abs(k.Prefix-c.tokens/n) > 0.06*c.tokens/n {
			t.Errorf("%s: a prefix of %v", c.name, k.Prefix)
		}
	}
}

func TestCachingText(t *testing.T) {
	for want, c := range map[string]Caching{
		"": {},
		"cache_control: 1 beginning of 120 rows is cached; saves about $1.28 by sync, $0.06 to $0.62 by batch": {
			Calls: 120, Prefixes: 1, Sync: 1_280_000_000, BatchLow: 60_000_000, BatchHigh: 620_000_000,
		},
		"cache_control: 120 beginnings of 120 rows are cached; writing costs more than reading saves: about $0.10 by sync, $0.05 to $0.05 by batch": {
			Calls: 120, Prefixes: 120, Sync: -100_000_000, BatchLow: -50_000_000, BatchHigh: -50_000_000,
		},
		"cache_control: of 7 rows is ignored, what is marked is too short for a cache": {Short: 7},
	} {
		if got := c.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCachingHint(t *testing.T) {
	p := planOf(t, newBench(t), documents(120, 4, 2000, "", ""))
	want := "the first 2,100 tokens of 120 rows are the same: as a block of their own with cache_control, caching would make the job cheaper by about $0.66"
	if p.Caching.Hint != want {
		t.Errorf("%q", p.Caching.Hint)
	}
}

// What is expected of a job with marks is what it costs, by sync on one org.
func TestCachingCostsAsExpected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmulated(t, emulator.Options{Seed: 1})
		e.cfg.Shape = Shape{Provider: e.cfg.Shape.Provider, Version: e.cfg.Shape.Version}
		e.cfg.Inputs = []string{e.file("in.jsonl", documents(120, 1, 2000, cacheMark, cacheMark))}
		e.cfg.OutTokens = 30
		end := e.carried(t, flotilla.Config{Orgs: keys("high")})
		if end.code != ExitOK {
			t.Fatalf("exit %d, %v", end.code, end.err)
		}
		if got, want := end.CostUSD.Float(), end.plan.Expected.Float(); math.Abs(got-want) > 0.15*want {
			t.Errorf("it cost %v, %v was expected", end.CostUSD, end.plan.Expected)
		}
		without := end.plan.Expected + end.plan.Caching.Sync
		t.Logf("cost %v, expected %v, without caches %v", end.CostUSD, end.plan.Expected, without)
	})
}

// Rows that mark the same beginning belong together, by the longest that others
// have too.
func TestAffinity(t *testing.T) {
	affinities := func(in string) (out []uint32) {
		b := newBench(t)
		x, err := indexOf(t, Shape{Provider: "https://api.anthropic.com", Version: flotilla.DefaultVersion}, false, b.file("in.jsonl", in))
		if err != nil {
			t.Fatal(err)
		}
		for call := range x.calls() {
			out = append(out, stocked(x, nil).row(call).Affinity)
		}
		return out
	}
	for _, c := range []struct {
		name, in string
		want     []uint32
	}{
		{"the system prompt", documents(5, 2, 2000, cacheMark, ""), []uint32{1, 1, 1, 1, 1}},
		{"both", documents(6, 2, 2000, cacheMark, cacheMark), []uint32{1, 1, 2, 3, 2, 3}}, // a document is known to be shared from its second row on
		{"each its own document", documents(4, 4, 2000, cacheMark, cacheMark), []uint32{1, 1, 1, 1}},
		{"nothing", documents(3, 2, 2000, "", ""), []uint32{0, 0, 0}},
		{"too short", documents(3, 2, 300, cacheMark, ""), []uint32{0, 0, 0}},
	} {
		if diff := cmp.Diff(c.want, affinities(c.in)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
}
