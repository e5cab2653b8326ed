package job

import (
	"cmp"
	"maps"
	"regexp"
	"slices"

	"github.com/tidwall/gjson"
)

// tally counts how calls stand: the part of a summary that is of the job and
// not of one run.
type tally struct {
	outcomes [numOutcomes]int
	stops    map[string]int
	errors   map[errorKey]*ErrorGroup
}

// tallied is what one answer counted as, so that it can be taken back.
type tallied struct {
	outcome Outcome
	stop    string
	fault   errorKey
}

// errorKey tells kinds of errors apart; the message is without its numbers.
type errorKey struct{ kind, message string }

// ErrorGroup is a kind of error and how many rows ended in it.
type ErrorGroup struct {
	Type      string `json:"type"`
	Message   string `json:"message"` // of the first of them
	N         int    `json:"n"`
	ExampleID string `json:"example_id"`
}

func newTally() *tally {
	return &tally{stops: map[string]int{}, errors: map[errorKey]*ErrorGroup{}}
}

var digits = regexp.MustCompile(`[0-9][0-9,.]*`)

// add counts an answer; id is asked for of the first error of a kind.
func (t *tally) add(a *Answer, id func() string) tallied {
	was := tallied{outcome: a.Outcome}
	t.outcomes[a.Outcome]++
	switch a.Outcome {
	case Succeeded:
		was.stop = a.StopReason
		t.stops[a.StopReason]++
	case Errored:
		v := gjson.ParseBytes(orUnknown(a.Body)).Get("error")
		was.fault = errorKey{v.Get("type").Str, digits.ReplaceAllString(v.Get("message").Str, "#")}
		g := t.errors[was.fault]
		if g == nil {
			g = &ErrorGroup{Type: v.Get("type").Str, Message: v.Get("message").Str, ExampleID: id()}
			t.errors[was.fault] = g
		}
		g.N++
	}
	return was
}

// drop takes back what an answer counted as.
func (t *tally) drop(was tallied) {
	t.outcomes[was.outcome]--
	switch was.outcome {
	case Succeeded:
		if t.stops[was.stop]--; t.stops[was.stop] == 0 {
			delete(t.stops, was.stop)
		}
	case Errored:
		if g := t.errors[was.fault]; g != nil {
			if g.N--; g.N == 0 {
				delete(t.errors, was.fault)
			}
		}
	}
}

// groups lists the errors, the most common first.
func (t *tally) groups() []ErrorGroup {
	out := []ErrorGroup{}
	for _, g := range t.errors {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b ErrorGroup) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Message, b.Message))
	})
	return out
}

// of restores a tally from the summary of the run before.
func tallyOf(s *Summary) *tally {
	t := newTally()
	t.outcomes = [numOutcomes]int{Succeeded: s.Succeeded, Errored: s.Errored, Expired: s.Expired, Canceled: s.Canceled}
	t.stops = maps.Clone(s.StopReasons)
	if t.stops == nil {
		t.stops = map[string]int{}
	}
	for _, g := range s.Errors {
		t.errors[errorKey{g.Type, digits.ReplaceAllString(g.Message, "#")}] = &g
	}
	return t
}

// retryOf is the word of --retry that an answer falls under; empty: none.
func retryOf(a *Answer) string {
	switch {
	case a.Outcome != Succeeded:
		return a.Outcome.String()
	case a.StopReason == "max_tokens":
		return "truncated"
	case a.StopReason == "refusal":
		return "refused"
	}
	return ""
}
