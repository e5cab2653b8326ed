package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

func points(route string, at map[int]time.Duration) (out []CrossingPoint) {
	for n, d := range at {
		p := CrossingPoint{N: n, Route: route, P50: d}
		if route != "sync" {
			p.BatchRows = n
		}
		out = append(out, p)
	}
	return out
}

func TestCrossings(t *testing.T) {
	sync := points("sync", map[int]time.Duration{100: time.Second, 1000: 10 * time.Second, 10_000: 100 * time.Second})
	for _, c := range []struct {
		name  string
		batch map[int]time.Duration
		want  int
	}{
		{"never ahead", map[int]time.Duration{100: time.Minute, 1000: time.Minute, 10_000: 110 * time.Second}, 0},
		{"no clear lead", map[int]time.Duration{100: time.Minute, 1000: time.Minute, 10_000: 99 * time.Second}, 0},
		// As far above at 1,000 as below at 10,000: in the middle of the logarithms.
		{"in between", map[int]time.Duration{100: time.Minute, 1000: 97 * time.Second / 5, 10_000: 97 * time.Second / 2}, 3200},
		{"always ahead", map[int]time.Duration{100: time.Second / 2, 1000: time.Second, 10_000: 10 * time.Second}, 100},
		{"falls back", map[int]time.Duration{100: time.Second / 2, 1000: time.Second, 10_000: time.Hour}, 0},
		{"does not end", map[int]time.Duration{100: Never, 1000: Never, 10_000: Never}, 0},
	} {
		x := Crossing{Points: append(points("batch", c.batch), sync...)}
		x.Find()
		if x.BatchFaster != c.want {
			t.Errorf("%s: from %d, want %d", c.name, x.BatchFaster, c.want)
		}
	}
}

func TestBalancedTakesBatchesFromTheLeastSizeOnwards(t *testing.T) {
	x := Crossing{Points: []CrossingPoint{
		{N: 10, Route: "batch", BatchRows: 10, Taken: true},
		{N: 100, Route: "sync", Taken: true},
		{N: 1000, Route: "batch", BatchRows: 1000, Taken: true},
		{N: 1000, Route: "sync"},
		{N: 10_000, Route: "hybrid", BatchRows: 4000, Taken: true},
	}}
	x.Find()
	if x.Balanced != 1000 {
		t.Errorf("from %d, want 1000: below it sync is taken", x.Balanced)
	}
}

// The document says whose numbers it has, where each comes from, and what is not
// known.
func TestGuidelines(t *testing.T) {
	c := Choose([]*Result{
		found("limits", "any", "tier-start/1", epoch, limit("rpm", 1000), limit("itpm", 2e6)),
		found("refill", "any", "tier-start/1", epoch, Metric{Name: "refill_itpm", Org: "high", Pool: "haiku-4.5", Value: 1.2e6, Unit: "x"}),
	})
	c.Results[1].NotShown = []string{"the refill of otpm: too few readings"}
	g := Guide{
		Chosen: c, Profile: MakeProfile(&c, price.Published(), epoch), Prices: price.Published(), ResultsIn: "../eval", FiguresIn: "../fig", Made: epoch,
		Crossings: []Crossing{{Model: haiku, Balanced: 1000}},
		Decisions: []Decision{{Model: haiku, N: 10_000, Care: ForCost, Route: "batch", Orgs: []string{"high", "low"}, Chunk: 145, P5: time.Minute, P50: 5 * time.Minute, P95: Never, USD50: price.Dollar, USD5: price.Dollar, USD95: price.Dollar}},
		Rubrics:   []Rubric{{Name: "short", Tokens: 400}, {Name: "long", Tokens: 5000}}, Figures: []string{"crossover"},
	}
	text := string(g.Markdown())
	for _, want := range []string{
		"These numbers come from the emulator (tier-start/1), not from the provider",
		"| 10,000 | cost | batch | high, low | 145 | – | 5.0 min (60 s–never) | $1.00 | – |",
		"| " + haiku + " | at no size up to 1,000,000 | at no size up to 1,000,000 | 1,000 calls |",
		"| high | haiku-4.5 | 1,000 | 1,200,000 measured, 2,000,000 said | – | – | [limits-any](../eval/limits-any.json), [refill-any](../eval/refill-any.json) |",
		"| short | 400 | " + haiku + " | 4,096 | left out: too short |",
		"| long | 5,000 | " + haiku + " | 4,096 | possible: ",
		"- `knee`: ", "- refill-any: the refill of otpm: too few readings",
		"![crossover](../fig/crossover.svg)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
}
