package judge

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Agreement is how verdicts go with the rows' own labels.
type Agreement struct {
	Labelled   int `json:"labelled"`   // rows with a label
	Unlabelled int `json:"unlabelled"` // rows without one, left out
	N          int `json:"n"`          // verdicts that are scored and labelled
	Unscored   int `json:"unscored"`   // verdicts of labelled rows that are not scored, left out

	// Of labels:
	Confusion *Confusion  `json:"confusion,omitempty"` // the rows' labels down, verdicts across
	Accuracy  *Estimate   `json:"accuracy,omitempty"`
	Kappa     *float64    `json:"kappa,omitempty"`
	Weighted  *float64    `json:"weighted_kappa,omitempty"` // where all labels are numbers
	ByLabel   []LabelTest `json:"by_label,omitempty"`
	Mapped    []string    `json:"mapped,omitempty"`  // how booleans were read: "true = correct"
	Foreign   []string    `json:"foreign,omitempty"` // labels of rows that the rubric does not have, left out; at most ten
	ForeignN  int         `json:"foreign_n,omitempty"`

	// Of scores:
	Spearman *float64 `json:"spearman,omitempty"` // where all labels are numbers
	AUC      *float64 `json:"auc,omitempty"`      // where there are two labels
	Positive string   `json:"positive,omitempty"` // the label that high scores should have, for AUC
	Means    []Cell   `json:"means,omitempty"`    // rows by label
}

// LabelTest is how well one label is found.
type LabelTest struct {
	Label     string    `json:"label"`
	Unscored  int       `json:"unscored"`            // verdicts of rows with this label that are not scored
	Precision *Estimate `json:"precision,omitempty"` // of the verdicts with it, those that are right; each row weighs alike
	Recall    *Estimate `json:"recall,omitempty"`    // of the rows with it that were scored, those that are found
}

func agreement(r *Rubric, rows []*judged, draw Bootstrap) *Agreement {
	a := &Agreement{}
	var labelled []*judged
	for _, row := range rows {
		if row.label == "" {
			a.Unlabelled++
			continue
		}
		labelled = append(labelled, row)
	}
	a.Labelled = len(labelled)
	switch {
	case len(r.Verdict.Labels) > 0:
		a.ofLabels(r, labelled, draw)
	case r.ranged():
		a.ofScores(r, labelled, draw)
	}
	return a
}

// truth is the rubric's label that a row's own label means. Yes and no in their
// spellings are the first and the second of a rubric with two.
func (r *Rubric) truth(label string) (known string, mapped bool) {
	if l, ok := r.label(label); ok {
		return l, false
	}
	if len(r.Verdict.Labels) != 2 {
		return "", false
	}
	switch yes, ok := yesNo(label); {
	case ok && yes:
		return r.Verdict.Labels[0], true
	case ok:
		return r.Verdict.Labels[1], true
	}
	return "", false
}

// yesNo reads a label that is a boolean.
func yesNo(label string) (yes, ok bool) {
	switch strings.ToLower(strings.TrimSpace(label)) {
	case "true", "1", "yes":
		return true, true
	case "false", "0", "no":
		return false, true
	}
	return false, false
}

// ofLabels counts verdicts against labels. Each verdict counts once in the
// table; the interval of the accuracy is over rows.
func (a *Agreement) ofLabels(r *Rubric, rows []*judged, draw Bootstrap) {
	c := newConfusion(r.Verdict.Labels)
	unscored := make([]int, len(c.Labels))
	mapped, foreign := map[string]bool{}, map[string]bool{}
	tests := make([]labelTest, len(c.Labels))
	var right []float64
	for _, row := range rows {
		truth, was := r.truth(row.label)
		i := slices.Index(c.Labels, truth)
		if i < 0 {
			foreign[row.label] = true
			a.ForeignN++
			continue
		}
		if was {
			mapped[row.label+" = "+truth] = true
		}
		for k := range row.verdicts {
			if l := row.verdicts[k].Reading.Label; l != nil {
				c.Counts[i][slices.Index(c.Labels, *l)]++
			} else {
				unscored[i]++
				a.Unscored++
			}
		}
		if share, ok := row.labelShare(truth); ok {
			right = append(right, share)
			tests[i].found = append(tests[i].found, share)
			for j, l := range c.Labels {
				said, _ := row.labelShare(l)
				tests[j].add(said, i == j)
			}
		}
	}
	a.N, a.Confusion, a.Kappa = c.N(), c, c.Kappa()
	a.Accuracy = shareOf(right, draw)
	if values, ok := numeric(c.Labels); ok {
		a.Weighted = c.WeightedKappa(values)
	}
	for i, l := range c.Labels {
		a.ByLabel = append(a.ByLabel, LabelTest{l, unscored[i], tests[i].precision(), shareOf(tests[i].found, draw)})
	}
	a.Mapped = slices.Sorted(maps.Keys(mapped))
	a.Foreign = slices.Sorted(maps.Keys(foreign))
	a.Foreign = a.Foreign[:min(10, len(a.Foreign))]
}

// labelTest gathers what rows say of one label.
type labelTest struct {
	found      []float64 // of each row that has it, the share of its verdicts that say so
	said, hits float64   // verdicts that say it, and those that are right, in rows
	rows       int       // that have such a verdict
}

func (t *labelTest) add(said float64, right bool) {
	if said == 0 {
		return
	}
	t.rows++
	t.said += said
	if right {
		t.hits += said
	}
}

// precision is a share of verdicts whose rows weigh alike: a row with repeats
// counts by the share of them that say the label. Wilson's interval over so many
// rows is then no narrower than rows allow, where one over verdicts would be.
func (t *labelTest) precision() *Estimate {
	if t.rows == 0 {
		return nil
	}
	e := wilsonOf(t.hits, t.said)
	e.N = t.rows
	return e
}

// numeric are the values of labels that are all numbers.
func numeric(labels []string) ([]float64, bool) {
	out := make([]float64, len(labels))
	for i, l := range labels {
		v, err := strconv.ParseFloat(l, 64)
		if err != nil || v != v {
			return nil, false
		}
		out[i] = v
	}
	return out, len(out) > 0
}

// ofScores holds scores to labels: by order where labels are numbers, by how
// well they part two labels.
func (a *Agreement) ofScores(r *Rubric, rows []*judged, draw Bootstrap) {
	by := map[string][]*judged{}
	var scores []float64
	var labels []string
	for _, row := range rows {
		by[row.label] = append(by[row.label], row)
		for k := range row.verdicts {
			if row.verdicts[k].Score != nil {
				a.N++
			} else {
				a.Unscored++
			}
		}
		if s, ok := row.score(); ok {
			scores, labels = append(scores, s), append(labels, row.label)
		}
	}
	names := slices.Sorted(maps.Keys(by))
	if values, ok := numeric(labels); ok && len(names) > 2 {
		a.Spearman = spearman(scores, values)
	}
	if len(names) == 2 {
		a.Positive = positive(names)
		is := make([]bool, len(labels))
		for i, l := range labels {
			is[i] = l == a.Positive
		}
		a.AUC = auc(scores, is)
	}
	if len(names) <= mostLabels {
		for _, name := range names {
			a.Means = append(a.Means, cellOf(r, name, by[name], draw))
		}
	}
}

// mostLabels are listed with their means; more are numbers, or no labels.
const mostLabels = 20

// positive is the one of two labels that high scores should have: yes, the
// larger number, or the later by name.
func positive(names []string) string {
	first, ok := yesNo(names[0])
	if second, both := yesNo(names[1]); ok && both && first != second {
		if first {
			return names[0]
		}
		return names[1]
	}
	if v, ok := numeric(names); ok && v[0] > v[1] {
		return names[0]
	}
	return names[1]
}
