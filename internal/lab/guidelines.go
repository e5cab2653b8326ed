package lab

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// Guide is everything that the guidelines are written from.
type Guide struct {
	Chosen
	Profile   *Profile
	Prices    *price.Table
	Crossings []Crossing
	Decisions []Decision
	Assumed   []string // by the forecasts, for people
	Rubrics   []Rubric
	Figures   []string // stems of the files that were drawn

	ResultsIn string // directories as the document links to them
	FiguresIn string
	Made      time.Time
}

// Rubric is a kind of call, as far as caching goes: the instructions that all
// calls of a rubric begin with.
type Rubric struct {
	Name   string
	Tokens int // of the part that calls share, at most
}

// Markdown writes the document.
func (g *Guide) Markdown() []byte {
	var b strings.Builder
	b.WriteString("# How fast the Claude API carries our jobs\n\n<!-- written by flotilla report: it is made anew, not edited -->\n\n")
	g.provenance(&b)
	section := func(title string, write func(*strings.Builder)) {
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		write(&b)
	}
	section("How to carry a job", func(b *strings.Builder) {
		b.WriteString(g.shapeText())
		g.decisions(b)
	})
	section("Where routes cross", func(b *strings.Builder) {
		g.crossings(b)
		g.figure(b, "crossover")
	})
	section("Limits", g.limits)
	section("How many calls at once", func(b *strings.Builder) {
		g.knees(b)
		g.figure(b, "knees")
	})
	section("How fast answers come", g.paces)
	section("Batches", g.batches)
	section("Prompt caching", g.caching)
	section("What was measured", g.findings)
	section("What was not measured", g.missing)
	section("Where the numbers come from", g.sources)
	return []byte(b.String())
}

// provenance says of whom the numbers are, and of when.
func (g *Guide) provenance(b *strings.Builder) {
	if mark := g.Emulated(); mark != "" {
		fmt.Fprintf(b, "> **These numbers come from the emulator (%s), not from the provider.** They show what this\n> document looks like; decide nothing by them.\n\n", mark)
	}
	first, last := g.Chosen.span()
	fmt.Fprintf(b, "Measured of %s, %s to %s", g.Chosen.Results[0].provider(), first.Format(time.DateOnly), last.Format(time.DateOnly))
	if ws := g.Windows(); len(ws) == 1 {
		fmt.Fprintf(b, ", in one window (%s): every number that changes with the hour is provisional.\n", ws[0])
	} else {
		fmt.Fprintf(b, ", in the windows %s; numbers are means, with the widest range over all of them.\n", strings.Join(ws, ", "))
	}
	fmt.Fprintf(b, "Written on %s; believed for %d days. `flotilla measure` measures again, `flotilla report` writes this.\n", g.Made.Format(time.DateOnly), int(ProfileLife.Hours()/24))
	b.WriteString("Ranges in brackets are 95 % intervals, or p5 to p95 of forecasts. (p) marks what is provisional. Prices of " + g.Prices.Date.Format(time.DateOnly) + ".\n")
}

// span is from the beginning of the first result to the end of the last.
func (c *Chosen) span() (first, last time.Time) {
	for i, r := range c.Results {
		if i == 0 || r.Started.Before(first) {
			first = r.Started
		}
		if r.Ended.After(last) {
			last = r.Ended
		}
	}
	return first, last
}

func (g *Guide) shapeText() string {
	return "Forecasts by the measured limits, latencies and batches; `latency` takes the route with the least p90, `cost` the\n" +
		"one with the fewest dollars whose p90 is within a day. Batches below 500 rows need `--tier batch`. " + g.callText() + "\n"
}

// limits writes the matrix of limits.
func (g *Guide) limits(b *strings.Builder) {
	mdTable(b, "org", "pool", "requests/min", "input tokens/min", "output tokens/min", "tokens/day", "from")
	for i := range g.Profile.Orgs {
		g.limitsOf(b, &g.Profile.Orgs[i])
	}
	b.WriteString("\n")
	mdTable(b, "org", "batch queue, rows", "batch requests/min", "from")
	for i := range g.Profile.Orgs {
		if o := &g.Profile.Orgs[i]; o.BatchQueue != nil || o.BatchRPM != nil {
			mdRow(b, o.Name, figure(o.BatchQueue), figure(o.BatchRPM), g.refs(o.BatchQueue, o.BatchRPM))
		}
	}
	for i := range g.Profile.Orgs {
		if o := &g.Profile.Orgs[i]; o.SameAs != "" {
			fmt.Fprintf(b, "\n%s is a second key of the org of %s: it adds nothing.\n", o.Name, o.SameAs)
		}
	}
}

// limitsOf writes a line for all pools of an org that have the same limits.
func (g *Guide) limitsOf(b *strings.Builder, o *OrgProfile) {
	var lines [][]string
	for _, pool := range g.Pools(g.Prices) {
		l, ok := o.Pools[pool]
		if !ok {
			continue
		}
		line := []string{figure(l.Requests), figure(l.Input), figure(l.Output), figure(l.TokensPerDay), g.refs(l.Requests, l.Input, l.Output, l.TokensPerDay)}
		if i := slices.IndexFunc(lines, func(o []string) bool { return slices.Equal(o[1:], line) }); i >= 0 {
			lines[i][0] += ", " + pool
			continue
		}
		lines = append(lines, append([]string{pool}, line...))
	}
	for _, line := range lines {
		mdRow(b, append([]string{o.Name}, line...)...)
	}
}

func (g *Guide) knees(b *strings.Builder) {
	mdTable(b, "org", "model", "calls/min", "from so many at once on nothing is gained", "limit", "from")
	for i := range g.Profile.Orgs {
		o := &g.Profile.Orgs[i]
		for _, model := range sortedKeys(o.Knees) {
			k := o.Knees[model]
			mdRow(b, o.Name, model, ranged(k.CallsPerMin), ranged(k.Concurrency), k.Limit, g.refs(k.CallsPerMin))
		}
	}
}

func (g *Guide) paces(b *strings.Builder) {
	mdTable(b, "model", "first token, s", "tokens/s after it", "from")
	for i := range g.Profile.Pace {
		p := &g.Profile.Pace[i]
		mdRow(b, p.Model, ranged(p.First), ranged(p.PerSecond), g.refs(p.First))
	}
	g.figure(b, "latency")
}

func (g *Guide) batches(b *strings.Builder) {
	if m := g.Profile.Batches; m != nil {
		fmt.Fprintf(b, "%s (class %s, confidence %.0f %%, %s)\n\n", m.Verdict, m.Class, 100*m.Confidence, g.link(m.From))
	}
	if text := g.Profile.Starved(); text != "" {
		fmt.Fprintf(b, "**%s: the forecasts of this document do not know.** A run finds out and sends smaller\nbatches, or by sync what would be late.\n\n", text)
	}
	mdTable(b, "org", "before the first row, s", "rows/s of one batch", "at once", "from")
	for i := range g.Profile.Orgs {
		o := &g.Profile.Orgs[i]
		if t := o.Turnaround; t != nil {
			from := g.refs(t.RowRate, t.Overhead, t.Parallel)
			if t.RowRate != nil && t.RowRate.Source != "measured" {
				from = t.RowRate.Source + ": " + from
			}
			mdRow(b, o.Name, ranged(t.Overhead), ranged(t.RowRate), ranged(t.Parallel), from)
		}
	}
	for _, name := range batchExperiments {
		g.figure(b, name)
	}
}

// figure shows a drawing, where there is one.
func (g *Guide) figure(b *strings.Builder, stem string) {
	if slices.Contains(g.Figures, stem) {
		fmt.Fprintf(b, "\n![%s](%s)\n", stem, path.Join(g.FiguresIn, stem+".svg"))
	}
}
