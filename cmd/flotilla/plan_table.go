package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// print writes the report for people: one table to decide from, then what it
// comes from and what would change it.
func (p *planReport) print(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, p.head())
	if p.Rows == 0 {
		fmt.Fprintln(b, "nothing is left to send")
		return b.Flush()
	}
	fmt.Fprintln(b)
	if err := p.table(b); err != nil {
		return err
	}
	fmt.Fprintln(b)
	for _, line := range p.below() {
		if line != "" {
			fmt.Fprintln(b, line)
		}
	}
	if p.binding != "" {
		fmt.Fprintf(b, "\n%s", p.binding)
	}
	if line := p.further(); line != "" {
		fmt.Fprintln(b, line)
	}
	return b.Flush()
}

// head is what the job consists of.
func (p *planReport) head() string {
	rows := plural(p.Rows, "row") + " to send"
	if p.Batched > 0 {
		rows += fmt.Sprintf(", %s in batches of an earlier run", whole(p.Batched))
	}
	if p.Cached > 0 {
		rows += fmt.Sprintf(", %s answered already", whole(p.Cached))
	}
	return joined("; ", rows, strings.Join(p.Models, ", "), brief(float64(p.InTokens))+" input tokens", strings.Join(titles(p.Orgs), ", "), "prices of "+p.Priced)
}

func titles(orgs []string) []string {
	out := make([]string, len(orgs))
	for i, o := range orgs {
		out[i] = title(o)
	}
	return out
}

func (p *planReport) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "  route\tfirst\tp5 – p50 – p95\tends\tdollars\tat worst\tsync rows\tbatch rows\tlimit")
	for i := range p.Routes {
		r := &p.Routes[i]
		mark := " "
		if r.Name == p.Chosen {
			mark = "*"
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", mark, r.Name, span(seconds(r.FirstS)), r.wall(), r.ends(p.At),
			r.dollars(), r.WorstUSD, whole(r.SyncRows), whole(r.BatchRows), r.Limit)
	}
	return t.Flush()
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// wall is the range of the wall-clock time in the unit of its middle.
func (r *planRoute) wall() string {
	if r.P95S < 0 {
		return "does not end"
	}
	unit, per, digits := "h", 3600.0, 1
	switch {
	case r.P50S < 90:
		unit, per, digits = "s", 1, 0
	case r.P50S < 2*3600:
		unit, per = "min", 60
	}
	return fmt.Sprintf("%.*f – %.*f – %.*f %s", digits, r.P5S/per, digits, r.P50S/per, digits, r.P95S/per, unit)
}

// ends is when the job may end, as times of the clock.
func (r *planRoute) ends(now time.Time) string {
	if r.EndsLate.IsZero() {
		return "never"
	}
	early, late := r.EndsEarly.Local(), r.EndsLate.Local()
	if early.YearDay() == late.YearDay() && early.Year() == late.Year() {
		if text := late.Format("15:04"); text != early.Format("15:04") {
			return clockTime(early, now) + "–" + text
		}
	}
	return rangeText(clockTime(early, now), clockTime(late, now))
}

func (r *planRoute) dollars() string { return moneyRange(r.P5USD, r.P95USD) }

func moneyRange(low, high flotilla.Money) string { return rangeText(low.String(), high.String()) }

// rangeText is a range whose ends may read alike.
func rangeText(low, high string) string {
	if low == high {
		return low
	}
	return low + "–" + high
}

// below explains the table.
func (p *planReport) below() []string {
	var lines []string
	if p.Chosen != "" {
		lines = append(lines, fmt.Sprintf("route: %s, %s", p.Chosen, p.Why))
	}
	if !p.Feasible {
		lines = append(lines, p.Feasibility)
	}
	lines = append(lines,
		fmt.Sprintf("answers: %.0f tokens on average, by %s", p.OutTokens, p.OutSource),
		p.boundsText(), p.Slow, p.Caching, p.keptText())
	if p.CachingHint != "" {
		lines = append(lines, "hint: "+p.CachingHint)
	}
	for _, a := range p.Assumed {
		lines = append(lines, "assumed: "+a)
	}
	return lines
}

// keptText says that fewer orgs are used than there are, and why; empty: all are.
func (p *planReport) keptText() string {
	if len(p.KeptOn) == 0 {
		return ""
	}
	return fmt.Sprintf("sync is kept on %s: each org writes cached beginnings for itself", strings.Join(titles(p.KeptOn), ", "))
}

func (p *planReport) boundsText() string {
	b := &p.Bounds
	if b.PhysicalS <= 0 {
		return ""
	}
	best, polite := span(seconds(b.PhysicalS)), span(seconds(b.PoliteS))
	return fmt.Sprintf("by sync alone %s at best (%s), %s with manners (%s), were answers just so long and quick",
		best, boundWords(b.PhysicalLimit), polite, boundWords(b.PoliteLimit))
}

// boundWords names what a bound is due to, for people.
func boundWords(limit string) string {
	switch limit {
	case "cap": // one on money is called so too
		return "our cap on calls"
	case "latency":
		return "the answers"
	case "rpm", "itpm", "otpm":
		return dimTexts[limit] + "/min"
	}
	return limit
}

// further says what one could have besides (interface.md, "Texts").
func (p *planReport) further() string {
	key, half := "", ""
	if len(p.Orgs) == 1 {
		key = fmt.Sprintf("a second key of %s: nothing (limits are per org)", title(p.Orgs[0]))
	}
	if p.HalfBatch > 0 {
		half = "batch for half the rows: −" + p.HalfBatch.String()
	}
	return joined(" · ", key, "a further org: "+savedText(seconds(p.FurtherOrgS)), half)
}
