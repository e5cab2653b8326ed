package emulator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

const weatherTools = `"tools":[{"name":"other","input_schema":{"type":"object"}},{"name":"weather","input_schema":{"type":"object",
	"properties":{"city":{"type":"string","enum":["Basel","Rome"]},"days":{"type":"integer","minimum":3},"a.b":{"type":["boolean","null"]},"left":{"type":"string"}},
	"required":["days","city","a.b"]}}]`

func askTool(choice, more string) string {
	return with(`{"model":"claude-haiku-4-5","max_tokens":200,"messages":[{"role":"user","content":"weather in Rome"}]}`, weatherTools+choice+more)
}

// A tool that is forced is called with what its schema requires, in both forms
// alike; "auto" answers in words (facts/claude-api.md 1.5).
func TestForcedToolIsCalled(t *testing.T) {
	_, url := serve(t, Options{Seed: 7})
	_, other := serve(t, Options{Seed: 7})
	for _, c := range []struct{ choice, name, input string }{
		{`,"tool_choice":{"type":"tool","name":"weather"}`, "weather", `{"days":3,"city":"Basel","a.b":true}`},
		{`,"tool_choice":{"type":"any"}`, "other", `{}`},
	} {
		_, body := ask{body: askTool(c.choice, "")}.do(t, url)
		b := gjson.GetBytes(body, "content.0")
		if b.Get("type").Str != "tool_use" || b.Get("name").Str != c.name || b.Get("input").Raw != c.input || !strings.HasPrefix(b.Get("id").Str, "toolu_01") {
			t.Errorf("%s: %s", c.choice, body)
		}
		if gjson.GetBytes(body, "stop_reason").Str != "tool_use" {
			t.Errorf("%s: %s", c.choice, body)
		}
		_, text := ask{body: askTool(c.choice, `,"stream":true`)}.do(t, other)
		var input strings.Builder
		for _, e := range readEvents(t, string(text)) {
			raw, err := json.Marshal(e.data)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case e.name == "content_block_start" && gjson.GetBytes(raw, "content_block.id").Str != b.Get("id").Str:
				t.Errorf("%s starts %s", c.choice, raw)
			case e.name == "message_delta" && gjson.GetBytes(raw, "delta.stop_reason").Str != "tool_use":
				t.Errorf("%s ends %s", c.choice, raw)
			}
			input.WriteString(gjson.GetBytes(raw, "delta.partial_json").Str)
		}
		if input.String() != c.input {
			t.Errorf("%s streams %q", c.choice, input.String())
		}
	}
	if _, body := (ask{body: askTool(`,"tool_choice":{"type":"auto"}`, "")}).do(t, url); gjson.GetBytes(body, "content.0.type").Str != "text" {
		t.Errorf("auto: %s", body)
	}
	if _, body := (ask{body: strings.Replace(askTool(`,"tool_choice":{"type":"any"}`, ""), "200", "5", 1)}).do(t, url); gjson.GetBytes(body, "stop_reason").Str != "max_tokens" || gjson.GetBytes(body, "content.0.input").Raw != "{}" || gjson.GetBytes(body, "usage.output_tokens").Int() != 5 {
		t.Errorf("cut: %s", body)
	}
}

// A rule calls a tool that the request has, and answers in words where it has
// not or may not.
func TestRuleCallsTool(t *testing.T) {
	sc := unlimited()
	sc.Name = "rules"
	sc.Answers = []AnswerRule{{Match: `weather in (\w+)`, Tool: "weather", Template: `{"city":"$1"}`}}
	_, url := serve(t, Options{Scenario: sc})
	for _, c := range []struct {
		body string
		want string
	}{
		{askTool("", ""), "tool_use"},
		{askTool(`,"tool_choice":{"type":"none"}`, ""), "text"},
		{`{"model":"claude-haiku-4-5","max_tokens":200,"messages":[{"role":"user","content":"weather in Rome"}]}`, "text"},
	} {
		_, body := ask{body: c.body}.do(t, url)
		b := gjson.GetBytes(body, "content.0")
		if b.Get("type").Str != c.want || !strings.Contains(b.Raw, "Rome") {
			t.Errorf("%s: %s", c.body, body)
		}
	}
}

// An answer ends before a stop sequence and names it; its tokens are those up
// to there (facts/claude-api.md 1.2).
func TestStopSequences(t *testing.T) {
	sc := unlimited()
	sc.Name = "rules"
	sc.Answers = []AnswerRule{{Match: "count", Template: "one two STOP three"}, {Match: "at once", Template: "STOP"}}
	_, url := serve(t, Options{Scenario: sc})
	say := func(prompt, stops string) gjson.Result {
		_, body := ask{body: fmt.Sprintf(`{"model":"claude-haiku-4-5","max_tokens":200,"stop_sequences":%s,"messages":[{"role":"user","content":%q}]}`, stops, prompt)}.do(t, url)
		return gjson.ParseBytes(body)
	}
	m := say("count", `["three","STOP"]`)
	if m.Get("content.0.text").Str != "one two " || m.Get("stop_reason").Str != "stop_sequence" || m.Get("stop_sequence").Str != "STOP" {
		t.Errorf("%s", m.Raw)
	}
	if m = say("count", `["four"]`); m.Get("content.0.text").Str != "one two STOP three" || m.Get("stop_reason").Str != "end_turn" || m.Get("stop_sequence").Raw != "null" {
		t.Errorf("%s", m.Raw)
	}
	if m = say("at once", `["STOP"]`); m.Get("content.0.text").Str != "" || m.Get("stop_reason").Str != "stop_sequence" {
		t.Errorf("%s", m.Raw)
	}
	whole := say("filler", `["nowhere"]`)
	words := strings.Fields(whole.Get("content.0.text").Str)
	if len(words) < 6 || int64(len(words)) != whole.Get("usage.output_tokens").Int() {
		t.Fatalf("%s", whole.Raw)
	}
}

// Filler that a stop sequence cuts counts the words that are left.
func TestFillerIsCutAtStop(t *testing.T) {
	_, url := serve(t, Options{Seed: 3})
	body := `{"model":"claude-haiku-4-5","max_tokens":200,"stop_sequences":[" "],"messages":[{"role":"user","content":"filler"}]}`
	_, b := ask{body: body}.do(t, url)
	m := gjson.ParseBytes(b)
	if text := m.Get("content.0.text").Str; text == "" || strings.Contains(text, " ") || m.Get("usage.output_tokens").Int() != 1 {
		t.Errorf("%s", b)
	}
}

// By batch a row calls and stops as it does by sync.
func TestBatchCallsAndStops(t *testing.T) {
	bodies := []string{
		askTool(`,"tool_choice":{"type":"tool","name":"weather"}`, ""),
		`{"model":"claude-haiku-4-5","max_tokens":200,"stop_sequences":[" "],"messages":[{"role":"user","content":"filler"}]}`,
	}
	said := func(raw string) string {
		m := gjson.Parse(raw)
		return m.Get("content").Raw + m.Get("stop_reason").Raw + m.Get("stop_sequence").Raw + m.Get("usage.output_tokens").Raw
	}
	bySync := map[string]string{}
	office(t, steady(), func(t *testing.T, d *desk, _ *Server) {
		for i, body := range bodies {
			bySync[fmt.Sprint("r", i)] = said(string(d.do("POST", "/v1/messages", body).body))
		}
	})
	office(t, steady(), func(t *testing.T, d *desk, _ *Server) {
		rows := make([]string, len(bodies))
		for i, body := range bodies {
			rows[i] = fmt.Sprintf(`{"custom_id":"r%d","params":%s}`, i, body)
		}
		b := d.made(d.do("POST", "/v1/messages/batches", `{"requests":[`+strings.Join(rows, ",")+`]}`))
		time.Sleep(time.Hour)
		for _, l := range d.results(b.ID) {
			if got := said(string(l.Result.Message)); got != bySync[l.ID] || !strings.Contains(got, `_`) {
				t.Errorf("%s: by batch %s, by sync %s", l.ID, got, bySync[l.ID])
			}
		}
	})
}
