package judge

import (
	"cmp"
	"math"
	"slices"
)

// Comparison holds two judges against each other on the rows that both scored.
// A and B are indices into Summary.Judges.
type Comparison struct {
	A       int `json:"a"`
	B       int `json:"b"`
	N       int `json:"n"` // rows that both scored; of labels, in one repeat at least
	OnlyA   int `json:"only_a"`
	OnlyB   int `json:"only_b"`
	Neither int `json:"neither"`
	Apart   int `json:"apart,omitempty"` // of labels: rows that both scored, but no repeat of them

	// Of scores:
	MeanA      *float64  `json:"mean_a,omitempty"` // over the rows both scored
	MeanB      *float64  `json:"mean_b,omitempty"`
	Difference *Estimate `json:"difference,omitempty"`    // B less A, paired by row; nil on different scales
	SD         *float64  `json:"difference_sd,omitempty"` // of the rows' differences
	Spearman   *float64  `json:"spearman,omitempty"`

	// Of labels, by (row, repeat):
	Confusion *Confusion `json:"confusion,omitempty"` // A down, B across
	Agree     *Estimate  `json:"agree,omitempty"`     // interval over rows
	Kappa     *float64   `json:"kappa,omitempty"`
	Weighted  *float64   `json:"weighted_kappa,omitempty"`

	// Noise are the spreads between repeats of A and B, in the measure of the
	// difference: the within-row deviation of scores, the chance that two repeats
	// differ for labels. Nil without repeats.
	NoiseA *float64 `json:"noise_a,omitempty"`
	NoiseB *float64 `json:"noise_b,omitempty"`

	Largest []Disagreement `json:"largest,omitempty"` // largest first
}

// Disagreement is a row on which two judges differ.
type Disagreement struct {
	Row    int     `json:"row"`
	ID     string  `json:"custom_id"`
	A      string  `json:"a"` // score or labels, of all repeats
	B      string  `json:"b"`
	Differ float64 `json:"differ"` // B less A; of labels: the share of repeats that differ
}

// both is a row that two judges have.
type both struct{ a, b *judged }

// compare is nil for verdicts that do not compare: a label and a score, labels of
// two sets.
func compare(judges []*Rubric, rows [][]*judged, i, j int, opt SummaryOptions) *Comparison {
	a, b := judges[i], judges[j]
	c := &Comparison{A: i, B: j}
	common := c.pairUp(rows[i], rows[j])
	switch {
	case a.ranged() && b.ranged():
		c.ofScores(a, b, common, opt)
	case len(a.Verdict.Labels) > 0 && slices.Equal(a.Verdict.Labels, b.Verdict.Labels):
		c.ofLabels(a, common, opt)
	default:
		return nil
	}
	c.noise(rows[i], rows[j])
	return c
}

// pairUp finds the rows that both scored, and counts the others.
func (c *Comparison) pairUp(as, bs []*judged) (common []both) {
	at := make(map[int]*judged, len(bs))
	for _, b := range bs {
		at[b.row] = b
	}
	for _, a := range as {
		b := at[a.row]
		delete(at, a.row)
		switch inA, inB := a.scored(), b != nil && b.scored(); {
		case inA && inB:
			common = append(common, both{a, b})
		case inA:
			c.OnlyA++
		case inB:
			c.OnlyB++
		default:
			c.Neither++
		}
	}
	for _, b := range at {
		if b.scored() {
			c.OnlyB++
		} else {
			c.Neither++
		}
	}
	return common
}

func (j *judged) scored() bool {
	return slices.ContainsFunc(j.verdicts, func(v verdict) bool { return v.Status == Scored })
}

func (c *Comparison) ofScores(a, b *Rubric, common []both, opt SummaryOptions) {
	var xs, ys, diffs []float64
	sameScale := a.Verdict.Min == b.Verdict.Min && a.Verdict.Max == b.Verdict.Max
	for _, p := range common {
		x, okA := p.a.score()
		y, okB := p.b.score()
		if !okA || !okB {
			continue
		}
		xs, ys, diffs = append(xs, x), append(ys, y), append(diffs, y-x)
		if sameScale && x != y {
			c.Largest = append(c.Largest, Disagreement{p.a.row, p.a.id, number(rounded(x)), number(rounded(y)), y - x})
		}
	}
	if c.N = len(xs); c.N == 0 {
		return
	}
	ma, mb, sd := mean(xs), mean(ys), deviation(diffs)
	c.MeanA, c.MeanB, c.Spearman = &ma, &mb, spearman(xs, ys)
	if sameScale {
		c.Difference, c.SD = opt.Draw.Mean(diffs), &sd
	}
	c.keepLargest(opt.Largest)
}

// rounded is a mean of repeats for people.
func rounded(v float64) float64 { return math.Round(v*100) / 100 }

// ofLabels compares repeat with repeat; the interval is over rows.
func (c *Comparison) ofLabels(r *Rubric, common []both, opt SummaryOptions) {
	table := newConfusion(r.Verdict.Labels)
	var agree []float64
	for _, p := range common {
		d := Disagreement{Row: p.a.row, ID: p.a.id}
		n, differ := 0, 0
		for i := range p.a.verdicts {
			va := &p.a.verdicts[i]
			vb := p.b.match(va)
			if vb == nil || va.Reading.Label == nil || vb.Reading.Label == nil {
				continue
			}
			x, y := *va.Reading.Label, *vb.Reading.Label
			table.Counts[slices.Index(table.Labels, x)][slices.Index(table.Labels, y)]++
			n++
			if x != y {
				differ++
			}
			d.A, d.B = joined(d.A, x), joined(d.B, y)
		}
		if n == 0 {
			c.Apart++
			continue
		}
		c.N++
		agree = append(agree, 1-float64(differ)/float64(n))
		if d.Differ = float64(differ) / float64(n); differ > 0 {
			c.Largest = append(c.Largest, d)
		}
	}
	c.Confusion, c.Agree, c.Kappa = table, shareOf(agree, opt.Draw), table.Kappa()
	if values, ok := numeric(table.Labels); ok {
		c.Weighted = table.WeightedKappa(values)
	}
	c.keepLargest(opt.Largest)
}

func joined(list, next string) string {
	if list == "" {
		return next
	}
	return list + ", " + next
}

// match is the verdict of the same repeat and order.
func (j *judged) match(v *verdict) *verdict {
	for i := range j.verdicts {
		if o := &j.verdicts[i]; o.repeat == v.repeat && o.swapped == v.swapped {
			return o
		}
	}
	return nil
}

// keepLargest keeps the largest differences, the earlier row first among equals.
func (c *Comparison) keepLargest(most int) {
	slices.SortStableFunc(c.Largest, func(a, b Disagreement) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Differ), math.Abs(a.Differ)), cmp.Compare(a.Row, b.Row))
	})
	c.Largest = slices.Clip(c.Largest[:min(most, len(c.Largest))])
}

func (c *Comparison) noise(as, bs []*judged) {
	measure := func(rows []*judged) *float64 {
		s := spreadOf(rows)
		switch {
		case s == nil:
			return nil
		case s.Agree != nil:
			differ := 1 - *s.Agree
			return &differ
		}
		return s.Within
	}
	c.NoiseA, c.NoiseB = measure(as), measure(bs)
}
