package judge

import (
	"strings"
	"testing"
)

// long are answers in which one thing is said over and over.
func long(n int) map[string]string {
	out := map[string]string{}
	for _, s := range []string{
		"{", "}", "{}", `{"`, `{"score":`, ", ", ",\n", "score: ", "verdict: correct ", "label: ", "label: x, ", "correct. ", "[", "[[8]] ", "<a>", "```\n", "_", "8 ", "8,", "8.",
		"score score ", "(", "(0-100) ", "final score: 85\n", "the answer is ", "on a scale of 0 ", "\\boxed{", "i cannot ", "so sorry ", "\u0668", "it's ", "a ",
	} {
		out[s] = strings.Repeat(s, n/len(s))
	}
	return out
}

// An answer may be as long as the model's room: reading it takes time in
// proportion. The test is that it ends; quadratic reading would take minutes.
func TestReadsLongAnswers(t *testing.T) {
	for _, r := range []*Rubric{testRubric(t, "{form: score}"), testRubric(t, "{form: label, labels: [correct, incorrect]}"), testRubric(t, "{form: json}")} {
		for s, text := range long(1 << 17) {
			if g := r.ReadText(text); len(g.Raw) != len(text) {
				t.Errorf("%q: raw has %d bytes, not %d", s, len(g.Raw), len(text))
			}
		}
	}
}

func BenchmarkRead(b *testing.B) {
	r := testRubric(b, "{form: score}")
	for _, text := range []string{`{"score": 85}`, "The answer is kind and names 3 reasons.\n\nScore: 85/100"} {
		msg := ended("end_turn", text)
		b.Run(text[:5], func(b *testing.B) {
			for b.Loop() {
				if g := r.Read(msg); g.Status != Scored {
					b.Fatal(g.Why)
				}
			}
		})
	}
}
