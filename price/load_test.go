package price_test

import (
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla/price"
)

func TestLoad(t *testing.T) {
	base := price.Published()
	tab, err := base.Load(strings.NewReader(`
date: 2026-12-15
models:
  - {id: claude-sonnet-4-6, in: 2.50, out: 12}
  - id: claude-new-1
    aliases: new newest
    pool: new-1
    in: 1
    out: 5
    read: 0.05
    rules: geo noprefill
  - {id: claude-haiku-5-5, out: 1}
  - {id: claude-opus-5, pool: opus-4.x}
`))
	if err != nil {
		t.Fatal(err)
	}
	if d := tab.Date.Format("2006-01-02"); d != "2026-12-15" {
		t.Errorf("date %s, want 2026-12-15", d)
	}
	s, _ := tab.Lookup("claude-sonnet-4-6")
	if want := (price.Prices{In: 2_500_000, Out: 12_000_000, Write5m: 3_125_000, Write1h: 5_000_000, Read: 250_000}); s.Prices != want {
		t.Errorf("sonnet: %+v, want %+v", s.Prices, want)
	}
	if s.Pool != "sonnet-4.x" || !s.RefusesPrefill {
		t.Errorf("sonnet lost what the file left out: %+v", s)
	}
	n, ok := tab.Lookup("newest")
	if !ok || n.ID != "claude-new-1" || n.Read != 50_000 || n.Write1h != 2_000_000 || !n.RefusesPrefill || n.Fast {
		t.Errorf("new model: %+v", n)
	}
	h, _ := tab.Lookup("claude-haiku-5-5")
	if h.Out != 1_000_000 || h.In != 100_000 || h.LongOver != 0 {
		t.Errorf("haiku: %+v", h)
	}
	o, _ := tab.Lookup("claude-opus-5")
	if was, _ := base.Lookup("claude-opus-5"); o.Pool != "opus-4.x" || was.Pool != "opus-5" {
		t.Errorf("opus 5: pool %s, in the base table %s", o.Pool, was.Pool)
	}
}

func TestLoadErrors(t *testing.T) {
	for in, want := range map[string]string{
		"models:\n  - {id: m, in: 1}":                             "needs in and out",
		"models:\n  - {in: 1, out: 2}":                            "model 1 has no id",
		"models:\n  - {id: m, in: x, out: 2}":                     "in: price per million tokens",
		"models:\n  - {id: m, in: 1, out: 2, colour: red}":        "colour",
		"models:\n  - {id: claude-sonnet-4-6, status: gone}":      `status "gone"`,
		"models:\n  - {id: claude-sonnet-4-6, rules: yes}":        `"yes" is not a rule`,
		"models:\n  - {id: claude-sonnet-4-6, released: May}":     `day "May"`,
		"models:\n  - {id: claude-sonnet-4-6, context: -1}":       "whole number",
		"models:\n  - {id: claude-sonnet-4-6, in: 3.0000001}":     "more than 6 decimals",
		"models:\n  - {id: claude-sonnet-4-6, retires: '>=soon'}": `day "soon"`,
		"date: today": `day "today"`,
		"[":           "price file",
	} {
		if _, err := price.Published().Load(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", in, err, want)
		}
	}
	if tab, err := price.Published().Load(strings.NewReader("")); err != nil || tab.Date != price.Published().Date {
		t.Errorf("empty file: %v", err)
	}
}

func TestParsePrices(t *testing.T) {
	p, err := price.ParsePrices("in=3,out=15")
	if want := (price.Prices{In: 3_000_000, Out: 15_000_000, Write5m: 3_750_000, Write1h: 6_000_000, Read: 300_000}); err != nil || p != want {
		t.Errorf("in=3,out=15: %+v (%v), want %+v", p, err, want)
	}
	p, err = price.ParsePrices("in=$3, out=15, read=0.1, write_1h=7")
	if err != nil || p.Read != 100_000 || p.Write1h != 7_000_000 || p.Write5m != 3_750_000 {
		t.Errorf("with cache prices: %+v (%v)", p, err)
	}
	for _, in := range []string{"", "in=3", "out=3", "in=3,out=15,in=4", "in=3,out=-1", "in=3,out=15,cost=1", "3,15"} {
		if p, err := price.ParsePrices(in); err == nil {
			t.Errorf("%q: %+v, want an error", in, p)
		}
	}
}

// The ids and aliases of the table name one model each, and none but those
// never published lack a price.
func TestTableIsSound(t *testing.T) {
	seen := map[string]string{}
	for _, m := range price.Published().Models() {
		for _, name := range append([]string{m.ID}, m.Aliases...) {
			if other, dup := seen[name]; dup {
				t.Errorf("%s names both %s and %s", name, other, m.ID)
			}
			seen[name] = m.ID
		}
		if m.Pool == "" || m.Family() == "other" {
			t.Errorf("%s: pool %q, family %s", m.ID, m.Pool, m.Family())
		}
		if m.Priced() == (m.ID == "claude-mythos-preview") {
			t.Errorf("%s: priced is %v", m.ID, m.Priced())
		}
	}
}

func TestWithTakesOverNames(t *testing.T) {
	tab := price.Published().With(price.Model{ID: "mine", Aliases: []string{"claude-haiku-4-5"}, Pool: "p"})
	if m, _ := tab.Lookup("claude-haiku-4-5"); m.ID != "mine" {
		t.Errorf("alias leads to %s, want mine", m.ID)
	}
	if m, _ := price.Published().Lookup("claude-haiku-4-5"); m.ID != "claude-haiku-4-5-20251001" {
		t.Errorf("the published table changed: alias leads to %s", m.ID)
	}
}
