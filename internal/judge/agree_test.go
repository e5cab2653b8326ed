package judge

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func close2(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// The example of every textbook: 20 and 15 of 50 agree, chance gives a half.
func TestKappaByHand(t *testing.T) {
	c := &Confusion{Labels: []string{"yes", "no"}, Counts: [][]int{{20, 5}, {10, 15}}}
	// po = 35/50 = 0.7; pe = (25*30 + 25*20)/2500 = 0.5; kappa = 0.2/0.5
	if k := c.Kappa(); k == nil || !close2(*k, 0.4) {
		t.Errorf("kappa is %v, want 0.4", k)
	}
	if c.N() != 50 || c.Equal() != 35 {
		t.Errorf("%d of %d agree, want 35 of 50", c.Equal(), c.N())
	}
}

// Three grades: a miss by two weighs four times a miss by one.
func TestWeightedKappaByHand(t *testing.T) {
	c := &Confusion{Labels: []string{"1", "2", "3"}, Counts: [][]int{{4, 1, 0}, {1, 3, 1}, {1, 0, 4}}}
	// rows 5,5,5; columns 6,4,5; n = 15
	// seen: 1*1 + 1*1 + 1*1 + 4*1 = 7
	// chance: row 1: 4*1+5*4 = 24, row 2: 6*1+5*1 = 11, row 3: 6*4+4*1 = 28; times 5 = 315; /15 = 21
	if k := c.WeightedKappa([]float64{1, 2, 3}); k == nil || !close2(*k, 1-7.0/21) {
		t.Errorf("weighted kappa is %v, want %v", k, 1-7.0/21)
	}
}

func TestKappaOfLittle(t *testing.T) {
	if k := newConfusion([]string{"a", "b"}).Kappa(); k != nil {
		t.Errorf("of nothing: %v", *k)
	}
	if k := (&Confusion{Labels: []string{"a", "b"}, Counts: [][]int{{9, 0}, {0, 0}}}).Kappa(); k != nil {
		t.Errorf("of one label alone: %v", *k)
	}
}

// kappaTwin is Cohen's formula as it is written: (po - pe) / (1 - pe).
func kappaTwin(c *Confusion) float64 {
	n, po, pe := float64(c.N()), 0.0, 0.0
	for i := range c.Labels {
		row, column := 0, 0
		for j := range c.Labels {
			row += c.Counts[i][j]
			column += c.Counts[j][i]
		}
		po += float64(c.Counts[i][i]) / n
		pe += float64(row) / n * float64(column) / n
	}
	return (po - pe) / (1 - pe)
}

func TestKappaTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 5).Draw(t, "labels")
		c := newConfusion(make([]string, size))
		for i := range size {
			for j := range size {
				c.Counts[i][j] = rapid.IntRange(0, 50).Draw(t, "count")
			}
		}
		k := c.Kappa()
		if k == nil {
			return
		}
		if want := kappaTwin(c); math.Abs(*k-want) > 1e-9 || *k > 1 {
			t.Fatalf("%v, want %v", *k, want)
		}
	})
}

func TestWilson(t *testing.T) {
	// Published values: Newcombe 1998, table I, method 3.
	for _, c := range []struct {
		hits, n   int
		low, high float64
	}{{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}} {
		e := wilson(c.hits, c.n)
		if math.Abs(*e.Low-c.low) > 5e-5 || math.Abs(*e.High-c.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.hits, c.n, *e.Low, *e.High, c.low, c.high)
		}
	}
	if wilson(0, 0) != nil {
		t.Error("a share of nothing")
	}
}

func TestSpearman(t *testing.T) {
	for _, c := range []struct {
		name string
		x, y []float64
		want float64
	}{
		{"rising", []float64{1, 2, 3, 9}, []float64{10, 20, 21, 500}, 1},
		{"falling", []float64{1, 2, 3}, []float64{9, 4, 1}, -1},
		// ranks 1 2 3 4 5 and 2 1 4 3 5: 1 - 6*4/(5*24)
		{"by hand", []float64{10, 20, 30, 40, 50}, []float64{3, 1, 9, 7, 11}, 0.8},
		// ranks 1 2.5 2.5 4 and 1 2 3 4: cov 4.5, variances 4.5 and 5
		{"tied", []float64{1, 5, 5, 9}, []float64{1, 2, 3, 4}, 4.5 / math.Sqrt(4.5*5)},
	} {
		if got := spearman(c.x, c.y); got == nil || !close2(*got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if spearman([]float64{1, 1, 1}, []float64{1, 2, 3}) != nil || spearman([]float64{1, 2}, []float64{1, 2}) != nil {
		t.Error("a correlation of what does not vary, or of two")
	}
}

// aucTwin looks at every pair.
func aucTwin(scores []float64, positive []bool) float64 {
	sum, pairs := 0.0, 0.0
	for i, a := range scores {
		for j, b := range scores {
			if !positive[i] || positive[j] {
				continue
			}
			pairs++
			switch {
			case a > b:
				sum++
			case a == b:
				sum += 0.5
			}
		}
	}
	return sum / pairs
}

func TestAUCTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		scores, positive := make([]float64, n), make([]bool, n)
		yes := 0
		for i := range n {
			scores[i] = float64(rapid.IntRange(0, 10).Draw(t, "score"))
			if positive[i] = rapid.Bool().Draw(t, "positive"); positive[i] {
				yes++
			}
		}
		got := auc(scores, positive)
		if yes == 0 || yes == n {
			if got != nil {
				t.Fatalf("one kind alone has %v", *got)
			}
			return
		}
		if want := aucTwin(scores, positive); !close2(*got, want) {
			t.Fatalf("%v, want %v", *got, want)
		}
	})
}

func TestQuantiles(t *testing.T) {
	q := quantilesOf([]float64{4, 1, 3, 2, 5})
	if *q != (Quantiles{1, 1.2, 2, 3, 4, 4.8, 5}) {
		t.Errorf("%+v", *q)
	}
	if q := quantilesOf([]float64{7}); *q != (Quantiles{7, 7, 7, 7, 7, 7, 7}) {
		t.Errorf("%+v", *q)
	}
}

// Repeats of a row say nearly the same: precision and recall count rows, and
// their intervals are no narrower for more repeats of the same verdicts.
func TestLabelTestsCountRows(t *testing.T) {
	r := testRubric(t, "{form: label, labels: [a, b]}")
	tests := func(repeats int) []LabelTest {
		var marks []Mark
		for row, v := range []string{"aa", "aa", "aa", "ab", "bb", "bb", "ba"} { // truth, verdict
			for k := range repeats {
				marks = append(marks, Mark{Row: row, Repeat: k, Label: v[:1], Reading: labelled(v[1:])})
			}
		}
		return Summarize(marks, SummaryOptions{Judges: []*Rubric{r}, Label: "l"}).Judges[0].Agreement.ByLabel
	}
	once := tests(1)
	if p := once[0].Precision; p.Value != 0.75 || p.N != 4 {
		t.Errorf("precision of a: %+v, want 3 of 4", p)
	}
	if p := once[1].Recall; !close2(p.Value, 2.0/3) || p.N != 3 {
		t.Errorf("recall of b: %+v, want 2 of 3", p)
	}
	if d := cmp.Diff(once, tests(20)); d != "" {
		t.Errorf("20 equal repeats (-once +20 times):\n%s", d)
	}
	// One row says a twice and b twice: half a row for either.
	var marks []Mark
	for k, said := range []string{"a", "a", "b", "b"} {
		marks = append(marks, Mark{Row: 1, Repeat: k + 1, Label: "a", Reading: labelled(said)}, Mark{Row: 2, Repeat: k + 1, Label: "b", Reading: labelled("a")})
	}
	a := Summarize(marks, SummaryOptions{Judges: []*Rubric{r}, Label: "l"}).Judges[0].Agreement.ByLabel[0]
	if !close2(a.Precision.Value, 0.5/1.5) || a.Precision.N != 2 || a.Recall.Value != 0.5 || a.Recall.N != 1 {
		t.Errorf("precision %+v, recall %+v", a.Precision, a.Recall)
	}
}
