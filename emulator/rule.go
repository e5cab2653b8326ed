package emulator

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"
)

// newRule compiles an answer rule.
func newRule(r AnswerRule) (rule, error) {
	match, err := regexp.Compile(r.Match)
	if err != nil {
		return rule{}, fmt.Errorf("answers: %w", err)
	}
	compiled := rule{AnswerRule: r, match: match}
	_, err = compiled.render(key{}, "")
	return compiled, err
}

// composed is what is said to one prompt.
type composed struct {
	text string // empty: filler words; with tool its input, as JSON
	out  int64  // tokens; 0: as without a rule
	stop Stop
	tool string // that is called; "": the answer is text
	seq  string // the stop sequence it ends at, with [StopSequence]
}

// compose makes the words of an answer, keyed as that complete answer to the
// body is: by the rule for the prompt, as a call of a tool, and up to a stop
// sequence.
func (w *world) compose(a *asked, k key, maxTokens int64) composed {
	c, tool := w.byRule(a, k, maxTokens)
	switch {
	case maxTokens == 0 || c.stop == Refusal:
		return c
	case tool != "":
		return toolCall(tool, c.text, maxTokens)
	case a.forced != "":
		return toolCall(a.forced, a.input, maxTokens)
	case len(a.stops) > 0:
		return w.cutAtStop(c, a.stops, k, maxTokens)
	}
	return c
}

// byRule finds the rule for a prompt, and the tool that it calls, if any.
func (w *world) byRule(a *asked, k key, maxTokens int64) (c composed, tool string) {
	for i := range w.rules {
		r := &w.rules[i]
		text := a.prompt
		if r.First {
			text = a.first
		}
		at := r.match.FindStringSubmatchIndex(text)
		if at == nil {
			continue
		}
		expanded := string(r.match.ExpandString(nil, r.Template, text, at))
		if r.Tool != "" && slices.Contains(a.tools, r.Tool) {
			tool = r.Tool
		}
		return r.answer(k, expanded, maxTokens, &w.model.sc), tool
	}
	return composed{}, ""
}

// looksBack says whether any rule looks at the first message.
func (w *world) looksBack() bool {
	return slices.ContainsFunc(w.rules, func(r rule) bool { return r.First })
}

// callsTools says whether any rule does.
func (w *world) callsTools() bool {
	return slices.ContainsFunc(w.rules, func(r rule) bool { return r.Tool != "" })
}

func (r *rule) answer(k key, expanded string, maxTokens int64, sc *Scenario) composed {
	if maxTokens == 0 {
		return composed{}
	}
	u := k.uniform(drawRule)
	if u < r.Refuse {
		return limited(composed{text: "I can't help with that.", out: 7, stop: Refusal}, maxTokens)
	}
	c := composed{}
	if u -= r.Refuse; r.Template != "" && !(u < r.Prose) {
		text, err := r.renderExpanded(k, expanded)
		if err != nil {
			text = err.Error() // seen by whoever wrote the rule; newRule tried it once
		}
		c.text, c.out = text, max(1, (stringShare(text)+perToken/2)/perToken)
	} else {
		c.out, c.stop = sc.length(k, maxTokens)
	}
	if u -= r.Prose; u >= 0 && u < r.Cut && c.out > 1 {
		return limited(c, min(maxTokens, c.out/2))
	}
	return limited(c, maxTokens)
}

// limited cuts an answer at a number of tokens.
func limited(c composed, tokens int64) composed {
	if c.out <= tokens {
		return c
	}
	if c.text != "" {
		n := int(int64(len(c.text)) * tokens / c.out)
		for n > 0 && !utf8.RuneStart(c.text[n]) {
			n--
		}
		c.text = c.text[:n]
	}
	c.out, c.stop = tokens, MaxTokens
	return c
}

func (r *rule) render(k key, prompt string) (string, error) {
	return r.renderExpanded(k, string(r.match.ExpandString(nil, r.Template, prompt, nil)))
}

// renderExpanded runs what the captures were put into as a template. Without
// braces there is nothing to run.
func (r *rule) renderExpanded(k key, text string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	p := drawRule + 1<<40
	next := func() uint64 { p++; return k.bits(p) }
	t, err := template.New("answer").Funcs(template.FuncMap{
		"int":   func(lo, hi int) int { return lo + int(next()%uint64(max(1, hi-lo+1))) },
		"pick":  func(of ...string) string { return of[next()%uint64(len(of))] },
		"words": func(n int64) string { return string(appendWords(nil, k, 0, n)) },
	}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("answers: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, nil); err != nil {
		return "", fmt.Errorf("answers: %w", err)
	}
	return b.String(), nil
}
