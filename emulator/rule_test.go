package emulator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// said is what a Message says.
type said struct {
	Content []struct{ Text string }
	Stop    string `json:"stop_reason"`
	Usage   struct {
		Output int64 `json:"output_tokens"`
	}
}

func answerTo(t *testing.T, url, prompt string, maxTokens int) said {
	t.Helper()
	body := fmt.Sprintf(`{"model":"claude-haiku-4-5","max_tokens":%d,"messages":[{"role":"user","content":%q}]}`, maxTokens, prompt)
	res, b := ask{body: body}.do(t, url)
	var m said
	if err := json.Unmarshal(b, &m); err != nil || res.StatusCode != 200 {
		t.Fatalf("%d %s: %v", res.StatusCode, b, err)
	}
	return m
}

func TestAnswerRules(t *testing.T) {
	sc := unlimited()
	sc.Name = "rules"
	sc.Answers = []AnswerRule{
		{Match: `name is (\w+)`, Template: "Hello $1, ünïcode."},
		{Match: "score", Template: `{"score": {{int 3 5}}, "label": "{{pick "yes" "no"}}"}`},
		{Match: "refuse", Refuse: 1},
		{Match: "cut", Template: strings.Repeat("word ", 40), Cut: 1},
		{Match: "prose", Template: `{"score": 1}`, Prose: 1},
		{Match: `began with (\w+)`, First: true, Template: "It began with $1."},
	}
	_, url := serve(t, Options{Scenario: sc})
	if m := answerTo(t, url, "my name is Ann", 100); m.Content[0].Text != "Hello Ann, ünïcode." || m.Stop != "end_turn" {
		t.Errorf("%+v", m)
	}
	body := `{"model":"claude-haiku-4-5","max_tokens":50,"messages":[{"role":"user","content":"it began with ink"},{"role":"assistant","content":"so"},{"role":"user","content":"again"}]}`
	if _, b := (ask{body: body}).do(t, url); !strings.Contains(string(b), "It began with ink.") {
		t.Errorf("a rule on the first message: %s", b)
	}
	if m := answerTo(t, url, "my name is Ann", 2); m.Stop != "max_tokens" || !strings.HasPrefix("Hello Ann, ünïcode.", m.Content[0].Text) || m.Usage.Output != 2 {
		t.Errorf("cut at max_tokens: %+v", m)
	}
	scores, labels := map[int]bool{}, map[string]bool{}
	for i := range 40 {
		var v struct {
			Score int
			Label string
		}
		if err := json.Unmarshal([]byte(answerTo(t, url, fmt.Sprint("score ", i), 100).Content[0].Text), &v); err != nil {
			t.Fatal(err)
		}
		scores[v.Score], labels[v.Label] = true, true
	}
	if len(scores) != 3 || len(labels) != 2 || !scores[3] || !scores[5] || !labels["yes"] {
		t.Errorf("scores %v, labels %v", scores, labels)
	}
	if m := answerTo(t, url, "refuse this", 100); m.Stop != "refusal" {
		t.Errorf("%+v", m)
	}
	if m := answerTo(t, url, "cut this", 100); m.Stop != "max_tokens" || m.Usage.Output > 30 {
		t.Errorf("%+v", m)
	}
	if m := answerTo(t, url, "prose please", 100); strings.Contains(m.Content[0].Text, "score") || m.Stop != "end_turn" {
		t.Errorf("%+v", m)
	}
	if m := answerTo(t, url, "anything else", 100); m.Content[0].Text == "" {
		t.Errorf("%+v", m)
	}
}

func TestBadAnswerTemplate(t *testing.T) {
	sc := unlimited()
	sc.Answers = []AnswerRule{{Match: "x", Template: "{{nonsense}}"}}
	if _, err := New(Options{Scenario: sc}); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error %v", err)
	}
}

// The parts of a text are whole characters and make up the text.
func TestParts(t *testing.T) {
	for _, s := range []string{"", "a", "äöü漢字🙂", strings.Repeat("漢", 50)} {
		for n := int64(1); n <= 12; n++ {
			all := ""
			for i := range n {
				p := part(s, i, n)
				if !json.Valid(appendString(nil, p)) || strings.ToValidUTF8(p, "?") != p {
					t.Errorf("part %d of %d of %q is %q", i, n, s, p)
				}
				all += p
			}
			if all != s {
				t.Errorf("%d parts of %q make %q", n, s, all)
			}
		}
	}
}
