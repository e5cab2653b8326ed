package judge

// Swap is what the order of two completions does to the verdict: every row is
// judged once as it is and once with the two in each other's place.
type Swap struct {
	N       int `json:"n"`        // pairs of verdicts, both scored
	OneOnly int `json:"one_only"` // of which one order alone was scored

	Consistent *Estimate `json:"consistent"`  // share that prefers the same completion in both orders
	Flipped    int       `json:"flipped"`     // pairs that do not
	ToFirst    int       `json:"to_first"`    // of those: the first place preferred in both orders
	ToSecond   int       `json:"to_second"`   // of those: the second place preferred in both orders
	FirstShare *Estimate `json:"first_share"` // of a row's preferences, the share of the first place; mean over rows, without bias 0.5

	// Bias of a score: by how much the first place raises it, in points of the
	// scale (the mean over both orders less the middle of the scale). Nil for labels.
	Bias *Estimate `json:"bias,omitempty"`
}

// Unswap is what a reading of swapped completions says of the row as it is: the
// label for the other place, or the score mirrored on the scale.
func (r *Rubric) Unswap(g Reading) Reading {
	if r.Pair == nil || g.Status != Scored {
		return g
	}
	switch {
	case g.Score != nil:
		v := r.Verdict.Min + r.Verdict.Max - *g.Score
		g.Score = &v
	case g.Label != nil && *g.Label == r.Pair.Labels[0]:
		g.Label = &r.Pair.Labels[1]
	case g.Label != nil && *g.Label == r.Pair.Labels[1]:
		g.Label = &r.Pair.Labels[0]
	}
	return g
}

// side is which place a reading prefers as it was shown: 1 the first, -1 the
// second, 0 neither. A score's upper half prefers the first.
func (r *Rubric) side(g Reading) int {
	switch {
	case g.Score != nil && *g.Score*2 > r.Verdict.Min+r.Verdict.Max, g.Label != nil && *g.Label == r.Pair.Labels[0]:
		return 1
	case g.Score != nil && *g.Score*2 < r.Verdict.Min+r.Verdict.Max, g.Label != nil && *g.Label == r.Pair.Labels[1]:
		return -1
	}
	return 0
}

// swapOf pairs the verdicts of both orders; nil where no row was swapped.
func swapOf(r *Rubric, rows []*judged, draw Bootstrap) *Swap {
	if r.Pair == nil {
		return nil
	}
	var s Swap
	var same, first, bias []float64
	swapped := false
	for _, row := range rows {
		t := row.tally(r, &s)
		swapped = swapped || t.swapped
		if t.pairs > 0 {
			same = append(same, float64(t.same)/float64(t.pairs))
			bias = append(bias, t.bias/float64(t.pairs))
		}
		if t.sides > 0 {
			first = append(first, float64(t.first)/float64(t.sides))
		}
	}
	if !swapped {
		return nil
	}
	s.Consistent, s.FirstShare = shareOf(same, draw), shareOf(first, draw)
	if r.Verdict.Form == FormScore {
		s.Bias = draw.Mean(bias)
	}
	return &s
}

// swapTally is what one row says about the order.
type swapTally struct {
	swapped      bool // it was judged in the other order too
	pairs, same  int  // verdicts in both orders, and those that agree
	sides, first int  // preferences in those, and those for the first place
	bias         float64
}

// tally pairs a row's verdicts by repeat.
func (j *judged) tally(r *Rubric, s *Swap) (t swapTally) {
	for i := range j.verdicts {
		a := &j.verdicts[i]
		if a.swapped {
			t.swapped = true
			continue
		}
		b := j.other(a)
		if b == nil {
			continue
		}
		if a.shown.Status != Scored || b.shown.Status != Scored {
			if a.shown.Status == Scored || b.shown.Status == Scored {
				s.OneOnly++
			}
			continue
		}
		t.add(r, s, a.shown, b.shown)
	}
	return t
}

func (t *swapTally) add(r *Rubric, s *Swap, a, b Reading) {
	s.N++
	t.pairs++
	sa, sb := r.side(a), r.side(b)
	for _, side := range []int{sa, sb} {
		if side != 0 {
			t.sides++
		}
		if side > 0 {
			t.first++
		}
	}
	if a.Score != nil && b.Score != nil {
		t.bias += (*a.Score + *b.Score - r.Verdict.Min - r.Verdict.Max) / 2
	}
	switch {
	case sa == -sb:
		t.same++
		return
	case sa > 0 && sb > 0:
		s.ToFirst++
	case sa < 0 && sb < 0:
		s.ToSecond++
	}
	s.Flipped++
}

// other is the verdict of the same repeat in the other order.
func (j *judged) other(v *verdict) *verdict {
	for i := range j.verdicts {
		if o := &j.verdicts[i]; o.repeat == v.repeat && o.swapped != v.swapped {
			return o
		}
	}
	return nil
}
