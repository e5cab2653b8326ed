package judge

import (
	"slices"
	"strings"
	"testing"
)

// Whatever a judge says: no panic, one of five statuses, a verdict exactly where
// it is scored, a score on the scale, a label of the rubric's, and what was said
// kept as it was.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{"score": 85}`, "```json\n{\"score\": 85,}\n```", "Score: 85/100", "８５", "70-80", "-5", "150", "72,5", "8 out of 10",
		"NaN", "eighty", `{"score": 1e999}`, `{"score": "85%"}`, `{'score': 85}`, `\boxed{85}`, "<score>85</score>", "[[85]]",
		"correct", "not correct", "Verdict: incorrect", `{"label": "Correct."}`, "I cannot judge this.", "{{{{", `{"a":"\`, "", "\xff\xfe", "٨٥",
	} {
		f.Add(s, "end_turn")
	}
	f.Add("85", "max_tokens")
	f.Add("85", "refusal")
	rubrics := []*Rubric{
		testRubric(f, "{form: score}"), testRubric(f, "{form: score, min: -1.5, max: 2}"),
		testRubric(f, "{form: label, labels: [correct, incorrect, partially correct]}"), testRubric(f, "{form: label, labels: [A, B]}"),
		testRubric(f, "{form: json, field: score, min: 0, max: 10, schema: {type: object, required: [score]}}"),
	}
	f.Fuzz(func(t *testing.T, text, stop string) {
		for _, r := range rubrics {
			if g := r.ReadText(text); g.Raw != text {
				t.Fatalf("raw is %q, not %q", g.Raw, text)
			} else {
				holdReading(t, r, g)
			}
			g := r.Read(ended(stop, strings.ToValidUTF8(text, "?")))
			holdReading(t, r, g)
			if stop == "max_tokens" && g.Status != Truncated {
				t.Fatalf("a cut answer is %s", g.Status)
			}
			holdReading(t, r, r.Read([]byte(text)))
		}
	})
}

func holdReading(t *testing.T, r *Rubric, g Reading) {
	t.Helper()
	if !slices.Contains(Statuses(), g.Status) {
		t.Fatalf("status %q", g.Status)
	}
	if has := g.Score != nil || g.Label != nil; has != (g.Status == Scored) || (g.Why != "") == has {
		t.Fatalf("%+v", g)
	}
	if g.Score != nil && !(*g.Score >= r.Verdict.Min && *g.Score <= r.Verdict.Max) {
		t.Fatalf("%v is not on the scale", *g.Score)
	}
	if g.Label != nil && !slices.Contains(r.Verdict.Labels, *g.Label) {
		t.Fatalf("%q is none of the labels", *g.Label)
	}
}

// Whatever a rubric's file holds: no panic, and what is taken can make bodies.
func FuzzParse(f *testing.F) {
	for _, name := range Builtins() {
		text, err := Source(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("name: t\nversion: 1\nprompt: x\nverdict: {form: json, schema: {$ref: '#/a'}}\nparams: {a: [1, 'b', {c: null}]}\n"))
	f.Add([]byte("name: &a t\nversion: *a\nprompt: !!str x\nverdict: {form: label, labels: [yes, no, ~]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse("fuzz", data)
		if err != nil {
			return
		}
		if _, err := r.Bodies(); err != nil {
			t.Fatal(err)
		}
		_ = r.ReadText("85")
	})
}
