package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/flotilla-llm/flotilla/internal/job"
)

// Again implements job.Craft: a cut answer is asked for once more with twice the
// room, and one that cannot be read once more by a corrective turn
// (facts/peer-faults.md 25).
func (p *Panel) Again(ask int, body, message []byte, tried []string) (next []byte, why string, err error) {
	s, _ := p.seat(ask)
	g := s.rubric.Read(message)
	switch {
	case slices.Contains(tried, g.Status):
		return nil, "", nil
	case g.Status == Truncated && gjson.GetBytes(message, "stop_reason").Str == "max_tokens":
		next, err = p.roomier(s.rubric.Model, body)
	case g.Status == Unparsable:
		next, err = s.rubric.corrective(body, g)
	}
	return next, g.Status, err
}

// Kind implements job.Craft.
func (p *Panel) Kind(ask int, a *job.Answer) string {
	if a.Outcome != job.Succeeded {
		return a.Outcome.String()
	}
	s, _ := p.seat(ask)
	g := s.rubric.Read(a.Body)
	p.hear(s, &g, a.At != 0)
	if g.Status != Scored {
		return g.Status
	}
	return ""
}

// firstAnswers is how many answers of a judge without one verdict are a sign that
// rubric and judge do not fit.
const firstAnswers = 20

// hear tells people, once, of a judge that has given no verdict so far: what is
// wrong with all answers is cheaper to hear of while most are still to be paid for.
// Kept answers count by their verdicts alone: a run that goes on begins with those
// that were asked for anew, which had none.
func (p *Panel) hear(s *seat, g *Reading, kept bool) {
	if g.Status == Scored {
		s.scored.Add(1)
	}
	if kept {
		return
	}
	if s.read.Add(1) == firstAnswers && s.scored.Load() == 0 && p.set.Warn != nil {
		p.set.Warn(fmt.Sprintf("rubric %s by %s: none of the first %d answers is a verdict; the last is %s: %s (%s)",
			s.rubric.Name, s.rubric.Model, firstAnswers, g.Status, g.Why, excerpt(g.Raw)))
	}
}

// excerpt is the beginning of an answer, in quotes.
func excerpt(text string) string {
	const most = 80
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}

// roomier is a body with twice the room, as far as its model has it; nil: it has
// none.
func (p *Panel) roomier(model string, body []byte) ([]byte, error) {
	room := gjson.GetBytes(body, "max_tokens").Int()
	more := 2 * room
	if m, ok := p.set.Prices.Lookup(model); ok && m.MaxOutput > 0 {
		more = min(more, m.MaxOutput)
	}
	if more <= room {
		return nil, nil
	}
	return sjson.SetRawBytes(body, "max_tokens", strconv.AppendInt(nil, more, 10))
}

// corrective is a body that goes on behind an answer that could not be read, with
// one turn that asks for the verdict alone. An empty answer is no turn.
func (r *Rubric) corrective(body []byte, g Reading) ([]byte, error) {
	turns := []map[string]string{{"role": "user", "content": r.correction()}}
	if said := strings.TrimSpace(g.Raw); said != "" {
		turns = slices.Insert(turns, 0, map[string]string{"role": "assistant", "content": said})
	}
	for _, turn := range turns {
		text, err := json.Marshal(turn)
		if err == nil {
			body, err = sjson.SetRawBytes(body, "messages.-1", text)
		}
		if err != nil {
			return nil, fmt.Errorf("rubric %s: the corrective turn: %w", r.Name, err)
		}
	}
	return body, nil
}

// correction asks for the verdict alone, in the form that is read.
func (r *Rubric) correction() string {
	v := &r.Verdict
	const begin = "That answer could not be read as a verdict. Give your verdict again, alone, with nothing before or after it: "
	switch v.Form {
	case FormLabel:
		return begin + fmt.Sprintf(`{%q: one of %s}`, v.Field, quoted(v.Labels))
	case FormJSON:
		return begin + "the one JSON object that was asked for."
	}
	return begin + fmt.Sprintf(`{%q: a number from %s to %s}`, v.Field, number(v.Min), number(v.Max))
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strconv.Quote(w)
	}
	return strings.Join(out, ", ")
}
