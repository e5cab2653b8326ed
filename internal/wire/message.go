package wire

import (
	"errors"
	"fmt"
	"strconv"
)

// Usage is what an answer says it consumed, in tokens.
type Usage struct {
	Input        int64 // held by no cache
	CacheWrite5m int64 // cache_creation_input_tokens not said to be of 1 h
	CacheWrite1h int64
	CacheRead    int64
	Output       int64 // thinking included
	WebSearches  int64 // server_tool_use.web_search_requests, billed each
}

// MessageFacts is what a Message says of itself.
type MessageFacts struct {
	ID, Model  string
	StopReason string // never empty in a whole Message
	Usage      Usage

	ServiceTier string // standard, priority, batch; empty: null
	Geo         string // usage.inference_geo: global, us, not_available; empty: null
	Speed       string // standard, fast; empty: null
}

// NotMessageError says why the body of a 200 is no Message.
type NotMessageError struct{ Fault string }

func (e *NotMessageError) Error() string { return "the answer is not a Message: " + e.Fault }

// ErrErrorBody says that the body of a 200 is an error envelope: [Classify]
// tells which.
var ErrErrorBody = errors.New("the answer is an error in a 200")

// ReadMessage reads the body of a 200 and holds it to what a whole Message is
// (facts/claude-api.md 1.2): a JSON object of type message by the assistant,
// with id, model, a list of content, a stop_reason and usage. Nothing else is
// paid for, cached or written as succeeded.
func ReadMessage(body []byte) (MessageFacts, error) {
	var m MessageFacts
	if !wellFormed(body) {
		return m, &NotMessageError{"it is not JSON"}
	}
	c := cursor{b: body}
	if !c.enter('{') {
		return m, &NotMessageError{"it is not an object"}
	}
	var kind, role []byte
	content, usage := false, false
	for key, ok := c.member(); ok; key, ok = c.member() {
		switch string(key) {
		case "type":
			kind, _ = c.text()
		case "role":
			role, _ = c.text()
		case "id":
			m.ID = c.word()
		case "model":
			m.Model = c.word()
		case "stop_reason":
			m.StopReason = c.word()
		case "content":
			content = c.peek() == '['
			c.raw()
		case "usage":
			usage = m.readUsage(&c)
		default:
			c.raw()
		}
	}
	if string(kind) == "error" {
		return m, ErrErrorBody
	}
	return m, m.check(string(kind), string(role), content, usage)
}

func (m *MessageFacts) check(kind, role string, content, usage bool) error {
	switch {
	case kind != "message":
		return &NotMessageError{fmt.Sprintf("its type is %q", kind)}
	case role != "assistant":
		return &NotMessageError{fmt.Sprintf("its role is %q", role)}
	case m.ID == "":
		return &NotMessageError{"it has no id"}
	case m.Model == "":
		return &NotMessageError{"it has no model"}
	case !content:
		return &NotMessageError{"it has no content"}
	case m.StopReason == "":
		return &NotMessageError{"it has no stop_reason"}
	case !usage:
		return &NotMessageError{"it has no usage"}
	}
	return nil
}

// word reads a string value, decoded; anything else, null included, is "".
func (c *cursor) word() string {
	s, _ := c.text()
	return decode(s)
}

// wordInto is word, but leaves what stands when the value is null.
func (c *cursor) wordInto(to *string) {
	if s, ok := c.text(); ok {
		*to = decode(s)
	}
}

// countInto reads a whole number; anything else, null included, leaves what
// stands (0 at first, as the official Go client decodes null). Negative counts
// are 0, and none exceeds a trillion, so that sums cannot overflow.
func (c *cursor) countInto(to *int64) {
	if n, err := strconv.ParseInt(string(c.raw()), 10, 64); err == nil {
		*to = min(max(n, 0), 1e12)
	}
}

// readUsage reads a usage object into m; what is absent or null stays as it
// is, so that a stream's later, cumulative usage can be read over its first.
func (m *MessageFacts) readUsage(c *cursor) bool {
	if !c.enter('{') {
		c.raw()
		return false
	}
	u := &m.Usage
	var written int64
	for key, ok := c.member(); ok; key, ok = c.member() {
		switch string(key) {
		case "input_tokens":
			c.countInto(&u.Input)
		case "output_tokens":
			c.countInto(&u.Output)
		case "cache_read_input_tokens":
			c.countInto(&u.CacheRead)
		case "cache_creation_input_tokens":
			c.countInto(&written)
		case "cache_creation":
			u.readLives(c)
		case "server_tool_use":
			u.readTools(c)
		case "service_tier":
			c.wordInto(&m.ServiceTier)
		case "inference_geo":
			c.wordInto(&m.Geo)
		case "speed":
			c.wordInto(&m.Speed)
		default:
			c.raw()
		}
	}
	// A total without its parts, or over them, is of the default life.
	u.CacheWrite5m += max(0, written-u.CacheWrite5m-u.CacheWrite1h)
	return true
}

// readLives reads cache writes by life.
func (u *Usage) readLives(c *cursor) {
	if !c.enter('{') {
		c.raw()
		return
	}
	for key, ok := c.member(); ok; key, ok = c.member() {
		switch string(key) {
		case "ephemeral_5m_input_tokens":
			c.countInto(&u.CacheWrite5m)
		case "ephemeral_1h_input_tokens":
			c.countInto(&u.CacheWrite1h)
		default:
			c.raw()
		}
	}
}

func (u *Usage) readTools(c *cursor) {
	if !c.enter('{') {
		c.raw()
		return
	}
	for key, ok := c.member(); ok; key, ok = c.member() {
		if string(key) == "web_search_requests" {
			c.countInto(&u.WebSearches)
		} else {
			c.raw()
		}
	}
}
