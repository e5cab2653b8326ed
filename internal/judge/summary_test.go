package judge

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla/internal/job/sample"
)

func scored(v float64) Reading  { return Reading{Status: Scored, Score: &v} }
func labelled(l string) Reading { return Reading{Status: Scored, Label: &l} }
func without(s string) Reading  { return Reading{Status: s, Why: "a test's"} }

// facts/peer-faults.md 26: failed judge trials were left out of the mean, and
// nobody saw it.
func TestPeerFault26CountsStandBesideTheMean(t *testing.T) {
	r := testRubric(t, "{form: score}")
	marks := []Mark{
		{Row: 1, Reading: scored(90)},
		{Row: 2, Reading: scored(70)},
		{Row: 3, Reading: without(Failed)},
		{Row: 4, Reading: without(Truncated)},
		{Row: 5, Reading: without(Refused)},
		{Row: 6, Reading: without(Unparsable)},
	}
	s := Summarize(marks, SummaryOptions{Judges: []*Rubric{r}, By: "g"})
	c := s.Judges[0].Total
	if c.Counts != (Counts{2, 1, 1, 1, 1}) || c.Counts.Total() != 6 || c.Rows != 6 || c.ScoredRows != 2 {
		t.Errorf("%+v", c)
	}
	if c.Mean.Value != 80 || c.Mean.N != 2 {
		t.Errorf("the mean is %v over %d, want 80 over the 2 that are scored", c.Mean.Value, c.Mean.N)
	}
	// (90+70)/6 and (90+70+400)/6
	if b := c.Bounds; b == nil || !close2(b[0], 160.0/6) || !close2(b[1], 560.0/6) {
		t.Errorf("bounds %v", b)
	}
	text := s.Text()
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "80.0") && len(strings.Fields(line)) < 8 {
			t.Errorf("a mean without its counts: %q", line)
		}
	}
	for _, want := range []string{"scored  truncated  refused  unparsable  failed", "4 verdicts without a score: with all of them at one end of the scale the mean would be 26.7, at the other 93.3"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// Rows weigh alike, however many of their repeats were scored.
func TestRowsWeighAlike(t *testing.T) {
	r := testRubric(t, "{form: score}")
	marks := []Mark{
		{Row: 1, Repeat: 1, Reading: scored(0)},
		{Row: 1, Repeat: 2, Reading: scored(10)},
		{Row: 1, Repeat: 3, Reading: scored(20)},
		{Row: 2, Repeat: 1, Reading: scored(50)},
		{Row: 2, Repeat: 2, Reading: without(Refused)},
		{Row: 2, Repeat: 3, Reading: without(Failed)},
	}
	j := Summarize(marks, SummaryOptions{Judges: []*Rubric{r}}).Judges[0]
	if j.Total.Mean.Value != 30 || j.Total.Mean.N != 2 || j.Total.Counts != (Counts{4, 0, 1, 0, 1}) {
		t.Errorf("%+v, mean %+v", j.Total, *j.Total.Mean)
	}
	if s := j.Repeats; s.Rows != 1 || !close2(*s.Within, 10) || !close2(*s.Range, 20) || s.Equal != 0 {
		t.Errorf("spread %+v", s)
	}
}

// What the order of marks is must not matter, and counts add up whatever comes.
func TestSummaryInvariants(t *testing.T) {
	judges := []*Rubric{testRubric(t, "{form: score}"), testRubric(t, "{form: label, labels: [a, b]}"), testRubric(t, "{form: score, min: 0, max: 100}")}
	rapid.Check(t, func(t *rapid.T) {
		var marks []Mark
		for row := range rapid.IntRange(0, 12).Draw(t, "rows") {
			m := Mark{Row: row, ID: strconv.Itoa(row), Group: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "group"), Label: rapid.SampledFrom([]string{"", "a", "b", "c", "1", "0"}).Draw(t, "label")}
			for m.Pair = range judges {
				for m.Repeat = range rapid.IntRange(0, 3).Draw(t, "repeats") {
					m.Reading = anyReading(t, judges[m.Pair])
					marks = append(marks, m)
				}
			}
		}
		opt := SummaryOptions{Judges: judges, By: "g", Label: "l", Draw: Bootstrap{Resamples: 50}}
		s := Summarize(marks, opt)
		for i, j := range s.Judges {
			n := 0
			for k := range marks {
				if marks[k].Pair == i {
					n++
				}
			}
			in := 0
			for _, g := range j.Groups {
				in += g.Counts.Total()
			}
			if j.Total.Counts.Total() != n || in != n {
				t.Fatalf("%d marks: %d in all, %d in groups", n, j.Total.Counts.Total(), in)
			}
		}
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(marks), func(i, j int) { marks[i], marks[j] = marks[j], marks[i] })
		if d := cmp.Diff(s, Summarize(marks, opt)); d != "" {
			t.Fatalf("another order of marks, another summary:\n%s", d)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
		_ = s.Text()
	})
}

func anyReading(t *rapid.T, r *Rubric) Reading {
	status := rapid.SampledFrom(append(Statuses(), Scored, Scored)).Draw(t, "status")
	switch {
	case status != Scored:
		return without(status)
	case r.Verdict.Form == FormLabel:
		return labelled(rapid.SampledFrom(r.Verdict.Labels).Draw(t, "label"))
	}
	return scored(float64(rapid.IntRange(0, 100).Draw(t, "score")))
}

// Solutions of gsm8k, judged by a rule: the last lines are compared; one row in
// ten is judged wrongly, one in fifty is cut, one in 97 refused.
func TestSolutionsAgainstTheirLabels(t *testing.T) {
	r, err := Load("correctness")
	if err != nil {
		t.Fatal(err)
	}
	_, real := sample.Real(sample.Solutions)
	marks, table, unscored := solutionMarks(t, sample.Path(t, sample.Solutions))
	a := Summarize(marks, SummaryOptions{Judges: []*Rubric{r}, Label: "correct"}).Judges[0].Agreement
	if real { // counted by hand, that is by another program
		table, unscored = [][]int{{1675, 252}, {279, 2910}}, []int{74, 86}
		if !close2(math.Round(*a.Kappa*1e6)/1e6, 0.779577) || !close2(math.Round(a.Accuracy.Value*1e6)/1e6, 0.896208) {
			t.Errorf("kappa %v, accuracy %v", *a.Kappa, a.Accuracy.Value)
		}
	}
	if d := cmp.Diff(table, a.Confusion.Counts); d != "" {
		t.Errorf("confusion (-want +got):\n%s", d)
	}
	if a.ByLabel[0].Unscored != unscored[0] || a.ByLabel[1].Unscored != unscored[1] {
		t.Errorf("not scored: %d and %d, want %v", a.ByLabel[0].Unscored, a.ByLabel[1].Unscored, unscored)
	}
	n := table[0][0] + table[0][1] + table[1][0] + table[1][1]
	right := float64(table[0][0]+table[1][1]) / float64(n)
	if a.N != n || a.Unscored != unscored[0]+unscored[1] || n+a.Unscored != len(marks) || !close2(a.Accuracy.Value, right) || a.Accuracy.Method != "wilson" {
		t.Errorf("n %d, accuracy %+v; want %d, %v", a.N, a.Accuracy, n, right)
	}
	if k := kappaTwin(a.Confusion); !close2(*a.Kappa, k) {
		t.Errorf("kappa %v, want %v", *a.Kappa, k)
	}
	recall, precision := float64(table[0][0])/float64(table[0][0]+table[0][1]), float64(table[0][0])/float64(table[0][0]+table[1][0])
	if !close2(a.ByLabel[0].Recall.Value, recall) || !close2(a.ByLabel[0].Precision.Value, precision) {
		t.Errorf("of correct: %+v", a.ByLabel[0])
	}
	if d := cmp.Diff([]string{"false = incorrect", "true = correct"}, a.Mapped); d != "" {
		t.Errorf("mapped (-want +got):\n%s", d)
	}
}

func solutionMarks(t *testing.T, path string) (marks []Mark, table [][]int, unscored []int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, unscored = [][]int{{0, 0}, {0, 0}}, []int{0, 0}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for i := 0; lines.Scan(); i++ {
		var row struct {
			ID, Reference, Completion string
			Correct                   bool
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		right := lastLine(row.Completion) == lastLine(row.Reference)
		if i%10 == 3 {
			right = !right
		}
		m := Mark{Row: i, ID: row.ID, Label: fmt.Sprint(row.Correct), Reading: labelled(word(right))}
		switch {
		case i%50 == 7:
			m.Reading = without(Truncated)
			unscored[at(row.Correct)]++
		case i%97 == 11:
			m.Reading = without(Refused)
			unscored[at(row.Correct)]++
		default:
			table[at(row.Correct)][at(right)]++
		}
		marks = append(marks, m)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return marks, table, unscored
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimRight(s, " \n\t"), "\n")
	return lines[len(lines)-1]
}

func word(right bool) string {
	if right {
		return "correct"
	}
	return "incorrect"
}

func at(right bool) int {
	if right {
		return 0
	}
	return 1
}

// Labels that the rubric does not have are told, not counted; scores are held to
// labels by order and by how well they part two.
func TestAgreementOfOddLabels(t *testing.T) {
	r := testRubric(t, "{form: label, labels: [a, b, c]}")
	a := Summarize([]Mark{
		{Row: 1, Label: "A", Reading: labelled("a")},
		{Row: 2, Label: "true", Reading: labelled("a")},
		{Row: 3, Label: "", Reading: labelled("b")},
		{Row: 4, Label: "b", Reading: without(Failed)},
	}, SummaryOptions{Judges: []*Rubric{r}, Label: "l"}).Judges[0].Agreement
	if a.Labelled != 3 || a.Unlabelled != 1 || a.N != 1 || a.Unscored != 1 || a.ForeignN != 1 || len(a.Foreign) != 1 || a.Foreign[0] != "true" {
		t.Errorf("%+v", a)
	}
	s := testRubric(t, "{form: score}")
	a = Summarize([]Mark{
		{Row: 1, Label: "true", Reading: scored(90)},
		{Row: 2, Label: "false", Reading: scored(10)},
		{Row: 3, Label: "true", Reading: scored(10)},
		{Row: 4, Label: "false", Reading: without(Failed)},
	}, SummaryOptions{Judges: []*Rubric{s}, Label: "l"}).Judges[0].Agreement
	if a.Positive != "true" || *a.AUC != 0.75 || a.N != 3 || a.Unscored != 1 || len(a.Means) != 2 || a.Means[0].Counts.Failed != 1 {
		t.Errorf("%+v, AUC %v", a, *a.AUC)
	}
	a = Summarize([]Mark{
		{Row: 1, Label: "1", Reading: scored(10)}, {Row: 2, Label: "10", Reading: scored(90)}, {Row: 3, Label: "9", Reading: scored(50)},
	}, SummaryOptions{Judges: []*Rubric{s}, Label: "l"}).Judges[0].Agreement
	if a.Spearman == nil || *a.Spearman != 1 {
		t.Errorf("rank correlation %v, want 1: labels are numbers", a.Spearman)
	}
}

func TestComparesOnRowsThatBothScored(t *testing.T) {
	x, y := testRubric(t, "{form: score}"), testRubric(t, "{form: score}").For("claude-haiku-4-5")
	var marks []Mark
	for row := range 20 {
		a, b := scored(float64(row)), scored(float64(row+10))
		switch row {
		case 0:
			b = scored(90) // the largest disagreement
		case 1:
			a = without(Truncated)
		case 2:
			b = without(Refused)
		case 3:
			a, b = without(Failed), without(Failed)
		}
		id := fmt.Sprint("r", row)
		marks = append(marks, Mark{Row: row, ID: id, Reading: a})
		if row != 4 { // and one that B never got to
			marks = append(marks, Mark{Row: row, ID: id, Pair: 1, Reading: b})
		}
	}
	s := Summarize(marks, SummaryOptions{Judges: []*Rubric{x, y}, Largest: 3})
	c := s.Comparisons[0]
	if c.N != 16 || c.OnlyA != 2 || c.OnlyB != 1 || c.Neither != 1 {
		t.Errorf("%d by both, %d, %d, %d", c.N, c.OnlyA, c.OnlyB, c.Neither)
	}
	if d := c.Difference; !close2(d.Value, (15*10+90)/16.0) || d.N != 16 || !close2(*c.MeanB-*c.MeanA, d.Value) {
		t.Errorf("difference %+v of means %v and %v", d, *c.MeanA, *c.MeanB)
	}
	if len(c.Largest) != 3 || c.Largest[0] != (Disagreement{0, "r0", "0", "90", 90}) || c.Largest[1].ID != "r5" {
		t.Errorf("largest %+v", c.Largest)
	}
}

// A paired interval is narrower than that of two means: rows differ by more than
// judges do.
func TestDifferencesArePaired(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := testRubric(t, "{form: score}"), testRubric(t, "{form: score}")
	var marks []Mark
	for row := range 200 {
		v := 80 * rng.Float64()
		marks = append(marks, Mark{Row: row, Reading: scored(v)}, Mark{Row: row, Pair: 1, Reading: scored(v + 4 + rng.NormFloat64())})
	}
	s := Summarize(marks, SummaryOptions{Judges: []*Rubric{x, y}})
	d, of := s.Comparisons[0].Difference, s.Judges[0].Total.Mean
	if *d.Low > 4 || *d.High < 4 || *d.High-*d.Low > 0.5 || *of.High-*of.Low < 4 {
		t.Errorf("difference %.2f to %.2f, a mean alone %.2f to %.2f", *d.Low, *d.High, *of.Low, *of.High)
	}
}

func TestComparesLabels(t *testing.T) {
	r := testRubric(t, "{form: label, labels: [a, b]}")
	// A says a a b b, B says a b b b: po 3/4, pe 1/2*1/4 + 1/2*3/4 = 1/2
	var marks []Mark
	for row, v := range []string{"aa", "ab", "bb", "bb"} {
		marks = append(marks, Mark{Row: row, ID: fmt.Sprint(row), Reading: labelled(v[:1])}, Mark{Row: row, Pair: 1, Reading: labelled(v[1:])})
	}
	s := Summarize(marks, SummaryOptions{Judges: []*Rubric{r, r.For("claude-haiku-4-5"), testRubric(t, "{form: score}")}})
	if len(s.Comparisons) != 1 {
		t.Fatalf("%d comparisons; labels do not compare with scores", len(s.Comparisons))
	}
	c := s.Comparisons[0]
	if c.N != 4 || !close2(*c.Kappa, 0.5) || c.Agree.Value != 0.75 || len(c.Largest) != 1 || c.Largest[0] != (Disagreement{1, "1", "a", "b", 1}) {
		t.Errorf("%+v, kappa %v, agree %v", c, *c.Kappa, c.Agree.Value)
	}
}

func TestSwapFindsPositionBias(t *testing.T) {
	r, err := Load("preference")
	if err != nil {
		t.Fatal(err)
	}
	var marks []Mark
	add := func(row int, asIs, swapped string) {
		marks = append(marks, Mark{Row: row, Reading: labelled(asIs)}, Mark{Row: row, Swapped: true, Reading: labelled(swapped)})
	}
	add(1, "first", "second") // a, whichever way
	add(2, "second", "first") // b
	add(3, "tie", "tie")
	add(4, "first", "first") // whichever stands first
	add(5, "first", "first") // the same
	add(6, "second", "tie")  // neither here nor there
	add(7, "second", "second")
	marks = append(marks, Mark{Row: 8, Reading: labelled("first")}, Mark{Row: 8, Swapped: true, Reading: without(Unparsable)})
	j := Summarize(marks, SummaryOptions{Judges: []*Rubric{r}}).Judges[0]
	w := j.Swap
	if w.N != 7 || w.OneOnly != 1 || w.Flipped != 4 || w.ToFirst != 2 || w.ToSecond != 1 || !close2(w.Consistent.Value, 3.0/7) {
		t.Errorf("%+v, consistent %v", w, w.Consistent.Value)
	}
	// shares of the first place by row: 1/2, 1/2, 1, 1, 0, 0
	if !close2(w.FirstShare.Value, 0.5) || w.FirstShare.N != 6 {
		t.Errorf("first place %+v", w.FirstShare)
	}
	// a wins both of row 1, none of 2, half of 4, 5 and 7, and the one of row 8
	want := []int{6, 6, 3}
	for i, l := range j.Total.Labels {
		if l.N != want[i] {
			t.Errorf("%s: %d, want %d: swapped verdicts count for the completion, not the place", l.Label, l.N, want[i])
		}
	}
	if j.Repeats != nil {
		t.Errorf("the other order is no repeat: %+v", j.Repeats)
	}
}

// A row whose repeats were scored by one judge here and by the other there has
// nothing to compare, and is not lost from the counts.
func TestComparesRepeatWithRepeat(t *testing.T) {
	r := testRubric(t, "{form: label, labels: [a, b]}")
	s := Summarize([]Mark{
		{Row: 1, Repeat: 1, Reading: labelled("a")},
		{Row: 1, Repeat: 2, Reading: without(Refused)},
		{Row: 1, Repeat: 1, Pair: 1, Reading: without(Truncated)},
		{Row: 1, Repeat: 2, Pair: 1, Reading: labelled("a")},
		{Row: 2, Repeat: 1, Reading: labelled("a")},
		{Row: 2, Repeat: 1, Pair: 1, Reading: labelled("a")},
	}, SummaryOptions{Judges: []*Rubric{r, r.For("claude-haiku-4-5")}})
	c := s.Comparisons[0]
	if c.N != 1 || c.Apart != 1 || c.OnlyA+c.OnlyB+c.Neither != 0 || c.Agree.N != 1 {
		t.Errorf("%+v", c)
	}
	if text := s.Text(); !strings.Contains(text, "1 row scored by both, 0 by A alone, 0 by B alone, 0 by neither, 1 by each in other repeats\n") {
		t.Errorf("it is not told:\n%s", text)
	}
}

// A judge that always prefers the first place leaves some doubt with few rows.
func TestSwapOfFewRowsIsNotCertain(t *testing.T) {
	r, err := Load("preference")
	if err != nil {
		t.Fatal(err)
	}
	var marks []Mark
	for row := range 5 {
		marks = append(marks, Mark{Row: row, Reading: labelled("first")}, Mark{Row: row, Swapped: true, Reading: labelled("first")})
	}
	w := Summarize(marks, SummaryOptions{Judges: []*Rubric{r}}).Judges[0].Swap
	if f := w.FirstShare; f.Value != 1 || *f.High != 1 || *f.Low > 0.7 {
		t.Errorf("%v of 5 rows, from %v to %v", f.Value, *f.Low, *f.High)
	}
}

func TestSwapOfScores(t *testing.T) {
	r, err := Parse("test", []byte("name: t\nversion: 1\nprompt: '{{.a}} {{.b}}'\nverdict: {form: score}\npair: {fields: [a, b]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	j := Summarize([]Mark{
		{Row: 1, Reading: scored(80)}, {Row: 1, Swapped: true, Reading: scored(40)}, // 80 and 60 for a: worth 10
		{Row: 2, Reading: scored(60)}, {Row: 2, Swapped: true, Reading: scored(60)}, // 60 and 40: worth 10
	}, SummaryOptions{Judges: []*Rubric{r}}).Judges[0]
	if w := j.Swap; w.N != 2 || w.Flipped != 1 || w.ToFirst != 1 || w.Bias.Value != 10 {
		t.Errorf("%+v, bias %v", w, w.Bias)
	}
	if j.Total.Mean.Value != 60 {
		t.Errorf("the mean for a is %v, want 60", j.Total.Mean.Value)
	}
}

// A job of 141,600 rows, 150 groups, two judges.
func BenchmarkSummarize(b *testing.B) {
	r := testRubric(b, "{form: score}")
	var marks []Mark
	for row := range 141_600 {
		for pair := range 2 {
			marks = append(marks, Mark{Row: row, ID: "persona/" + strconv.Itoa(row), Group: strconv.Itoa(row % 150), Pair: pair, Reading: scored(float64(row*7%101 - pair*row%2))})
		}
	}
	for i := range marks {
		*marks[i].Score = max(0, *marks[i].Score)
	}
	for b.Loop() {
		Summarize(marks, SummaryOptions{Judges: []*Rubric{r, r.For("claude-haiku-4-5")}, By: "trait"})
	}
}
