package wire

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"
)

// envelope is what an error body says: the API's own, a proxy's, or nothing.
type envelope struct {
	json    bool // the body is a JSON object
	api     bool // … with an error object in it that has a type: the API's
	Type    string
	Code    string
	Message string

	cloudflare bool // a problem report of the network in front of the API
	retryAfter time.Duration
}

// readEnvelope reads any error body. The API's is {"type":"error","error":{
// "type","message","details":{"error_code"}},"request_id"}; a 413 lacks the
// outer type, details may be null (facts/claude-api.md 2.1, 8).
func readEnvelope(body []byte) envelope {
	var e envelope
	c := cursor{b: body}
	if c.peek() != '{' || !wellFormed(body) {
		e.Message = excerpt(body)
		return e
	}
	e.json = true
	c.enter('{')
	for key, ok := c.member(); ok; key, ok = c.member() {
		switch string(key) {
		case "error":
			e.inner(&c)
		case "cloudflare_error":
			e.cloudflare = string(c.raw()) == "true"
		case "retry_after":
			e.retryAfter, _ = parseWait(string(c.raw()), time.Second)
		default:
			c.raw()
		}
	}
	e.api = e.Type != ""
	if e.Message == "" && !e.api {
		e.Message = excerpt(body)
	}
	return e
}

// inner reads the error object.
func (e *envelope) inner(c *cursor) {
	if !c.enter('{') {
		if s, ok := c.text(); ok {
			e.Message = decode(s)
		}
		return
	}
	for key, ok := c.member(); ok; key, ok = c.member() {
		switch string(key) {
		case "type":
			s, _ := c.text()
			e.Type = decode(s)
		case "message":
			s, _ := c.text()
			e.Message = decode(s)
		case "details":
			e.details(c)
		default:
			c.raw()
		}
	}
}

func (e *envelope) details(c *cursor) {
	if !c.enter('{') {
		c.raw()
		return
	}
	for key, ok := c.member(); ok; key, ok = c.member() {
		if s, isText := c.text(); isText && string(key) == "error_code" {
			e.Code = decode(s)
		}
	}
}

// excerptBytes is how much of a body that is not the API's is shown to people.
const excerptBytes = 200

// excerpt is the start of such a body, on one line and in valid UTF-8.
func excerpt(body []byte) string {
	b := bytes.TrimSpace(body)
	cut := len(b) > excerptBytes
	if cut {
		b = b[:excerptBytes]
		for len(b) > 0 && !utf8.RuneStart(b[len(b)-1]) {
			b = b[:len(b)-1]
		}
	}
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "\uFFFD")), " ")
	if cut {
		s += " …"
	}
	return s
}
