package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Statuses of a reading (interface.md, "Judge line"). Only Scored has a verdict.
const (
	Scored     = "scored"
	Truncated  = "truncated"  // cut by its room: never a score, whatever stands before the cut (facts/peer-faults.md 25)
	Refused    = "refused"    // the judge would not judge, or the API stopped it
	Unparsable = "unparsable" // an answer without one plain verdict
	Failed     = "failed"     // no answer
)

// Statuses lists them in the order in which they are shown.
func Statuses() []string { return []string{Scored, Truncated, Refused, Unparsable, Failed} }

// Reading is what a judge's answer says.
type Reading struct {
	Status string   `json:"status"`
	Score  *float64 `json:"score"` // within the rubric's scale; nil: none
	Label  *string  `json:"label"` // as the rubric spells it; nil: none
	Raw    string   `json:"raw"`   // the answer's text
	Why    string   `json:"why,omitempty"`
}

// Fail is the reading of a row without an answer.
func Fail(why string) Reading { return Reading{Status: Failed, Why: why} }

// Read reads a judge's answer, a Message. It is tolerant of dress (JSON in a
// fence or in prose, "Score: 85/100", full-width digits, a trailing comma) and
// strict about sense: two verdicts that differ, a number off the scale or on
// another one, a range, a negated label are all unparsable, with the reason in
// Why. It never guesses and never clamps.
func (r *Rubric) Read(msg json.RawMessage) Reading {
	if !gjson.ValidBytes(msg) {
		return Fail("the answer is no JSON")
	}
	m := gjson.ParseBytes(msg)
	if m.Get("type").Str != "message" {
		return Fail("the answer is no Message")
	}
	text := answerText(m.Get("content"))
	switch stop := m.Get("stop_reason").Str; stop {
	case "max_tokens", "model_context_window_exceeded":
		return Reading{Status: Truncated, Raw: text, Why: "cut: stop_reason " + stop}
	case "refusal":
		why := "the API stopped the answer: stop_reason refusal"
		if c := m.Get("stop_details.category").Str; c != "" {
			why += " (" + c + ")"
		}
		return Reading{Status: Refused, Raw: text, Why: why}
	case "pause_turn":
		return Reading{Status: Unparsable, Raw: text, Why: "the answer was paused before its end"}
	}
	return r.ReadText(text)
}

// answerText is the text of an answer; where a tool is called, what it is given.
func answerText(content gjson.Result) string {
	var text, input strings.Builder
	content.ForEach(func(_, block gjson.Result) bool {
		switch block.Get("type").Str {
		case "text":
			text.WriteString(block.Get("text").Str)
		case "tool_use":
			if input.Len() > 0 {
				input.WriteByte('\n')
			}
			input.WriteString(block.Get("input").Raw)
		}
		return true
	})
	if input.Len() > 0 {
		return input.String()
	}
	return text.String()
}

// ReadText reads the text of an answer that came to its own end.
func (r *Rubric) ReadText(text string) Reading {
	out := Reading{Status: Unparsable, Raw: text}
	if strings.TrimSpace(text) == "" {
		out.Why = "the answer is empty"
		return out
	}
	found := r.claims(text)
	switch {
	case len(found) == 0 && r.refuses(text):
		out.Status, out.Why = Refused, "the judge refuses"
	case len(found) == 0:
		out.Why = r.whyNone(text)
	case !found[0].inJSON && r.refuses(text):
		out.Why = "the judge refuses and gives a verdict in one answer"
	default:
		settle(&out, found)
	}
	return out
}

// refuses says whether the text begins to refuse, by the rubric's expressions.
func (r *Rubric) refuses(text string) bool {
	trimmed := strings.TrimSpace(strings.ReplaceAll(text, "’", "'"))
	for _, re := range r.refusal {
		if re.MatchString(trimmed) {
			return true
		}
	}
	return false
}

// claim is one place of an answer that gives a verdict, or tries to.
type claim struct {
	score  *float64
	label  *string
	fault  string // why it cannot be taken; empty: it can
	inJSON bool
	rank   int // by its words; a lower one does not count beside a higher one
}

// Ranks of claims in prose. One in JSON counts beside plain and final ones: if
// they differ, the answer contradicts itself.
const (
	partial = -1 // "clarity score": of a part, perhaps
	plain   = 0
	final   = 1 // "final score", "overall score"
)

// String is the claim's value, for a reason.
func (c claim) String() string {
	switch {
	case c.score != nil:
		return number(*c.score)
	case c.label != nil:
		return *c.label
	}
	return "no value"
}

func (c claim) equal(o claim) bool { return c.String() == o.String() }

// settle takes what all claims agree on.
func settle(out *Reading, found []claim) {
	found = highest(found)
	for _, c := range found {
		if c.fault != "" {
			out.Why = c.fault
			return
		}
		if !c.equal(found[0]) {
			out.Why = fmt.Sprintf("two verdicts: %s and %s", found[0], c)
			return
		}
	}
	out.Status, out.Score, out.Label = Scored, found[0].score, found[0].label
}

// highest keeps the claims that count.
func highest(found []claim) (kept []claim) {
	least := partial
	for _, c := range found {
		least = max(least, c.rank)
	}
	if slices.ContainsFunc(found, func(c claim) bool { return c.inJSON }) {
		least = plain
	}
	for _, c := range found {
		if c.rank >= least {
			kept = append(kept, c)
		}
	}
	return kept
}

// claims finds what gives a verdict by the rubric's form.
func (r *Rubric) claims(text string) []claim {
	objects, rest := splitObjects(text)
	if r.Verdict.Form == FormJSON {
		return r.documentClaims(text, objects)
	}
	inJSON, inProse := r.scoreOf, r.scoreClaims
	if r.Verdict.Form == FormLabel {
		inJSON, inProse = r.labelOf, r.labelClaims
	}
	found := r.objectClaims(objects, inJSON)
	if strings.TrimSpace(rest) == "" { // as most answers are
		return found
	}
	return append(found, inProse(rest)...)
}
