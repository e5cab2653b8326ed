package judge

import (
	"fmt"
	"strings"
)

func (c *Comparison) write(b *strings.Builder, s *Summary) {
	fmt.Fprintf(b, "A %s, B %s: %s scored by both, %s by A alone, %s by B alone, %s by neither",
		s.Judges[c.A].name(), s.Judges[c.B].name(), counted(c.N, "row"), grouped(c.OnlyA), grouped(c.OnlyB), grouped(c.Neither))
	if c.Apart > 0 {
		fmt.Fprintf(b, ", %s by each in other repeats", grouped(c.Apart))
	}
	b.WriteByte('\n')
	if c.N == 0 {
		return
	}
	if c.Confusion != nil {
		c.writeLabels(b)
	} else {
		c.writeScores(b, s)
	}
	c.writeNoise(b)
	if len(c.Largest) == 0 {
		return
	}
	fmt.Fprintf(b, "  %s:\n", counted(len(c.Largest), "largest disagreement"))
	g := grid{{"custom_id", "A", "B"}}
	for _, d := range c.Largest {
		g.row(shown(d.ID), shown(d.A), shown(d.B))
	}
	g.write(b, "    ")
}

func (c *Comparison) writeScores(b *strings.Builder, s *Summary) {
	d := places(s.Judges[c.A].Scale)
	fmt.Fprintf(b, "  means %s and %s", orDash(c.MeanA, d), orDash(c.MeanB, places(s.Judges[c.B].Scale)))
	if c.Difference != nil {
		fmt.Fprintf(b, "; B less A %s", fixed(c.Difference.Value, d+1))
		if in := c.Difference.within(d + 1); in != "" {
			fmt.Fprintf(b, " (%s)", in)
		}
	}
	fmt.Fprintf(b, "; rank correlation %s\n", orDash(c.Spearman, 3))
}

func (c *Comparison) writeLabels(b *strings.Builder) {
	fmt.Fprintf(b, "  the same label in %s; kappa %s", c.Agree.share(), orDash(c.Kappa, 3))
	if c.Weighted != nil {
		fmt.Fprintf(b, ", weighted %s", orDash(c.Weighted, 3))
	}
	b.WriteByte('\n')
	g := grid{append([]string{"A \\ B"}, c.Confusion.Labels...)}
	for i, counts := range c.Confusion.Counts {
		row := []string{c.Confusion.Labels[i]}
		for _, k := range counts {
			row = append(row, some(k))
		}
		g.row(row...)
	}
	g.write(b, "    ")
}

// writeNoise puts the difference beside what repeats of one judge differ by.
func (c *Comparison) writeNoise(b *strings.Builder) {
	if c.NoiseA == nil && c.NoiseB == nil {
		return
	}
	if c.Confusion != nil {
		fmt.Fprintf(b, "  for comparison, two repeats of A differ in %s of cases, of B in %s\n", percentOf(c.NoiseA), percentOf(c.NoiseB))
		return
	}
	fmt.Fprintf(b, "  for comparison, repeats of one row differ by %s (A) and %s (B), standard deviation\n", orDash(c.NoiseA, 2), orDash(c.NoiseB, 2))
}

func percentOf(v *float64) string {
	if v == nil {
		return "–"
	}
	return fixed(100**v, 1) + " %"
}
