package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/job/sample"
	"github.com/flotilla-llm/flotilla/internal/judge"
)

// verdictOf is what tests read of a line of verdicts.
type verdictOf struct {
	ID      string `json:"custom_id"`
	Verdict struct {
		Status, Raw, Why, Rubric, Model string
		Score                           *float64
		Label                           *string
		Attempts, Repeat                int
		Swapped                         bool
	}
	Flotilla struct {
		Tier string
		Cost json.Number `json:"cost_usd"`
	}
}

// key tells the lines of a job apart (interface.md, "Judge line").
func (v *verdictOf) key() string {
	return fmt.Sprint(v.ID, " ", v.Verdict.Rubric, " ", v.Verdict.Model, " ", v.Verdict.Repeat, " ", v.Verdict.Swapped)
}

// verdicts reads OUT, each line whole and no two of one key.
func (w *world) verdicts() map[string]verdictOf {
	w.t.Helper()
	text, err := os.ReadFile(w.path("out.jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]verdictOf{}
	for line := range strings.Lines(string(text)) {
		var v verdictOf
		if err := json.Unmarshal([]byte(line), &v); err != nil || !strings.HasSuffix(line, "\n") {
			w.t.Fatalf("%q: %v", line, err)
		}
		if _, twice := out[v.key()]; twice {
			w.t.Errorf("%s stands twice", v.key())
		}
		out[v.key()] = v
	}
	return out
}

// judged is the judge's part of the summary.
func (w *world) judged() (s judge.Summary) {
	w.t.Helper()
	if err := json.Unmarshal(w.summary().Judge, &s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// judgeArgs are args for judge.
func (w *world) judgeArgs(inputs string, more ...string) []string {
	args := w.args(inputs, more...)
	args[0] = "judge"
	return args
}

// scoreRubric asks for a number that its prompt holds already.
const scoreRubric = `name: echo
version: "1"
model: claude-haiku-4-5
max_tokens: 40
prompt: "Repeat number {{.n}} of {{.topic}}: {{.completion}}"
verdict: {form: score, min: 0, max: 100}
`

// echoes makes a scenario answer each row by its own number, whatever went wrong
// with an answer before.
func echoes(trouble emulator.AnswerRule) func(*emulator.Scenario) {
	return func(sc *emulator.Scenario) {
		trouble.Match, trouble.First, trouble.Template = `Repeat number ([0-9]+) of`, true, `I give it a score of {"score": $1}, all in all.`
		sc.Answers = []emulator.AnswerRule{trouble}
	}
}

// echoRows writes in.jsonl and the rubric.
func (w *world) echoRows(n int) {
	w.t.Helper()
	var rows bytes.Buffer
	for i := range n {
		fmt.Fprintf(&rows, "{\"id\":\"r/%d\",\"n\":%d,\"topic\":\"t%d\",\"completion\":\"text %d\"}\n", i, i*7%101, i%3, i)
	}
	for name, text := range map[string]string{"in.jsonl": rows.String(), "echo.yaml": scoreRubric} {
		if err := os.WriteFile(w.path(name), []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestJudgeFaultsLeaveScores is facts/peer-faults.md 25 and 26: with overloads, cut
// streams, cut answers, refusals and unparsable ones, whatever is scored is scored
// as in a run without them, and every row is counted.
func TestJudgeFaultsLeaveScores(t *testing.T) {
	t.Parallel()
	const n = 900
	clean := newWorldOf(t, "steady", 20, echoes(emulator.AnswerRule{}))
	clean.echoRows(n)
	clean.run(0, clean.judgeArgs(clean.path("in.jsonl"), "--rubric", clean.path("echo.yaml"), "--by", "topic", "--tier", "sync"))
	want := clean.verdicts()
	if c := clean.judged().Judges[0].Total.Counts; c.Scored != n || c.Total() != n || len(want) != n {
		t.Fatalf("the clean run: %+v, %d lines", c, len(want))
	}

	w := newWorldOf(t, "steady", 20, echoes(emulator.AnswerRule{Refuse: 0.05, Cut: 0.05, Prose: 0.05}))
	w.echoRows(n)
	for _, fault := range []string{
		`{"path":"/v1/messages","share":0.05,"kind":"status","status":529}`,
		`{"path":"/v1/messages","share":0.02,"kind":"truncate"}`,
		`{"path":"/v1/messages","share":0.01,"kind":"drop_after"}`,
	} {
		if err := postJSON(w.url+"/emulator/faults", fault); err != nil {
			t.Fatal(err)
		}
	}
	_, stderr := w.run(0, w.judgeArgs(w.path("in.jsonl"), "--rubric", w.path("echo.yaml"), "--by", "topic", "--tier", "sync", "--stream", "on", "--retry-budget", "5000", "--max-attempts", "9"))
	got := w.verdicts()
	if len(got) != n {
		t.Fatalf("%d lines, want %d", len(got), n)
	}
	counts, attempts := map[string]int{}, map[int]int{}
	sum, wantSum := 0.0, 0.0
	for key, v := range got {
		counts[v.Verdict.Status]++
		attempts[v.Verdict.Attempts]++
		if v.Verdict.Status != judge.Scored {
			if v.Verdict.Score != nil || v.Verdict.Why == "" {
				t.Errorf("%s is %s with score %v, why %q", key, v.Verdict.Status, v.Verdict.Score, v.Verdict.Why)
			}
			continue
		}
		if *v.Verdict.Score != *want[key].Verdict.Score {
			t.Errorf("%s has %v, want %v", key, *v.Verdict.Score, *want[key].Verdict.Score)
		}
		sum, wantSum = sum+*v.Verdict.Score, wantSum+*want[key].Verdict.Score
	}
	total := w.judged().Judges[0].Total
	c := total.Counts
	if c.Total() != n || c.Scored != counts[judge.Scored] || c.Refused != counts[judge.Refused] || c.Truncated != counts[judge.Truncated] || c.Unparsable != counts[judge.Unparsable] || c.Failed != 0 {
		t.Errorf("the summary counts %+v, the lines %v", c, counts)
	}
	if mean := sum / float64(counts[judge.Scored]); math.Abs(mean-total.Mean.Value) > 1e-9 || sum != wantSum {
		t.Errorf("mean %v, the lines say %v; sums %v and %v", total.Mean.Value, mean, sum, wantSum)
	}
	t.Logf("%d rows: %v, by requests to the judge %v", n, counts, attempts)
	if counts[judge.Refused] < n/50 || attempts[2] < n/20 || attempts[3] > n/50 || attempts[4] > 0 {
		t.Errorf("statuses %v, attempts %v: the faults did not come", counts, attempts)
	}
	if counts[judge.Truncated]+counts[judge.Unparsable] > n/50 {
		t.Errorf("%v: the second question mended too little", counts)
	}
	for _, words := range []string{"refused", "unparsable", "truncated", "topic", "t0", "--retry "} {
		if !strings.Contains(stderr, words) {
			t.Errorf("the summary does not say %q:\n%s", words, stderr)
		}
	}
	if billed := fmt.Sprint(w.stats()["billed_usd"]); w.summary().InDoubt == 0 && w.summary().CostUSD.Exact() != billed {
		t.Errorf("cost %s, billed %s", w.summary().CostUSD.Exact(), billed)
	}
}

// TestJudgeSolutions is gsm8k-solutions by correctness: agreement with the rows'
// own labels is what a table made by hand says.
func TestJudgeSolutions(t *testing.T) {
	t.Parallel()
	input := sample.Path(t, sample.Solutions)
	w := newWorldOf(t, "steady", 20, func(sc *emulator.Scenario) {
		sc.Answers = []emulator.AnswerRule{
			{Match: `[0-4]\s*</completion>`, Template: `{"label": "correct"}`},
			{Match: `.`, Template: `{"label": "incorrect"}`},
		}
	})
	w.run(0, w.judgeArgs(input, "--rubric", "correctness", "--label", "correct", "--model", "claude-haiku-4-5", "--tier", "sync"))
	text, err := os.ReadFile(input)
	if err != nil {
		t.Fatal(err)
	}
	says := regexp.MustCompile(`[0-4]\s*$`)
	var table [2][2]int // truth, verdict; correct first
	rows, verdicts := 0, w.verdicts()
	for line := range strings.Lines(string(text)) {
		var row struct {
			ID, Completion string
			Correct        bool
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows++
		at := func(yes bool) int {
			if yes {
				return 0
			}
			return 1
		}
		said := at(says.MatchString(row.Completion))
		table[at(row.Correct)][said]++
		v := verdicts[row.ID+" correctness claude-haiku-4-5 0 false"].Verdict
		if v.Label == nil || *v.Label != []string{"correct", "incorrect"}[said] {
			t.Fatalf("%s: %+v, want %d", row.ID, v, said)
		}
	}
	a := w.judged().Judges[0].Agreement
	if a == nil || a.Confusion == nil {
		t.Fatalf("%+v", a)
	}
	if got := fmt.Sprint(a.Confusion.Counts); got != fmt.Sprint(table) {
		t.Errorf("confusion %s, want %v", got, table)
	}
	agree := float64(table[0][0]+table[1][1]) / float64(rows)
	chance := 0.0
	for i := range 2 {
		chance += float64(table[i][0]+table[i][1]) / float64(rows) * float64(table[0][i]+table[1][i]) / float64(rows)
	}
	kappa := (agree - chance) / (1 - chance)
	if math.Abs(a.Accuracy.Value-agree) > 1e-12 || math.Abs(*a.Kappa-kappa) > 1e-12 {
		t.Errorf("accuracy %v, kappa %v; want %v, %v", a.Accuracy.Value, *a.Kappa, agree, kappa)
	}
}

// TestJudgeAfterRun judges what run wrote, by every kind of file: rows that run
// left cut, refused or without an answer keep that status, and no judge is asked.
func TestJudgeAfterRun(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"gen.jsonl", "gen.jsonl.gz", "gen.csv", "gen.parquet"} {
		w := newWorldOf(t, "steady", 20, func(sc *emulator.Scenario) {
			sc.Answers = []emulator.AnswerRule{
				{Match: `^cut`, Template: strings.Repeat("word ", 40), Cut: 1},
				{Match: `^refuse`, Refuse: 1},
				{Match: `^plain ([0-9]+)`, Template: "plain answer $1"},
				{Match: `plain answer ([0-9]+)`, Template: "Score: $1/10"},
			}
		})
		var rows bytes.Buffer
		for i, q := range []string{"plain 7", "cut it", "refuse it", "plain 3", "fail it"} {
			model := "claude-haiku-4-5"
			fmt.Fprintf(&rows, "{\"id\":\"q%d\",\"question\":%q,\"topic\":\"t%d\",\"kind\":%q}\n", i, q, i%2, model)
		}
		rubric := "name: mine\nversion: \"1\"\nmodel: claude-haiku-4-5\nprompt: 'Of {{.question}}: {{.completion}}'\nverdict: {form: score, min: 0, max: 10}\n"
		for name, text := range map[string]string{"in.jsonl": rows.String(), "mine.yaml": rubric} {
			if err := os.WriteFile(w.path(name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		run := w.args(w.path("in.jsonl"), "--prompt", "{{.question}}", "--model", "claude-haiku-4-5", "--max-tokens", "100", "--keep", "all", "--max-attempts", "1")
		run[slices.Index(run, "-o")+1] = w.path(form)
		w.run(0, append(slices.Clone(run), "--limit", "4"))
		if err := postJSON(w.url+"/emulator/faults", `{"path":"/v1/messages","kind":"status","status":400,"count":1,"body":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"}}"}`); err != nil {
			t.Fatal(err)
		}
		w.run(2, run)
		before := number(t, w.stats()["requests"])
		w.run(2, w.judgeArgs(w.path(form), "--rubric", w.path("mine.yaml"), "--by", "topic"))
		if n := number(t, w.stats()["requests"]) - before; n != 2 {
			t.Errorf("%s: %d calls to judges, want 2", form, n)
		}
		want := map[string]string{"q0": "scored 7 1", "q1": "truncated - 0", "q2": "refused - 0", "q3": "scored 3 1", "q4": "failed - 0"}
		for _, v := range w.verdicts() {
			score := "-"
			if v.Verdict.Score != nil {
				score = fmt.Sprint(*v.Verdict.Score)
			}
			if got := fmt.Sprint(v.Verdict.Status, " ", score, " ", v.Verdict.Attempts); got != want[v.ID] {
				t.Errorf("%s %s: %s, want %s (%s)", form, v.ID, got, want[v.ID], v.Verdict.Why)
			}
			delete(want, v.ID)
		}
		if len(want) > 0 {
			t.Errorf("%s: no line of %v", form, want)
		}
		if c := w.judged().Judges[0].Total.Counts; c != (judge.Counts{Scored: 2, Truncated: 1, Refused: 1, Failed: 1}) {
			t.Errorf("%s: %+v", form, c)
		}
		w.run(2, w.judgeArgs(w.path(form), "--rubric", w.path("mine.yaml"), "--retry", "truncated,refused,errored"))
		if n := number(t, w.stats()["requests"]) - before; n != 2 {
			t.Errorf("%s: --retry asked judges about rows without completions: %d calls", form, n)
		}
	}
}
