package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/price"
)

func panelOf(t testing.TB, s Settings) *Panel {
	t.Helper()
	p, err := NewPanel(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func said(text, stop string) []byte {
	m, err := json.Marshal(map[string]any{
		"type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "stop_reason": stop,
		"content": []map[string]string{{"type": "text", "text": text}}, "usage": map[string]int{"input_tokens": 9, "output_tokens": 3},
	})
	if err != nil {
		panic(err)
	}
	return m
}

// A verdict's line has the members of interface.md, "Judge line", in their order.
func TestVerdictMember(t *testing.T) {
	r := testRubric(t, "{form: score}")
	p := panelOf(t, Settings{Rubrics: []*Rubric{r}})
	for _, c := range []struct {
		d    job.Done
		want string
	}{
		{
			job.Done{Answer: &job.Answer{Outcome: job.Succeeded, Body: said("Score: 72", "end_turn")}},
			`{"status":"scored","score":72,"label":null,"raw":"Score: 72","rubric":"t","rubric_version":"1","rubric_sha256":"HASH","model":"claude-sonnet-4-6","params":{},"attempts":1,"repeat":0}`,
		},
		{
			job.Done{Answer: &job.Answer{Outcome: job.Succeeded, Body: said("7 <or> so", "max_tokens")}, Tried: []string{"unparsable", "truncated"}, Repeat: 2},
			`{"status":"truncated","score":null,"label":null,"raw":"7 <or> so","why":"cut: stop_reason max_tokens","rubric":"t","rubric_version":"1","rubric_sha256":"HASH","model":"claude-sonnet-4-6","params":{},"attempts":3,"repeat":2}`,
		},
		{
			job.Done{Answer: &job.Answer{Outcome: job.Errored, Body: []byte(`{"type":"error","error":{"type":"api_error","message":"no"}}`)}},
			`{"status":"failed","score":null,"label":null,"raw":"","why":"api_error: no","rubric":"t","rubric_version":"1","rubric_sha256":"HASH","model":"claude-sonnet-4-6","params":{},"attempts":1,"repeat":0}`,
		},
		{
			job.Done{Answer: &job.Answer{Outcome: job.Succeeded, StopReason: "refusal", Body: toldMessage("m", "refusal")}, Told: true},
			`{"status":"refused","score":null,"label":null,"raw":"","why":"the row's completion is refused: stop_reason refusal","rubric":"t","rubric_version":"1","rubric_sha256":"HASH","model":"claude-sonnet-4-6","params":{},"attempts":0,"repeat":0}`,
		},
	} {
		got, err := p.AppendMember(nil, &c.d)
		if err != nil {
			t.Fatal(err)
		}
		if want := `"verdict":` + strings.ReplaceAll(c.want, "HASH", r.SHA256); string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		w, ok := p.Whose([]byte("{" + string(got) + "}"))
		if want := (job.Whose{Repeat: c.d.Repeat, Failed: c.d.Answer.Outcome != job.Succeeded}); !ok || w != want {
			t.Errorf("%s is of %+v, %v; want %+v", got, w, ok, want)
		}
	}
}

// A line is of the judge that it names, and of none where any of that differs.
func TestWhose(t *testing.T) {
	a, b := testRubric(t, "{form: score}"), testRubric(t, "{form: label, labels: [first, second]}")
	b.Name, b.Pair = "u", nil
	p := panelOf(t, Settings{Rubrics: []*Rubric{a, b}, Models: []string{"claude-haiku-4-5", "claude-sonnet-4-6"}})
	if p.Asks() != 4 {
		t.Fatalf("%d asks", p.Asks())
	}
	for ask := range 4 {
		line, err := p.AppendMember(nil, &job.Done{Ask: ask, Answer: &job.Answer{Outcome: job.Succeeded, Body: said("?", "end_turn")}})
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := p.Whose([]byte("{" + string(line) + "}")); !ok || w.Ask != ask {
			t.Errorf("%s is of %+v, %v; want %d", line, w, ok, ask)
		}
		for _, other := range [][2]string{{`"model":"claude`, `"model":"gpt`}, {`"rubric":"`, `"rubric":"x`}, {a.SHA256, "00"}, {b.SHA256, "00"}, {`"repeat":0`, `"repeat":0,"swapped":true`}} {
			changed := strings.Replace(string(line), other[0], other[1], 1)
			if _, ok := p.Whose([]byte("{" + changed + "}")); ok && changed != string(line) {
				t.Errorf("%s is ours", changed)
			}
		}
	}
}

const askedOnce = `{"model":"claude-sonnet-4-6","max_tokens":256,"messages":[{"role":"user","content":"How good?"}],"stop_sequences":["x"]}`

// Cut answers get twice the room and unparsable ones a corrective turn, once each
// (facts/peer-faults.md 25); nothing else of the body changes.
func TestAgain(t *testing.T) {
	p := panelOf(t, Settings{Rubrics: []*Rubric{testRubric(t, "{form: score, min: 1, max: 5}")}})
	for _, c := range []struct {
		name   string
		answer []byte
		tried  []string
		why    string
		want   string // of the next body; empty: none
	}{
		{"scored", said("4", "end_turn"), nil, "scored", ""},
		{"cut", said("4 bec", "max_tokens"), nil, "truncated", strings.Replace(askedOnce, "256", "512", 1)},
		{"cut twice", said("4 bec", "max_tokens"), []string{"truncated"}, "", ""},
		{"cut by the window", said("4 bec", "model_context_window_exceeded"), nil, "truncated", ""},
		{"refused", said("no", "refusal"), nil, "refused", ""},
		{"unparsable", said(" four <or> five\n", "end_turn"), nil, "unparsable", strings.Replace(askedOnce, `?"}]`, `?"},{"role":"assistant","content":"four <or> five"},{"role":"user","content":"That answer could not be read as a verdict. Give your verdict again, alone, with nothing before or after it: {\"score\": a number from 1 to 5}"}]`, 1)},
		{"unparsable after a cut", said("four or five", "end_turn"), []string{"truncated"}, "unparsable", strings.Replace(askedOnce, `?"}]`, `?"},{"role":"assistant","content":"four or five"},{"role":"user","content":"That answer could not be read as a verdict. Give your verdict again, alone, with nothing before or after it: {\"score\": a number from 1 to 5}"}]`, 1)},
		{"unparsable twice", said("four or five", "end_turn"), []string{"unparsable"}, "", ""},
		{"empty", said(" ", "end_turn"), nil, "unparsable", strings.Replace(askedOnce, `?"}]`, `?"},{"role":"user","content":"That answer could not be read as a verdict. Give your verdict again, alone, with nothing before or after it: {\"score\": a number from 1 to 5}"}]`, 1)},
	} {
		next, why, err := p.Again(0, []byte(askedOnce), c.answer, c.tried)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if next != nil {
			if err := json.Unmarshal(next, &got); err != nil {
				t.Fatal(err)
			}
			if why != c.why {
				t.Errorf("%s: why %q, want %q", c.name, why, c.why)
			}
		}
		if c.want != "" {
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
}

// The room ends where the model's does.
func TestAgainWithinTheModel(t *testing.T) {
	p := panelOf(t, Settings{Rubrics: []*Rubric{testRubric(t, "{form: score}")}})
	m, _ := price.Published().Lookup("claude-sonnet-4-6")
	for room, want := range map[int64]int64{m.MaxOutput - 1: m.MaxOutput, m.MaxOutput: 0, 100: 200} {
		body, err := json.Marshal(map[string]any{"max_tokens": room})
		if err != nil {
			t.Fatal(err)
		}
		next, _, err := p.Again(0, body, said("1", "max_tokens"), nil)
		if got := gjson.GetBytes(next, "max_tokens").Int(); err != nil || got != want {
			t.Errorf("room %d becomes %d, want %d (%v)", room, got, want, err)
		}
	}
}

// What makes requests makes another job; groups, labels and draws do not.
func TestPanelIdentity(t *testing.T) {
	r := testRubric(t, "{form: label, labels: [first, second]}")
	r.Pair = &Pair{Fields: [2]string{"a", "b"}, Labels: [2]string{"first", "second"}}
	edited := testRubric(t, "{form: label, labels: [first, other]}")
	base := Settings{Rubrics: []*Rubric{r}}
	same := []Settings{
		{Rubrics: []*Rubric{r}, By: "topic"},
		{Rubrics: []*Rubric{r}, Label: "truth", Draw: Bootstrap{Seed: 7}},
		{Rubrics: []*Rubric{r}, Models: []string{"claude-sonnet-4-6"}},
	}
	other := []Settings{
		{Rubrics: []*Rubric{edited}},
		{Rubrics: []*Rubric{r}, Models: []string{"claude-haiku-4-5"}},
		{Rubrics: []*Rubric{r}, Models: []string{"claude-haiku-4-5", "claude-sonnet-4-6"}},
		{Rubrics: []*Rubric{r}, Params: `{"temperature":0}`},
		{Rubrics: []*Rubric{r}, MaxTokens: 99},
		{Rubrics: []*Rubric{r}, Fields: map[string]string{"completion": "answer"}},
		{Rubrics: []*Rubric{r}, Swap: true},
	}
	want := string(panelOf(t, base).Identity())
	seen := map[string]bool{want: true}
	for i, s := range same {
		if string(panelOf(t, s).Identity()) != want {
			t.Errorf("same %d makes another job", i)
		}
	}
	for i, s := range other {
		id := string(panelOf(t, s).Identity())
		if seen[id] {
			t.Errorf("other %d makes a job that there is", i)
		}
		seen[id] = true
	}
}

// A panel is made again from what a journal keeps of it, but for secrets.
func TestPanelKept(t *testing.T) {
	r, err := Load("preference")
	if err != nil {
		t.Fatal(err)
	}
	p := panelOf(t, Settings{
		Rubrics: []*Rubric{r}, Models: []string{"claude-haiku-4-5", "claude-sonnet-4-6"}, MaxTokens: 50, Swap: true, By: "topic", Label: "truth",
		Fields: map[string]string{"a": "left"}, Params: `{"temperature":0}`,
	})
	again, err := Open(p.Kept(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.Identity(), p.Identity()) || again.set.By != "topic" || again.set.Label != "truth" || string(again.Kept()) != string(p.Kept()) {
		t.Errorf("it is another: %s", again.Kept())
	}
	secret := panelOf(t, Settings{Rubrics: []*Rubric{r}, Params: `{"mcp_servers":[{"authorization_token":"s3cret"}],"temperature":0}`})
	line, err := secret.AppendMember(nil, &job.Done{Answer: &job.Answer{Outcome: job.Succeeded, Body: said("x", "end_turn")}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(secret.Kept())+string(line), "s3cret") {
		t.Error("a secret is kept")
	}
	if _, err := Open(json.RawMessage(`{"format":99}`), nil); err == nil {
		t.Error("a format of the future was read")
	}
}

// --params and --max-tokens win over the rubric's, and lines name both.
func TestPanelParams(t *testing.T) {
	r := testRubric(t, "{form: score}")
	r.Params = json.RawMessage(`{"temperature":0.5,"stop_sequences":["x"]}`)
	p := panelOf(t, Settings{Rubrics: []*Rubric{r}, Params: `{"temperature":0}`, MaxTokens: 77})
	body, err := p.judges[0].bodies.Append(nil, []byte(`{"completion":"c"}`))
	if err != nil {
		t.Fatal(err)
	}
	v := gjson.ParseBytes(body)
	if v.Get("max_tokens").Int() != 77 || v.Get("temperature").Raw != "0" || v.Get("stop_sequences.0").Str != "x" {
		t.Errorf("%s", body)
	}
	if got := string(p.judges[0].params); got != `{"max_tokens":77,"stop_sequences":["x"],"temperature":0}` {
		t.Errorf("lines say %s", got)
	}
	if string(r.Params) != `{"temperature":0.5,"stop_sequences":["x"]}` || r.MaxTokens == 77 {
		t.Error("the rubric itself was changed")
	}
	if _, err := NewPanel(Settings{Rubrics: []*Rubric{r}, Models: []string{"claude-haiku-4-5"}, Params: `{"model":"claude-opus-4-8"}`}); err == nil || !strings.Contains(err.Error(), "params has model") {
		t.Errorf("a line could name another model than the judge: %v", err)
	}
}

// A run that goes on begins with the answers that were asked for anew: that they
// have no verdict says nothing of the judge.
func TestWarnOfNoVerdictsHearsNewAnswers(t *testing.T) {
	for _, kept := range []bool{false, true} {
		warned := 0
		p := panelOf(t, Settings{Rubrics: []*Rubric{testRubric(t, "{form: score}")}, Warn: func(string) { warned++ }})
		for i := range int64(firstAnswers) {
			a := &job.Answer{Outcome: job.Succeeded, Body: said("words", "end_turn")}
			if kept {
				a.At = i + 1
			}
			p.Kind(0, a)
		}
		if want := map[bool]int{false: 1, true: 0}[kept]; warned != want {
			t.Errorf("kept %v: %d warnings, want %d", kept, warned, want)
		}
	}
}

// A --field for a name that no rubric has would change nothing, silently.
func TestFieldThatNoRubricUses(t *testing.T) {
	_, err := NewPanel(Settings{Rubrics: []*Rubric{testRubric(t, "{form: score}")}, Fields: map[string]string{"compeltion": "answer"}})
	if err == nil || !strings.Contains(err.Error(), "--field compeltion=answer: no rubric uses {{.compeltion}}") {
		t.Error(err)
	}
}
