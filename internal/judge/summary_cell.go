package judge

import (
	"maps"
	"slices"
)

// Cell is a set of rows: all of a judge's, or a group's.
type Cell struct {
	Group      string `json:"group,omitempty"`
	Rows       int    `json:"rows"`
	ScoredRows int    `json:"scored_rows"` // with at least one scored verdict
	Counts     Counts `json:"status"`      // of verdicts

	// Mean is over the rows' scores, a row's being the mean of its repeats; nil
	// where none is scored.
	Mean      *Estimate  `json:"mean,omitempty"`
	SD        *float64   `json:"sd,omitempty"` // between rows
	Quantiles *Quantiles `json:"quantiles,omitempty"`
	// Bounds are what the mean would be if every verdict without a score were at
	// the lower or the upper end of the scale (Manski 1989); nil where all are
	// scored or none is, or without a scale.
	Bounds    *[2]float64  `json:"bounds,omitempty"`
	Histogram []int        `json:"histogram,omitempty"` // rows by score in 20 equal parts of the scale
	Labels    []LabelShare `json:"labels,omitempty"`    // in the rubric's order
}

// LabelShare is how many of the scored verdicts have a label.
type LabelShare struct {
	Label string    `json:"label"`
	N     int       `json:"n"` // verdicts
	Share *Estimate `json:"share,omitempty"`
}

// histogramParts cut a scale of 0 to 100 every five points.
const histogramParts = 20

func cellOf(r *Rubric, name string, rows []*judged, draw Bootstrap) Cell {
	c := Cell{Group: name, Rows: len(rows)}
	var scores []float64
	labels := map[string]int{}
	for _, row := range rows {
		scored := false
		for i := range row.verdicts {
			v := &row.verdicts[i]
			c.Counts.add(v.Status)
			scored = scored || v.Status == Scored
			if v.Reading.Label != nil {
				labels[*v.Reading.Label]++
			}
		}
		if scored {
			c.ScoredRows++
		}
		if s, ok := row.score(); ok {
			scores = append(scores, s)
		}
	}
	c.scores(r, rows, scores, draw)
	c.labels(r, rows, labels, draw)
	return c
}

func (c *Cell) scores(r *Rubric, rows []*judged, scores []float64, draw Bootstrap) {
	if len(scores) == 0 {
		return
	}
	sd := deviation(scores)
	c.Mean, c.SD, c.Quantiles = draw.Mean(scores), &sd, quantilesOf(scores)
	if !r.ranged() {
		return
	}
	c.Histogram = make([]int, histogramParts)
	width := (r.Verdict.Max - r.Verdict.Min) / histogramParts
	for _, s := range scores {
		c.Histogram[min(histogramParts-1, int((s-r.Verdict.Min)/width))]++
	}
	if c.Counts.Scored < c.Counts.Total() {
		c.Bounds = &[2]float64{filled(rows, r.Verdict.Min), filled(rows, r.Verdict.Max)}
	}
}

// filled is the mean over all rows with v for every score that is missing.
func filled(rows []*judged, v float64) float64 {
	sum := 0.0
	for _, row := range rows {
		of := 0.0
		for i := range row.verdicts {
			if s := row.verdicts[i].Score; s != nil {
				of += *s
			} else {
				of += v
			}
		}
		sum += of / float64(len(row.verdicts))
	}
	return sum / float64(len(rows))
}

func (c *Cell) labels(r *Rubric, rows []*judged, counts map[string]int, draw Bootstrap) {
	names := r.Verdict.Labels
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(counts))
	}
	for _, name := range names {
		var shares []float64
		for _, row := range rows {
			if s, ok := row.labelShare(name); ok {
				shares = append(shares, s)
			}
		}
		c.Labels = append(c.Labels, LabelShare{name, counts[name], shareOf(shares, draw)})
	}
}

// groups are the cells by group, in alphabetical order.
func groups(r *Rubric, rows []*judged, draw Bootstrap) (out []Cell) {
	by := map[string][]*judged{}
	for _, row := range rows {
		by[row.group] = append(by[row.group], row)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, cellOf(r, name, by[name], draw))
	}
	return out
}
