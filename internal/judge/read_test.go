package judge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// testRubric is a rubric with this verdict and no more than it must have.
func testRubric(t testing.TB, verdict string) *Rubric {
	t.Helper()
	r, err := Parse("test", []byte("name: t\nversion: 1\nmodel: claude-sonnet-4-6\nprompt: '{{.completion}}'\nverdict: "+verdict+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// reads is what a reading comes to, in one line: "scored 85", "unparsable".
func reads(g Reading) string {
	switch {
	case g.Score != nil:
		return g.Status + " " + number(*g.Score)
	case g.Label != nil:
		return g.Status + " " + *g.Label
	}
	return g.Status
}

// answer is one row of a table: what the judge says, and where a careful person
// would put it.
type answer struct{ text, want, why string }

func holdTo(t *testing.T, r *Rubric, answers []answer) {
	t.Helper()
	for _, a := range answers {
		g := r.ReadText(a.text)
		if reads(g) != a.want || !strings.Contains(g.Why, a.why) {
			t.Errorf("%q\n is %s (%s),\n want %s (%s)", a.text, reads(g), g.Why, a.want, a.why)
		}
		if g.Raw != a.text {
			t.Errorf("%q: raw is %q", a.text, g.Raw)
		}
		if (g.Status == Scored) != (g.Why == "") {
			t.Errorf("%q: %s with the reason %q", a.text, g.Status, g.Why)
		}
	}
}

// Where a careful person puts an answer on a scale of 0 to 100.
func TestReadsScores(t *testing.T) {
	holdTo(t, testRubric(t, "{form: score}"), []answer{
		// JSON, in all its dress
		{`{"score": 85}`, "scored 85", ""},
		{`{"score": 85.5, "reason": "fine"}`, "scored 85.5", ""},
		{"```json\n{\"score\": 85}\n```", "scored 85", ""},
		{"```\n85\n```", "scored 85", ""},
		{"Here is my verdict:\n\n```json\n{\"score\": 85}\n```\nThe answer is kind.", "scored 85", ""},
		{`My verdict is {"score": 85} since the answer is kind.`, "scored 85", ""},
		{`{"score": 85,}`, "scored 85", ""},
		{`{"reasons": ["a", "b",], "score": 85, }`, "scored 85", ""},
		{`{'score': 85}`, "scored 85", ""},
		{`{score: 85}`, "scored 85", ""},
		{`{"Score": 85}`, "scored 85", ""},
		{`{"score": "85"}`, "scored 85", ""},
		{`{"score": "85/100"}`, "scored 85", ""},
		{`{"score": 1e1}`, "scored 10", ""},
		{`{"score": 0}`, "scored 0", ""},
		{`{"score": -0.0}`, "scored 0", ""},
		{`{"score": 85} {"score": 85.0}`, "scored 85", ""},
		{`{"note": "see {\"score\": 3}", "score": 85}`, "scored 85", ""},
		{"The weights: {x, y}.\nScore: 85", "scored 85", ""},
		{`{"score": 40} On reflection: {"score": 60}`, "unparsable", "two verdicts: 40 and 60"},
		{`{"score": 40, "score": 60}`, "unparsable", "two verdicts"},
		{`{"score": 40}. Score: 60`, "unparsable", "two verdicts"},
		{`{"score": 8`, "unparsable", "does not end"},
		{`{"score": 85, "reason": "the answ`, "unparsable", "does not end"},
		{`{"score": 72,5}`, "unparsable", "cannot be read"},
		{`{"score": NaN}`, "unparsable", "cannot be read"},
		{`{"score": null}`, "unparsable", "score is no number"},
		{`{"score": true}`, "unparsable", "score is no number"},
		{`{"score": [85]}`, "unparsable", "score is no number"},
		{`{"score": "high"}`, "unparsable", "score is no number"},
		{`{"score": 150}`, "unparsable", "150 is not on the scale, 0 to 100"},
		{`{"score": -5}`, "unparsable", "-5 is not on the scale"},
		{`{"score": 1e999}`, "unparsable", "not on the scale"},
		{`{"rating": 85}`, "unparsable", "no field score"},
		{`{"verdict": {"score": 85}}`, "unparsable", "no field score"},
		{`{}`, "unparsable", "no field score"},

		// a number
		{"85", "scored 85", ""},
		{" 85.\n", "scored 85", ""},
		{"85/100", "scored 85", ""},
		{"85 / 100.", "scored 85", ""},
		{"85 out of 100", "scored 85", ""},
		{"85%", "scored 85", ""},
		{"85 points", "scored 85", ""},
		{"**85**", "scored 85", ""},
		{`"85"`, "scored 85", ""},
		{"[[85]]", "scored 85", ""},
		{`$\boxed{85}$`, "unparsable", "plainly"},
		{`\boxed{85}`, "scored 85", ""},
		{"８５", "scored 85", ""},
		{"Score：８５／１００", "scored 85", ""},
		{"٨٥", "scored 85", ""},
		{"72.5", "scored 72.5", ""},
		{"72,5", "scored 72.5", ""},
		{".5", "scored 0.5", ""},
		{"0,25", "scored 0.25", ""},
		{"-5", "unparsable", "-5 is not on the scale"},
		{"−5", "unparsable", "-5 is not on the scale"},
		{"150", "unparsable", "not on the scale"},
		{"101%", "unparsable", "not on the scale"},
		{"85,000", "unparsable", "more than one way"},
		{"70,80", "unparsable", "more than one way"},
		{"1.2.3", "unparsable", "no number"},
		{"70-80", "unparsable", "two numbers"},
		{"70 to 80", "unparsable", "two numbers"},
		{"70, 80", "unparsable", "two numbers"},
		{"[70, 80]", "unparsable", "plainly"},
		{"70 or 80", "unparsable", "two numbers"},
		{"70 80", "unparsable", "plainly"},
		{"85 ± 5", "unparsable", "two numbers"},
		{"8 out of 10", "unparsable", "out of 10, the scale ends at 100"},
		{"8/10", "unparsable", "out of 10"},
		{"4/5 stars", "unparsable", "out of 5"},
		{"85k", "unparsable", "goes on"},
		{"1e2", "unparsable", "goes on"},
		{"85th percentile", "unparsable", "goes on"},
		{"eighty", "unparsable", "plainly"},
		{"NaN", "unparsable", "plainly"},
		{"Infinity", "unparsable", "plainly"},
		{"N/A", "unparsable", "plainly"},
		{"$85", "unparsable", "plainly"},
		{"~85", "unparsable", "plainly"},
		{"> 85", "unparsable", "plainly"},

		// prose
		{"Score: 85/100", "scored 85", ""},
		{"score = 85", "scored 85", ""},
		{"Score - 85", "scored 85", ""},
		{"**Score:** 85/100", "scored 85", ""},
		{"### Score\n85", "scored 85", ""},
		{"Score (0-100): 85", "scored 85", ""},
		{"<score>85</score>", "scored 85", ""},
		{"<reasoning>Kind, 3 times.</reasoning>\n<score>85</score>", "scored 85", ""},
		{"The score is 85.", "scored 85", ""},
		{"I would give this a score of 85.", "scored 85", ""},
		{"I'd rate this answer 85 out of 100.", "scored 85", ""},
		{"On a scale of 0 to 100, I rate it 85.", "scored 85", ""},
		{"I give it an 85", "scored 85", ""},
		{"The answer is kind and names 3 reasons.\n\nScore: 85", "scored 85", ""},
		{"The answer is kind and names 3 reasons.\n\n85", "scored 85", ""},
		{"85\n\nThe answer is kind and names 3 reasons.", "scored 85", ""},
		{"Clarity score: 80. Depth score: 60. Final score: 72", "scored 72", ""},
		{"Overall score: 85\nScore: 85", "scored 85", ""},
		{"Score: 85. The other answer would have earned 40.", "scored 85", ""},
		{"Score: 85 (confidence 90)", "scored 85", ""},
		{"Clarity score: 80.\n{\"score\": 85}", "scored 85", ""},
		{"Clarity score: 80\nDepth score: 60\nScore: 72", "scored 72", ""},
		{"Clarity score: 80", "scored 80", ""},
		{"T score: 85. Clarity score: 80", "scored 85", ""}, // the rubric is called t
		{"{\"score\": 40}\nFinal score: 60", "unparsable", "two verdicts"},
		{"Score: 85\n- 3 reasons", "scored 85", ""},
		{"Score: 85,\n3 reasons", "scored 85", ""},
		{"Score:\n85\n\nKind.", "scored 85", ""},
		{"85/100 points.", "scored 85", ""},
		{"Score: -5", "unparsable", "not on the scale"},
		{"Score: 150/100", "unparsable", "not on the scale"},
		{"Score: 8 out of 10", "unparsable", "out of 10"},
		{"Score: 70-80", "unparsable", "two numbers"},
		{"Score: 70 to 80", "unparsable", "two numbers"},
		{"Score: between 70 and 80", "unparsable", "plainly"},
		{"Score: at least 85", "unparsable", "plainly"},
		{"Score: 40\nScore: 60", "unparsable", "two verdicts"},
		{"Clarity score: 80. Depth score: 60.", "unparsable", "two verdicts"},
		{"40 for honesty, 60 for kindness", "unparsable", "plainly"},
		{"Score: 0-100", "unparsable", "two numbers"},
		{"Score: NaN", "unparsable", "plainly"},
		{"Score: eighty-five", "unparsable", "plainly"},
		{"The score is not 85.", "unparsable", "plainly"},
		{"The answer names 3 reasons.", "unparsable", "plainly"},
		{"It scores high.", "unparsable", "plainly"},

		// nothing, and refusals
		{"", "unparsable", "empty"},
		{" \n\t", "unparsable", "empty"},
		{"I'm sorry, but I can't assist with that.", "refused", "refuses"},
		{"I’m sorry, but I can’t help with judging this.", "refused", "refuses"},
		{"I cannot rate this content.", "refused", "refuses"},
		{"As an AI model, I am not able to judge this.", "refused", "refuses"},
		{"I must decline to evaluate it.", "refused", "refuses"},
		{"Unfortunately, I'm unable to provide a score for this.", "refused", "refuses"},
		{"I cannot find any fault. Score: 100", "scored 100", ""},
		{"I cannot find any fault.", "unparsable", "plainly"},
		{"I'm sorry to say that it is poor. Score: 15", "scored 15", ""},
		{"I can't assist with that. Score: 0", "unparsable", "refuses and gives a verdict"},
		{`The assistant said "I'm sorry, but I can't assist with that." Score: 85`, "scored 85", ""},
		{`{"score": 85, "reason": "I cannot find fault"}`, "scored 85", ""},
	})
}

// Other scales.
func TestReadsScoresOfOtherScales(t *testing.T) {
	holdTo(t, testRubric(t, "{form: score, min: 1, max: 10}"), []answer{
		{"8 out of 10", "scored 8", ""},
		{"Score: 8/10", "scored 8", ""},
		{"I rate it 8 (1-10)", "scored 8", ""},
		{"0", "unparsable", "not on the scale, 1 to 10"},
		{"8/100", "unparsable", "out of 100"},
		{"80%", "unparsable", "a percentage"},
	})
	holdTo(t, testRubric(t, "{form: score, min: 0, max: 1, field: p}"), []answer{
		{`{"p": 0.85}`, "scored 0.85", ""},
		{"0,85", "scored 0.85", ""},
		{"0,850", "scored 0.85", ""},
		{"85", "unparsable", "not on the scale"},
		{"85%", "unparsable", "a percentage"},
	})
	holdTo(t, testRubric(t, "{form: score, min: -5, max: 5}"), []answer{
		{"-3", "scored -3", ""},
		{"−3", "scored -3", ""},
		{"Score: -3", "scored -3", ""},
		{"+3", "scored 3", ""},
		{"-6", "unparsable", "not on the scale"},
	})
}

func TestReadsLabels(t *testing.T) {
	holdTo(t, testRubric(t, "{form: label, labels: [correct, incorrect]}"), []answer{
		{`{"label": "correct"}`, "scored correct", ""},
		{"```json\n{\"label\": \"Incorrect.\"}\n```", "scored incorrect", ""},
		{`{"label": "correct",}`, "scored correct", ""},
		{`I think: {"label": "incorrect"}`, "scored incorrect", ""},
		{`{"label": "not correct"}`, "unparsable", "none of the labels"},
		{`{"label": "partially correct"}`, "unparsable", "none of the labels"},
		{`{"label": null}`, "unparsable", "none of the labels"},
		{`{"label": "correct"} {"label": "incorrect"}`, "unparsable", "two verdicts: correct and incorrect"},
		{`{"label": "corr`, "unparsable", "does not end"},
		{"correct", "scored correct", ""},
		{"CORRECT", "scored correct", ""},
		{"**Correct.**", "scored correct", ""},
		{"ｃｏｒｒｅｃｔ", "scored correct", ""},
		{"“Incorrect”!", "scored incorrect", ""},
		{"Verdict: correct", "scored correct", ""},
		{"Label - Incorrect.", "scored incorrect", ""},
		{"<verdict>correct</verdict>", "scored correct", ""},
		{"The answer is correct.", "scored correct", ""},
		{"The model's answer is incorrect.", "scored incorrect", ""},
		{"Both come to 18.\n\nVerdict: correct, for the sum is the same.", "scored correct", ""},
		{"Both come to 18.\n\ncorrect", "scored correct", ""},
		{"Incorrect\n\nThe reference says 18.", "scored incorrect", ""},
		{"Correct. Both come to 18.", "scored correct", ""},
		{"Correct - both come to 18.", "scored correct", ""},
		{"Verdict:\ncorrect\n\nBoth come to 18.", "scored correct", ""},
		{"First verdict: correct. Final verdict: incorrect", "scored incorrect", ""},
		{"not correct", "unparsable", "plainly"},
		{"Verdict: not correct", "unparsable", "none of the labels"},
		{"The answer is not correct.", "unparsable", "plainly"},
		{"It isn't correct", "unparsable", "plainly"},
		{"Neither answer is correct.", "unparsable", "plainly"},
		{"The answer is correct in its first step.", "unparsable", "plainly"},
		{"The first step is correct, but the result is wrong.", "unparsable", "plainly"},
		{"Correct, but the result is wrong.", "unparsable", "plainly"},
		{"Correct. No, wait: the result is incorrect.", "unparsable", "speaks of incorrect"},
		{"Correct?", "unparsable", "plainly"},
		{"correct or incorrect", "unparsable", "plainly"},
		{"correct/incorrect", "unparsable", "plainly"},
		{"Verdict: correct\nVerdict: incorrect", "unparsable", "two verdicts"},
		{"right", "unparsable", "plainly"},
		{"", "unparsable", "empty"},
		{"I cannot judge this.", "refused", "refuses"},
	})
	holdTo(t, testRubric(t, "{form: label, labels: [A, B, tie]}"), []answer{
		{"A", "scored A", ""},
		{"[[B]]", "scored B", ""},
		{"Verdict: B", "scored B", ""},
		{"B. A better answer names its source.", "scored B", ""},
		{"A better answer names its source.", "unparsable", "plainly"},
		{"tie.", "scored tie", ""},
		{"A or B", "unparsable", "plainly"},
	})
	holdTo(t, testRubric(t, "{form: label, labels: [correct, partially correct]}"), []answer{
		{"Partially-correct", "scored partially correct", ""},
		{"Verdict: partially correct", "scored partially correct", ""},
		{"Correct. Partially correct at least.", "unparsable", "speaks of"},
	})
	holdTo(t, testRubric(t, "{form: label, labels: [true, false]}"), []answer{
		{`{"label": true}`, "scored true", ""},
		{"False", "scored false", ""},
	})
}

func TestReadsDocuments(t *testing.T) {
	schema := `{form: json, field: score, min: 0, max: 10, schema: {type: object, required: [score, why], properties: {score: {type: number}, why: {type: string}}, additionalProperties: false}}`
	holdTo(t, testRubric(t, schema), []answer{
		{`{"score": 7, "why": "clear"}`, "scored 7", ""},
		{"```json\n{\"score\": 7, \"why\": \"clear\",}\n```", "scored 7", ""},
		{`Such as {"a": 1}: {"score": 7, "why": "clear"}`, "scored 7", ""},
		{`{"score": 11, "why": "clear"}`, "unparsable", "not on the scale"},
		{`{"score": 7}`, "unparsable", "does not fit the schema"},
		{`{"score": "7", "why": "clear"}`, "unparsable", "/score"},
		{`{"score": 7, "why": "a"} {"score": 7, "why": "b"}`, "unparsable", "several"},
		{`{"score": 7, "why": "cl`, "unparsable", "does not end"},
		{"7", "unparsable", "schema"},
		{"Seven", "unparsable", "no JSON object"},
	})
	holdTo(t, testRubric(t, "{form: json}"), []answer{
		{`{"anything": [1]}`, "scored", ""},
		{`[1]`, "unparsable", "no object"},
	})
	holdTo(t, testRubric(t, "{form: json, field: kind, labels: [joke, fact]}"), []answer{
		{`{"kind": "Joke"}`, "scored joke", ""},
		{`{"kind": "poem"}`, "unparsable", "none of the labels"},
		{`{"other": 1}`, "unparsable", "no field kind"},
	})
}

// ended is a Message of one text block.
func ended(stop, text string) json.RawMessage {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return json.RawMessage(fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%s}],"stop_reason":%q,"usage":{}}`, quoted, stop))
}

// facts/peer-faults.md 25: a judge's answer was cut by max_tokens and scored 0.
func TestPeerFault25TruncatedIsNeverAScore(t *testing.T) {
	r := testRubric(t, "{form: score}")
	for _, text := range []string{"", `{"score": 8`, `{"score": 85}`, "85", "Score: 85", "I cannot"} {
		for _, stop := range []string{"max_tokens", "model_context_window_exceeded"} {
			g := r.Read(ended(stop, text))
			if g.Status != Truncated || g.Score != nil || g.Label != nil || g.Raw != text {
				t.Errorf("%q cut by %s: %+v", text, stop, g)
			}
		}
	}
	if g := r.Read(ended("end_turn", `{"score": 85}`)); reads(g) != "scored 85" {
		t.Errorf("the whole answer is %s", reads(g))
	}
}

func TestReadsMessages(t *testing.T) {
	r := testRubric(t, "{form: score}")
	for _, c := range []struct{ msg, want, why string }{
		{string(ended("end_turn", "85")), "scored 85", ""},
		{string(ended("stop_sequence", "85")), "scored 85", ""},
		{string(ended("refusal", "85")), "refused", "stop_reason refusal"},
		{`{"type":"message","content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio"}}`, "refused", "(bio)"},
		{string(ended("pause_turn", "85")), "unparsable", "paused"},
		{`{"type":"message","content":[],"stop_reason":"end_turn"}`, "unparsable", "empty"},
		{`{"type":"message","content":[{"type":"thinking","thinking":"Score: 3"},{"type":"text","text":"8"},{"type":"text","text":"5"}],"stop_reason":"end_turn"}`, "scored 85", ""},
		{`{"type":"message","content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"t","name":"verdict","input":{"score":85}}],"stop_reason":"tool_use"}`, "scored 85", ""},
		{`{"type":"error","error":{}}`, "failed", "no Message"},
		{`{"type":"mess`, "failed", "no JSON"},
		{`85`, "failed", "no Message"},
		{``, "failed", "no JSON"},
	} {
		g := r.Read(json.RawMessage(c.msg))
		if reads(g) != c.want || !strings.Contains(g.Why, c.why) {
			t.Errorf("%s is %s (%s), want %s (%s)", c.msg, reads(g), g.Why, c.want, c.why)
		}
	}
}
