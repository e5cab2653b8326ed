package judge

import "math"

// Spread is how far a judge's verdicts on one row differ between repeats.
type Spread struct {
	Rows  int `json:"rows"` // with at least two scored repeats
	Equal int `json:"equal"`

	// Within is the standard deviation of a row's scores between its repeats,
	// pooled over rows; Between that of the rows' means. Nil for labels.
	Within  *float64 `json:"within_sd,omitempty"`
	Between *float64 `json:"between_sd,omitempty"`
	Range   *float64 `json:"mean_range,omitempty"` // largest less smallest, mean over rows

	// Agree is the chance that two repeats of a row have the same label, mean over
	// rows. Nil for scores.
	Agree *float64 `json:"agree,omitempty"`
}

// spreadOf is nil where no row has two scored repeats. Swapped verdicts are no
// repeats.
func spreadOf(rows []*judged) *Spread {
	var s Spread
	var squares, free, ranges, agree float64
	var means []float64
	scores, labels := 0, 0
	for _, row := range rows {
		values, names := row.repeats()
		if len(values) >= 2 {
			scores++
			sd, q := deviation(values), quantilesOf(values)
			squares += sd * sd * float64(len(values)-1)
			free += float64(len(values) - 1)
			ranges += q.Max - q.Min
			means = append(means, mean(values))
			if q.Max == q.Min {
				s.Equal++
			}
		}
		if len(names) >= 2 {
			labels++
			share := sameShare(names)
			agree += share
			if share == 1 {
				s.Equal++
			}
		}
	}
	s.Rows = scores + labels
	if s.Rows == 0 {
		return nil
	}
	if scores > 0 {
		within, between, wide := math.Sqrt(squares/free), deviation(means), ranges/float64(scores)
		s.Within, s.Between, s.Range = &within, &between, &wide
	}
	if labels > 0 {
		agree /= float64(labels)
		s.Agree = &agree
	}
	return &s
}

// repeats are the row's scored verdicts in the order as it is.
func (j *judged) repeats() (scores []float64, labels []string) {
	for i := range j.verdicts {
		v := &j.verdicts[i]
		switch {
		case v.swapped:
		case v.Score != nil:
			scores = append(scores, *v.Score)
		case v.Reading.Label != nil:
			labels = append(labels, *v.Reading.Label)
		}
	}
	return scores, labels
}

// sameShare is the share of all pairs that are equal.
func sameShare(names []string) float64 {
	counts, same := map[string]int{}, 0
	for _, n := range names {
		same += counts[n]
		counts[n]++
	}
	return float64(same) / float64(len(names)*(len(names)-1)/2)
}
