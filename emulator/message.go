package emulator

import (
	"encoding/json"
	"strconv"
)

// reply is what an admitted exchange answers, as JSON and events are made of.
type reply struct {
	composed
	x    *Exchange
	key  key // of the answer
	geo  string
	tier string // usage.speed as JSON
	by   string // usage.service_tier
}

func (w *world) newReply(x *Exchange, r *request, c composed) reply {
	p := reply{composed: c, x: x, key: w.model.answerKey(x.Hash, x.Answer), geo: geoOf(r.entry, r.geo == "us"), tier: "null", by: standardTier}
	switch {
	case x.Fast:
		p.tier = `"fast"`
	case r.speed.Str != "":
		p.tier = `"standard"`
	}
	return p
}

// Values of usage.service_tier (facts/claude-api.md section 7).
const (
	standardTier = "standard"
	batchTier    = "batch"
)

// geoOf is usage.inference_geo.
func geoOf(e *entry, us bool) string {
	switch {
	case !e.geo:
		return "not_available"
	case us:
		return "us"
	}
	return "global"
}

var stopText = [...]string{
	EndTurn: "end_turn", MaxTokens: "max_tokens", Refusal: "refusal", WindowExceeded: "model_context_window_exceeded",
	StopSequence: "stop_sequence", ToolUse: "tool_use",
}

const refusalDetails = `{"type":"refusal","category":null,"explanation":null}`

func (p *reply) stopDetails() string {
	if p.x.Stop == Refusal {
		return refusalDetails
	}
	return "null"
}

// appendHead appends a Message up to its content (facts/claude-api.md 1.2).
func (p *reply) appendHead(b []byte) []byte {
	b = append(b, `{"id":"`...)
	b = append(b, token("msg_01", p.key, 22)...)
	b = append(b, `","type":"message","role":"assistant","model":"`...)
	b = append(b, catalog[p.x.Model].id...)
	return append(b, `","content":[`...)
}

// appendMessage appends the whole Message.
func (p *reply) appendMessage(b []byte) []byte {
	b = p.appendHead(b)
	switch {
	case p.tool != "":
		b = p.appendCall(b, p.text)
	case p.x.Full > 0:
		b = append(b, `{"type":"text","text":`...)
		b = p.appendText(b, 0, 1)
		b = append(b, `,"citations":null}`...)
	}
	b = append(b, `],"stop_reason":"`...)
	b = p.appendStop(b)
	b = append(b, `,"container":null,"diagnostics":null,"usage":`...)
	b = p.appendUsage(b, p.x.Usage.Output)
	return append(b, '}')
}

// appendStop appends from the value of stop_reason on, without its first quote.
func (p *reply) appendStop(b []byte) []byte {
	b = append(b, stopText[p.x.Stop]...)
	b = append(b, `","stop_sequence":`...)
	if p.x.Stop == StopSequence {
		b = appendString(b, p.seq)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"stop_details":`...)
	return append(b, p.stopDetails()...)
}

func (p *reply) appendUsage(b []byte, output int64) []byte {
	u := &p.x.Usage
	b = append(b, `{"input_tokens":`...)
	b = strconv.AppendInt(b, u.Input, 10)
	b = append(b, `,"cache_creation_input_tokens":`...)
	b = strconv.AppendInt(b, u.CacheWrite5m+u.CacheWrite1h, 10)
	b = append(b, `,"cache_read_input_tokens":`...)
	b = strconv.AppendInt(b, u.CacheRead, 10)
	b = append(b, `,"cache_creation":{"ephemeral_5m_input_tokens":`...)
	b = strconv.AppendInt(b, u.CacheWrite5m, 10)
	b = append(b, `,"ephemeral_1h_input_tokens":`...)
	b = strconv.AppendInt(b, u.CacheWrite1h, 10)
	b = append(b, `},"output_tokens":`...)
	b = strconv.AppendInt(b, output, 10)
	b = append(b, `,"output_tokens_details":null,"server_tool_use":null,"service_tier":"`...)
	b = append(b, p.by...)
	b = append(b, `","inference_geo":"`...)
	b = append(b, p.geo...)
	b = append(b, `","speed":`...)
	b = append(b, p.tier...)
	return append(b, '}')
}

// appendText appends part i of n of the answer's text, as a JSON string.
func (p *reply) appendText(b []byte, i, n int64) []byte {
	if p.text != "" || p.x.Stop == StopSequence {
		return appendString(b, part(p.text, i, n))
	}
	b = append(b, '"')
	b = appendWords(b, p.key, p.x.Full*i/n, p.x.Full*(i+1)/n) // plain ASCII: nothing to escape
	return append(b, '"')
}

// part cuts a text into n about equal parts, between characters.
func part(s string, i, n int64) string {
	return s[boundary(s, i, n):boundary(s, i+1, n)]
}

func boundary(s string, i, n int64) int {
	at := int(int64(len(s)) * i / n)
	for at > 0 && at < len(s) && s[at]&0xc0 == 0x80 {
		at--
	}
	return at
}

func appendString(b []byte, s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return append(b, q...)
}
