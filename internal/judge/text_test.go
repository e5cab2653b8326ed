package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// traitText stands in docs/judge.md too.
const traitText = `trait by claude-sonnet-4-6 (version 1, sha256 SHA, max_tokens 128)
  trait  rows  verdicts  scored  truncated  refused  unparsable  failed  mean  95 % interval   p5   p25  p50   p75   p95
  all       8        24      24          ·        ·           ·       ·  36.0   16.0 to 56.0  4.5  18.5   36  53.5  67.5
  bold      4        12      12          ·        ·           ·       ·  41.0   11.0 to 71.0   14    26   41    56    68
  kind      4        12      12          ·        ·           ·       ·  31.0    1.0 to 61.0    4    16   31    46    58
  repeats of 8 rows: within a row scores differ by 1.00 (standard deviation), rows by 24.49; 0 alike throughout
  against agrees: 24 verdicts scored
  AUC 1.000: the chance that a row with true scores higher than one without
    false  12 of 12 verdicts scored  mean 16.0   1.0 to 31.0
    true   12 of 12 verdicts scored  mean 56.0  41.0 to 71.0

trait by claude-haiku-4-5 (version 1, sha256 SHA, max_tokens 128)
  trait  rows  verdicts  scored  truncated  refused  unparsable  failed  mean  95 % interval    p5   p25   p50    p75    p95
  all       8        24      21          3        ·           ·       ·  35.3   13.9 to 52.4   5.5  23.5    31   53.5     61
  bold      4        12       9          3        ·           ·       ·  36.0   16.0 to 61.0  17.5  23.5    31     46     58
  kind      4        12      12          ·        ·           ·       ·  34.8    1.0 to 61.0   5.5  23.5  38.5  49.75  58.75
  3 verdicts without a score: with all of them at one end of the scale the mean would be 30.9, at the other 43.4
  repeats of 7 rows: within a row scores differ by 1.00 (standard deviation), rows by 22.44; 0 alike throughout
  against agrees: 21 verdicts scored, 3 not scored and left out
  AUC 1.000: the chance that a row with true scores higher than one without
    false  12 of 12 verdicts scored  mean 19.8   1.0 to 31.0
    true    9 of 12 verdicts scored  mean 56.0  46.0 to 61.0

A trait by claude-sonnet-4-6, B trait by claude-haiku-4-5: 7 rows scored by both, 1 by A alone, 0 by B alone, 0 by neither
  means 31.0 and 35.3; B less A 4.29 (0.71 to 8.57); rank correlation 0.982
  for comparison, repeats of one row differ by 1.00 (A) and 1.00 (B), standard deviation
  2 largest disagreements:
    custom_id   A   B
    persona/2  21  31
    persona/5  51  61
`

// The whole text of a small job of two judges, three repeats and labels.
func TestText(t *testing.T) {
	r, err := Load("trait")
	if err != nil {
		t.Fatal(err)
	}
	judges := []*Rubric{r, r.For("claude-haiku-4-5")}
	var marks []Mark
	for row := range 8 {
		for pair := range judges {
			for k := range 3 {
				m := Mark{Row: row, ID: fmt.Sprintf("persona/%d", row), Group: []string{"kind", "bold"}[row%2], Label: fmt.Sprint(row >= 4), Pair: pair, Repeat: k + 1}
				m.Reading = scored(float64(10*row + k + 5*pair*(row%3)))
				if row == 7 && pair == 1 {
					m.Reading = without(Truncated)
				}
				marks = append(marks, m)
			}
		}
	}
	s := Summarize(marks, SummaryOptions{Judges: judges, By: "trait", Label: "agrees", Largest: 2})
	got := strings.ReplaceAll(s.Text(), r.SHA256[:12], "SHA")
	if d := cmp.Diff(traitText, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

const labelText = `correctness by claude-sonnet-4-6 (version 1, sha256 SHA, max_tokens 128)
       rows  scored  truncated  refused  unparsable  failed                correct              incorrect
  all    10       9          ·        1           ·       ·  55.6 % (26.7 to 81.1)  44.4 % (18.9 to 73.3)
  against correct: 9 verdicts scored, 1 not scored and left out
  accuracy 88.9 % (56.5 to 98.0), kappa 0.769; false = incorrect, true = correct
    correct \ verdict                  correct              incorrect  not scored                   recall
    correct                                  5                      1           ·    83.3 % (43.6 to 97.0)
    incorrect                                ·                      3           1  100.0 % (43.9 to 100.0)
    precision          100.0 % (56.6 to 100.0)  75.0 % (30.1 to 95.4)

correctness by claude-haiku-4-5 (version 1, sha256 SHA, max_tokens 128)
       rows  scored  truncated  refused  unparsable  failed                correct              incorrect
  all    10      10          ·        ·           ·       ·  70.0 % (39.7 to 89.2)  30.0 % (10.8 to 60.3)
  against correct: 10 verdicts scored
  accuracy 90.0 % (59.6 to 98.2), kappa 0.783; false = incorrect, true = correct
    correct \ verdict                correct                incorrect  not scored                   recall
    correct                                6                        ·           ·  100.0 % (61.0 to 100.0)
    incorrect                              1                        3           ·    75.0 % (30.1 to 95.4)
    precision          85.7 % (48.7 to 97.4)  100.0 % (43.9 to 100.0)

A correctness by claude-sonnet-4-6, B correctness by claude-haiku-4-5: 9 rows scored by both, 0 by A alone, 1 by B alone, 0 by neither
  the same label in 77.8 % (45.3 to 93.7); kappa 0.526
    A \ B      correct  incorrect
    correct          5          ·
    incorrect        2          2
  2 largest disagreements:
    custom_id          A        B
    q5         incorrect  correct
    q6         incorrect  correct
`

func TestTextOfLabels(t *testing.T) {
	r, err := Load("correctness")
	if err != nil {
		t.Fatal(err)
	}
	var marks []Mark
	for row := range 10 {
		m := Mark{Row: row, ID: fmt.Sprint("q", row), Label: fmt.Sprint(row < 6), Reading: labelled(word(row < 5))}
		if row == 9 {
			m.Reading = without(Refused)
		}
		marks = append(marks, m)
		m.Pair, m.Reading = 1, labelled(word(row < 7))
		marks = append(marks, m)
	}
	s := Summarize(marks, SummaryOptions{Judges: []*Rubric{r, r.For("claude-haiku-4-5")}, Label: "correct"})
	got := strings.ReplaceAll(s.Text(), r.SHA256[:12], "SHA")
	if d := cmp.Diff(labelText, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTextOfBothOrders(t *testing.T) {
	r, err := Load("preference")
	if err != nil {
		t.Fatal(err)
	}
	marks := []Mark{
		{Row: 1, Reading: labelled("first")},
		{Row: 1, Swapped: true, Reading: labelled("second")},
		{Row: 2, Reading: labelled("first")},
		{Row: 2, Swapped: true, Reading: labelled("first")},
	}
	text := Summarize(marks, SummaryOptions{Judges: []*Rubric{r}}).Text()
	for _, want := range []string{
		"both orders: 2 verdict pairs scored in both, 0 in one alone; the same completion preferred in 50.0 %",
		"1 pair flipped: 1 to whichever stands first, 0 to whichever stands second; the first place has 75.0 %",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// What rows say of themselves does not steer a terminal, nor break a line.
func TestTextOfHostileRows(t *testing.T) {
	r := testRubric(t, "{form: score}")
	var marks []Mark
	for pair := range 2 {
		for row := range 3 {
			marks = append(marks, Mark{
				Row: row, ID: "i\x1b]0;x\a\nd" + fmt.Sprint(row), Group: "g\x1b[2J\r\u202e" + strings.Repeat("g", 200), Label: fmt.Sprint("\u009b31m\n", row%2),
				Pair: pair, Reading: scored(float64(10*row + 40*pair)),
			})
		}
	}
	text := Summarize(marks, SummaryOptions{Judges: []*Rubric{r, r.For("claude-haiku-4-5")}, By: "g", Label: "l"}).Text()
	if strings.ContainsAny(text, "\x1b\a\r\u009b\u202e") || strings.Contains(text, strings.Repeat("g", 61)) {
		t.Errorf("%q", text)
	}
	for _, want := range []string{"  i ]0;x  d0 ", "  g [2J  ggg", "     31m 1   1 of 1 verdict scored"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
