package lab

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// steady are experiments whose findings do not change with the hour: one window
// is enough.
var steady = []string{"limits", "callable", "additivity-sync"}

// findings says what each experiment found.
func (g *Guide) findings(b *strings.Builder) {
	mdTable(b, "experiment", "window", "ended", "finding", "confidence", "from")
	for _, r := range g.Chosen.Results {
		verdict := r.Verdict
		if r.Stopped != "" {
			verdict += " (stopped: " + r.Stopped + ")"
		}
		if len(g.Of(r.Experiment)) == 1 && !slices.Contains(steady, r.Experiment) {
			verdict += " (p)"
		}
		mdRow(b, r.Experiment, r.Window, r.Ended.Format("2006-01-02 15:04 MST"), verdict, fmt.Sprintf("%.0f %%", 100*r.Confidence), g.link(r.name()))
	}
	for _, stem := range g.Figures {
		if Find(stem) != nil && !slices.Contains(batchExperiments, stem) && stem != "latency" {
			g.figure(b, stem)
		}
	}
}

// missing says what is not known, and why.
func (g *Guide) missing(b *strings.Builder) {
	n := 0
	say := func(format string, args ...any) {
		n++
		fmt.Fprintf(b, "- "+format+"\n", args...)
	}
	for _, x := range All() {
		if len(g.Of(x.Name())) == 0 {
			say("`%s`: %s", x.Name(), x.Question())
		}
	}
	for _, r := range g.Chosen.Results {
		for _, what := range r.NotShown {
			say("%s: %s", r.name(), what)
		}
	}
	for _, what := range slices.Concat(g.Left, g.Assumed) {
		say("%s", what)
	}
	if n == 0 {
		b.WriteString("Nothing that there is an experiment for.\n")
	}
}

// sources leads from every number to its file.
func (g *Guide) sources(b *strings.Builder) {
	b.WriteString("Every result holds what was sent, all timings, the bill and its arithmetic.\n\n")
	mdTable(b, "result", "measured", "calls", "dollars", "in doubt", "limits met (429)", "seed", "flotilla", "prices of")
	for _, r := range g.Chosen.Results {
		mdRow(b, g.link(r.name()), r.Started.Format(time.DateTime)+" – "+r.Ended.Format(time.DateTime), group(r.Totals.Calls), r.Cost.Total.Exact(), r.Cost.InDoubt.String(),
			fmt.Sprintf("%d acceleration, %d other", r.Totals.Accelerated, r.Totals.Steady), fmt.Sprint(r.Seed), r.Versions.Flotilla, r.Versions.PriceTable)
	}
}

// caching says per rubric and model why caching is left out, or what it asks for.
func (g *Guide) caching(b *strings.Builder) {
	b.WriteString("Forecasts leave prompt caching out wherever what the calls of a rubric share is shorter than a model caches.\n\n")
	mdTable(b, "rubric", "shared tokens", "model", "least that is cached", "caching")
	for _, r := range g.Rubrics {
		for _, c := range g.Crossings {
			m, ok := g.Prices.Lookup(c.Model)
			if !ok {
				continue
			}
			text := "left out: too short"
			switch {
			case m.MinCacheable == 0:
				text = "left out: the least is not known"
			case int64(r.Tokens) >= m.MinCacheable:
				text = "possible: mark the shared part with cache_control, and `flotilla plan FILE` counts it"
			}
			mdRow(b, r.Name, group(r.Tokens), m.ID, group(int(m.MinCacheable)), text)
		}
	}
}

// callText describes the call that decisions are for.
func (g *Guide) callText() string {
	var parts []string
	for _, r := range g.Rubrics[:min(1, len(g.Rubrics))] {
		parts = append(parts, "Calls: "+r.Name+".")
	}
	return strings.Join(parts, " ")
}

func mdTable(b *strings.Builder, columns ...string) {
	mdRow(b, columns...)
	b.WriteString("|" + strings.Repeat("---|", len(columns)) + "\n")
}

func mdRow(b *strings.Builder, texts ...string) {
	for i, t := range texts {
		texts[i] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(cmp.Or(t, "–"))
	}
	b.WriteString("| " + strings.Join(texts, " | ") + " |\n")
}

// link leads to the file of a result.
func (g *Guide) link(name string) string {
	return fmt.Sprintf("[%s](%s)", name, path.Join(g.ResultsIn, name+".json"))
}

// refs are links to the results of numbers, each once.
func (g *Guide) refs(numbers ...*Number) string {
	var names []string
	for _, n := range numbers {
		if n == nil {
			continue
		}
		for name := range strings.SplitSeq(n.From, ", ") {
			if l := g.link(name); !slices.Contains(names, l) {
				names = append(names, l)
			}
		}
	}
	return strings.Join(names, ", ")
}

// figure is a limit for people: what was measured in the place of what is said
// tells so.
func figure(n *Number) string {
	switch {
	case n == nil:
		return ""
	case n.Claimed > 0:
		return fmt.Sprintf("%s measured, %s said", group(int(n.Value+0.5)), group(int(n.Claimed)))
	}
	return group(int(n.Value + 0.5))
}

// ranged is a measured number with its interval.
func ranged(n *Number) string {
	if n == nil {
		return ""
	}
	text := n.Bound + digits(n.Value)
	if n.Low < n.Value || n.High > n.Value {
		text += fmt.Sprintf(" (%s–%s)", digits(n.Low), digits(n.High))
	}
	if n.Provisional || n.Windows == 1 {
		text += " (p)"
	}
	return text
}

// digits keeps three of them.
func digits(v float64) string {
	switch {
	case v >= 100:
		return group(int(v + 0.5))
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
