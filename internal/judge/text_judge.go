package judge

import (
	"fmt"
	"strings"
)

// mostGroups are shown as text; the summary file has all.
const mostGroups = 40

// name is how a judge is called: its rubric and its model.
func (j *JudgeSummary) name() string { return j.Rubric + " by " + j.Model }

func (j *JudgeSummary) write(b *strings.Builder, s *Summary) {
	fmt.Fprintf(b, "%s (version %s, sha256 %.12s, max_tokens %d", j.name(), j.Version, j.SHA256, j.MaxTokens)
	if len(j.Params) > 0 {
		fmt.Fprintf(b, ", %s", j.Params)
	}
	b.WriteString(")\n")
	j.cells(s.By).write(b, "  ")
	if more := len(j.Groups) - mostGroups; more > 0 {
		fmt.Fprintf(b, "  … and %s more of %s; the summary has all\n", counted(more, "group"), s.By)
	}
	j.notes(b)
	if j.Agreement != nil {
		j.Agreement.write(b, s.Label, j.Scale)
	}
}

// cells is the table of counts and means.
func (j *JudgeSummary) cells(by string) (g grid) {
	head := []string{by, "rows", "verdicts", Scored, Truncated, Refused, Unparsable, Failed}
	if j.Total.Counts.Total() == j.Total.Rows {
		head[2] = ""
	}
	if j.Scale != nil {
		head = append(head, "mean", "95 % interval", "p5", "p25", "p50", "p75", "p95")
	}
	for _, l := range j.Total.Labels {
		head = append(head, shown(l.Label))
	}
	g.row(head...)
	g.row(j.cell(&j.Total, "all", head[2] != "")...)
	for i := range j.Groups[:min(mostGroups, len(j.Groups))] {
		name := shown(j.Groups[i].Group)
		if name == "" {
			name = "(none)"
		}
		g.row(j.cell(&j.Groups[i], name, head[2] != "")...)
	}
	return g
}

func (j *JudgeSummary) cell(c *Cell, name string, verdicts bool) []string {
	n := ""
	if verdicts {
		n = grouped(c.Counts.Total())
	}
	k := c.Counts
	out := []string{name, grouped(c.Rows), n, some(k.Scored), some(k.Truncated), some(k.Refused), some(k.Unparsable), some(k.Failed)}
	if j.Scale != nil {
		d := places(j.Scale)
		if c.Mean == nil {
			return append(out, "–", "", "", "", "", "", "")
		}
		q := c.Quantiles
		out = append(out, fixed(c.Mean.Value, d), c.Mean.within(d))
		for _, v := range []float64{q.P5, q.P25, q.P50, q.P75, q.P95} {
			out = append(out, number(rounded(v)))
		}
	}
	for _, l := range c.Labels {
		out = append(out, l.Share.share())
	}
	return out
}

// notes are sentences below the table.
func (j *JudgeSummary) notes(b *strings.Builder) {
	if u := j.Total.Bounds; u != nil {
		d := places(j.Scale)
		fmt.Fprintf(b, "  %s without a score: with all of them at one end of the scale the mean would be %s, at the other %s\n",
			counted(j.Total.Counts.Total()-j.Total.Counts.Scored, "verdict"), fixed(u[0], d), fixed(u[1], d))
	}
	if r := j.Repeats; r != nil {
		switch {
		case r.Within != nil:
			fmt.Fprintf(b, "  repeats of %s: within a row scores differ by %.2f (standard deviation), rows by %.2f; %s alike throughout\n",
				counted(r.Rows, "row"), *r.Within, *r.Between, grouped(r.Equal))
		case r.Agree != nil:
			fmt.Fprintf(b, "  repeats of %s: two have the same label in %.1f %% of cases; %s alike throughout\n",
				counted(r.Rows, "row"), 100**r.Agree, grouped(r.Equal))
		}
	}
	if w := j.Swap; w != nil {
		w.write(b)
	}
}

func (w *Swap) write(b *strings.Builder) {
	fmt.Fprintf(b, "  both orders: %s scored in both, %s in one alone; the same completion preferred in %s\n",
		counted(w.N, "verdict pair"), grouped(w.OneOnly), w.Consistent.share())
	fmt.Fprintf(b, "  %s flipped: %s to whichever stands first, %s to whichever stands second; the first place has %s of preferences\n",
		counted(w.Flipped, "pair"), grouped(w.ToFirst), grouped(w.ToSecond), w.FirstShare.share())
	if w.Bias != nil {
		fmt.Fprintf(b, "  standing first is worth %.2f points (%s)\n", w.Bias.Value, w.Bias.within(2))
	}
}

// write words how verdicts go with the rows' labels.
func (a *Agreement) write(b *strings.Builder, field string, scale *[2]float64) {
	fmt.Fprintf(b, "  against %s: %s scored", field, counted(a.N, "verdict"))
	if a.Unscored > 0 {
		fmt.Fprintf(b, ", %s not scored and left out", grouped(a.Unscored))
	}
	if a.Unlabelled > 0 {
		fmt.Fprintf(b, ", %s without a label", counted(a.Unlabelled, "row"))
	}
	if a.ForeignN > 0 {
		fmt.Fprintf(b, ", %s with a label that the rubric does not have (%s)", counted(a.ForeignN, "row"), shown(strings.Join(a.Foreign, ", ")))
	}
	b.WriteByte('\n')
	if scale != nil {
		a.writeScores(b, places(scale))
		return
	}
	if a.Confusion == nil || a.N == 0 {
		return
	}
	fmt.Fprintf(b, "  accuracy %s, kappa %s", a.Accuracy.share(), orDash(a.Kappa, 3))
	if a.Weighted != nil {
		fmt.Fprintf(b, ", weighted %s", orDash(a.Weighted, 3))
	}
	if len(a.Mapped) > 0 {
		fmt.Fprintf(b, "; %s", shown(strings.Join(a.Mapped, ", ")))
	}
	b.WriteByte('\n')
	a.table(field).write(b, "    ")
}

// table is the confusion with what was not scored beside it.
func (a *Agreement) table(field string) (g grid) {
	head := []string{field + " \\ verdict"}
	head = append(append(head, a.Confusion.Labels...), "not scored", "recall")
	g.row(head...)
	for i, counts := range a.Confusion.Counts {
		row := []string{a.Confusion.Labels[i]}
		for _, k := range counts {
			row = append(row, some(k))
		}
		g.row(append(row, some(a.ByLabel[i].Unscored), a.ByLabel[i].Recall.share())...)
	}
	last := []string{"precision"}
	for i := range a.ByLabel {
		last = append(last, a.ByLabel[i].Precision.share())
	}
	g.row(last...)
	return g
}

func (a *Agreement) writeScores(b *strings.Builder, d int) {
	if a.Spearman != nil {
		fmt.Fprintf(b, "  rank correlation %.3f\n", *a.Spearman)
	}
	if a.AUC != nil {
		fmt.Fprintf(b, "  AUC %.3f: the chance that a row with %s scores higher than one without\n", *a.AUC, shown(a.Positive))
	}
	var g grid
	for i := range a.Means {
		c := &a.Means[i]
		if c.Mean == nil {
			g.row(shown(c.Group), grouped(c.Counts.Scored)+" of "+counted(c.Counts.Total(), "verdict")+" scored")
			continue
		}
		g.row(shown(c.Group), grouped(c.Counts.Scored)+" of "+counted(c.Counts.Total(), "verdict")+" scored",
			"mean "+fixed(c.Mean.Value, d), c.Mean.within(d))
	}
	g.write(b, "    ")
}
