package job

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/price"
)

// canary sends the first request of each (model, shape of body) alone, so that
// a parameter which a model no longer takes costs one refusal and not one a row
// (facts/peer-faults.md 14). A 400 or 404 tries a second row of the shape: both
// refused stop the job, one is that row's own fault (interface.md, "Canary").
type canary struct {
	todo []canaryClass
	out  int     // the call that is out; -1: none
	held *Answer // the first refusal of the class under way
}

// canaryClass is one (model, shape) that no answer has proved yet.
type canaryClass struct {
	first, second int // calls of it; second is -1 where there is one
}

// verdict is what a canary's result means.
type verdict uint8

const (
	canaryNone  verdict = iota // go on
	canaryHolds                // refused: a second row is tried
	canaryStops                // both refused: the job stops
)

// canaries finds the classes that need one: those with pending calls of this
// run and without a success in the job so far.
func canaries(x *index, limit int, proven, pending func(call int) bool) canary {
	of, n := x.shapes()
	done := make([]bool, n)
	for call := range x.calls() {
		if k := x.row(call).kind; k != noKind && !done[of[k]] && proven(call) {
			done[of[k]] = true
		}
	}
	at := make([]int, n) // place in todo, plus 1
	c := canary{out: -1}
	for call := range limit {
		k := x.row(call).kind
		if k == noKind || done[of[k]] || !pending(call) {
			continue
		}
		i := at[of[k]] - 1
		if i < 0 {
			c.todo = append(c.todo, canaryClass{call, -1})
			at[of[k]] = len(c.todo)
			continue
		}
		other := x.row(c.todo[i].first).key != x.row(call).key
		if other || c.todo[i].second < 0 { // an equal body is better than none
			c.todo[i].second = call
		}
		done[of[k]] = other
	}
	return c
}

// waits says that nothing else may go yet.
func (c *canary) waits() bool { return c.out >= 0 || len(c.todo) > 0 }

// peek is the canary to send now, or -1: one is out, or none is left.
func (c *canary) peek() int {
	switch {
	case c.out >= 0 || len(c.todo) == 0:
		return -1
	case c.held != nil:
		return c.todo[0].second
	}
	return c.todo[0].first
}

// holds says that a call was refused and waits for what a second one brings.
func (c *canary) holds(call int) bool { return c.held != nil && c.held.Row == call }

// send notes that a canary goes.
func (c *canary) send(call int) { c.out = call }

// returned notes that a call came back unsent.
func (c *canary) returned(call int) {
	if c.out == call {
		c.out = -1
	}
}

// settled takes a result; held is the first refusal, when it is decided.
func (c *canary) settled(a *Answer) (v verdict, held *Answer) {
	if a.Row != c.out {
		return canaryNone, nil
	}
	c.out = -1
	refused := a.refused()
	held, c.held = c.held, nil
	switch {
	case refused && held != nil:
		return canaryStops, held
	case refused && c.todo[0].second >= 0:
		c.held = a
		return canaryHolds, nil
	}
	c.todo = c.todo[1:]
	return canaryNone, held
}

// refused says that the API calls the request itself wrong. A row of a batch
// has no status, but the same words (facts/claude-api.md 4.4).
func (a *Answer) refused() bool {
	if a.Outcome != Errored || a.Status != 0 {
		return a.Outcome == Errored && (a.Status == 400 || a.Status == 404)
	}
	switch gjson.GetBytes(a.Body, "error.type").Str {
	case "invalid_request_error", "not_found_error":
		return true
	}
	return false
}

// CanaryError is a shape of body that the API refused twice: nothing else of
// the job was sent.
type CanaryError struct {
	Model   string
	IDs     []string // of the rows that were tried
	Status  int
	Message string
	instead string // a model of the same pool and price
}

func (e *CanaryError) Error() string {
	if e.Status == 404 {
		return fmt.Sprintf("%s answers 404 on every org; rows %s", e.Model, quotedList(e.IDs))
	}
	return fmt.Sprintf("first request rejected, nothing else sent: %s (%d); rows %s", e.Message, e.Status, quotedList(e.IDs))
}

// Hint is the way out, where we know one.
func (e *CanaryError) Hint() string {
	switch {
	case e.Status == 404 && e.instead != "":
		return "same pool and price: " + e.instead + ". Scores of two judges do not compare; bridge on a sample: flotilla judge --model A --model B --limit 500"
	case e.Status == 404:
		return "the id may be misspelled, or the model not open to these orgs"
	}
	for _, p := range []string{"temperature", "top_p", "top_k"} {
		if strings.Contains(e.Message, p) {
			return "take it out of the rows or of --params; --repeats replaces temperature 0"
		}
	}
	return "correct the rows or --params; what was refused is sent again by the next run"
}

func quotedList(ids []string) string {
	quoted := make([]string, len(ids))
	for i, id := range ids {
		quoted[i] = fmt.Sprintf("%q", id)
	}
	return strings.Join(quoted, " and ")
}

// canaryError tells of two refused rows.
func (s *source) canaryError(first *Answer, second Answer) error {
	e := &CanaryError{Model: s.x.kinds[s.x.row(second.Row).kind].model, Status: second.Status}
	e.Message = gjson.GetBytes(second.Body, "error.message").Str
	var errs []error
	for _, call := range []int{first.Row, second.Row} {
		var r record
		err := s.x.read(call/s.x.repeats, &r)
		id := ""
		if err == nil {
			id, err = s.x.id(call, &r)
		}
		e.IDs = append(e.IDs, id)
		errs = append(errs, err)
	}
	if m, ok := s.x.prices.Lookup(e.Model); ok {
		e.instead = replacement(s.x.prices, m, second)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return e
}

func replacement(t *price.Table, m price.Model, a Answer) string {
	if r, ok := t.Replacement(m, a.When); ok {
		return r.ID
	}
	return ""
}
