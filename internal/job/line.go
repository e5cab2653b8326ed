package job

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flotilla-llm/flotilla"
)

// liner makes the lines of OUT: what the Batches API would give, plus what
// flotilla knows (interface.md, "Output").
type liner struct {
	x    *index
	keep []string // input fields that a line repeats; "all": the row; none: nothing

	chains chains
}

// lineOf appends the line of a settled call, with its line break. r is the
// call's row; retried is why it was sent again, where that is not the craft's doing.
func (l *liner) lineOf(dst []byte, a *Answer, r *record, retried string) ([]byte, error) {
	id, err := l.x.id(a.Row, r)
	if err != nil {
		return nil, err
	}
	if l.x.build.craft != nil {
		if dst, err = l.x.build.craft.AppendMember(appendHead(dst, id), l.x.done(a, r, id, l.chains)); err != nil {
			return nil, err
		}
	} else {
		dst = appendResult(dst, id, a)
	}
	if len(l.keep) > 0 {
		dst = append(dst, `,"input":`...)
		dst = l.appendInput(dst, r)
	}
	dst = appendManner(dst, l.manner(a))
	if c := l.chains.of(l.x, a.Row); c != nil && retried == "" && len(c.tried) > 0 {
		retried = c.tried[len(c.tried)-1]
	}
	if retried != "" {
		dst = append(dst, `,"retried":`...)
		dst = appendString(dst, retried)
	}
	body, err := l.x.bodyOf(a, r, l.chains)
	if err != nil {
		return nil, err
	}
	dst = append(dst, `,"body":"`...)
	dst = appendHex16(dst, body)
	return append(dst, "\"}}\n"...), nil
}

// AppendLine appends the line of an answer of whose row no more than its id is
// at hand, with its line break: a line of OUT but for the hash of its body.
func AppendLine(dst []byte, id string, a *Answer) []byte {
	return append(appendManner(appendResult(dst, id, a), a), "}}\n"...)
}

// RowName is the id of a row that has none of its own; row is its number from 0.
func RowName(row int) string { return rowID(row + 1) }

// appendResult appends the start of a line: what the Batches API would give.
func appendResult(dst []byte, id string, a *Answer) []byte {
	dst = append(appendHead(dst, id), `"result":{"type":"`...)
	dst = append(dst, a.Outcome.String()...)
	switch a.Outcome {
	case Succeeded:
		dst = append(dst, `","message":`...)
		dst = append(dst, a.Body...)
	case Errored:
		dst = append(dst, `","error":`...)
		dst = append(dst, orUnknown(a.Body)...)
	default:
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

// appendHead begins a line.
func appendHead(dst []byte, id string) []byte {
	return append(appendString(append(dst, `{"custom_id":`...), id), ',')
}

// manner is how an answer was had, for its line. What a call cost that its craft
// had asked anew is the cost of all its answers; one whose row says what came of
// it came from nowhere.
func (l *liner) manner(a *Answer) *Answer {
	c, told := l.chains[a.Row], l.x.build.craft != nil && l.x.told(a.Row)
	if c == nil && !told {
		return a
	}
	one := *a
	if c != nil {
		one.Cost += c.cost
	}
	if told {
		one.Cached, one.Tier = false, ""
	}
	return &one
}

// done is a settled call as its craft makes its line.
func (x *index) done(a *Answer, r *record, id string, chains chains) *Done {
	d := &Done{
		ID: id, Row: Row{r}, Record: a.Row / x.repeats / x.asks, Ask: x.ask(a.Row), Answer: a, Cost: a.Cost, Told: x.told(a.Row),
	}
	if x.build.shape.Repeats > 0 {
		d.Repeat = a.Row%x.repeats + 1
	}
	if c := chains[a.Row]; c != nil {
		d.Cost += c.cost
	}
	if c := chains.of(x, a.Row); c != nil {
		d.Tried = c.tried
	}
	return d
}

// appendManner appends how an answer was had; the object is left open.
func appendManner(dst []byte, a *Answer) []byte {
	dst = append(dst, `,"flotilla":{"org":`...)
	dst = appendString(dst, a.Org)
	dst = append(dst, `,"tier":`...)
	dst = appendString(dst, a.Tier)
	dst = append(dst, `,"model":`...)
	dst = appendString(dst, a.Model)
	dst = append(dst, `,"attempts":`...)
	dst = strconv.AppendInt(dst, int64(a.Attempts), 10)
	dst = append(dst, `,"latency_ms":`...)
	dst = strconv.AppendInt(dst, a.Latency.Milliseconds(), 10)
	dst = append(dst, `,"cost_usd":`...)
	dst = a.Cost.AppendExact(dst)
	dst = append(dst, `,"cached":`...)
	dst = strconv.AppendBool(dst, a.Cached)
	if a.Emulated != "" { // so that no emulator's answer is ever taken for the provider's
		dst = append(dst, `,"emulated":`...)
		dst = appendString(dst, a.Emulated)
	}
	return dst
}

func appendHex16(dst []byte, n uint64) []byte {
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[n>>shift&15])
	}
	return dst
}

// orUnknown stands in for an envelope that was not kept.
func orUnknown(envelope []byte) []byte {
	if len(envelope) > 0 {
		return envelope
	}
	return []byte(`{"type":"error","error":{"type":"flotilla_connection_error","message":"no answer"}}`)
}

// appendInput appends the row, or the fields of it that were asked for.
func (l *liner) appendInput(dst []byte, r *record) []byte {
	if l.keep[0] == "all" {
		return append(dst, r.raw...)
	}
	var kept []field
	for _, name := range l.keep {
		if v, ok := r.get(name); ok {
			kept = append(kept, field{name, v})
		}
	}
	return appendObject(dst, kept)
}

// keepsSome says that lines repeat chosen fields of the input.
func keepsSome(keep []string) bool { return len(keep) > 0 && keep[0] != "all" }

// checkKeep refuses fields that no row has.
func (x *index) checkKeep(keep []string) error {
	if !keepsSome(keep) || x.n() == 0 {
		return nil
	}
	var names []string
	for _, c := range x.columns.list {
		names = append(names, c.name)
	}
	for _, name := range keep {
		if !slices.Contains(names, name) {
			return WithHint(fmt.Errorf("--keep %s: no row has such a field", name), "fields are "+strings.Join(names, ", "))
		}
	}
	return nil
}

// bodyOf is the hash of the body that was answered: the row's, or with a larger
// max_tokens after --retry truncated, or the last of its chain.
func (x *index) bodyOf(a *Answer, r *record, chains chains) (uint64, error) {
	e := x.row(a.Row)
	if c := chains.of(x, a.Row); c != nil {
		return c.short, nil
	}
	if a.Hash == e.key || a.Hash == [16]byte{} {
		return e.body, nil
	}
	g, ok, err := x.grownTo(r, a.Hash)
	if err == nil && !ok {
		err = fmt.Errorf("the answer of call %d is to a body that its row does not make", a.Row)
	}
	return first8(g.facts.Body), err
}

// answerOf is a fleet's result as a journal would give it back.
func answerOf(res *flotilla.Result) Answer {
	a := Answer{
		Row: res.Row, Outcome: Succeeded, Body: res.Message, Org: res.Org, Tier: res.Tier, Model: res.Model,
		Cost: res.Cost, Attempts: res.Attempts, Latency: res.Latency, StopReason: res.StopReason, Cached: res.Cached, Emulated: res.Emulated, When: res.At,
	}
	if res.Err == nil {
		return a
	}
	a.Outcome, a.Body = Errored, flotilla.Envelope(res.Err)
	var canceled *flotilla.CanceledError
	var expired *flotilla.ExpiredError
	switch {
	case errors.As(res.Err, &canceled):
		a.Outcome, a.Body = Canceled, nil
	case errors.As(res.Err, &expired):
		a.Outcome, a.Body = Expired, nil
	}
	var api *flotilla.APIError
	if errors.As(res.Err, &api) {
		a.Status = api.Status
	}
	return a
}
