package emulator

import (
	"net/http"
	"strconv"
	"time"
)

var (
	eventStream = []string{"text/event-stream; charset=utf-8"}
	noCache     = []string{"no-cache"}
)

// coalesce is the real time within which events of a stream go out together
// when the clock runs fast: the client could not tell them apart, and each
// flush is a system call on both sides.
const coalesce = 2 * time.Millisecond

// stream answers in events (facts/claude-api.md 1.5).
func (s *Server) stream(rw http.ResponseWriter, r *http.Request, w *world, p reply, hit *strike) {
	x, late := p.x, hit.delay()
	if !s.wait(r, w, x, x.FirstByte+late) {
		return
	}
	s.showLimits(rw.Header(), w, &x.Reading, hit)
	h := rw.Header()
	h["Content-Type"], h["Cache-Control"] = eventStream, noCache
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	b := (*buf)[:0]
	if x.Fault != ErrorFirst {
		b = p.appendStart(b)
	}
	n := x.Deltas()
	for i := 0; i < n && (x.Fault == NoFault || x.DeltaAt(i) < x.End); i++ {
		at := x.DeltaAt(i) + late
		if i > 0 && s.far(w, at) {
			send(rw, b)
			b = b[:0]
		}
		if !s.wait(r, w, x, at) {
			return
		}
		b = p.appendDelta(b, int64(i), int64(n))
	}
	if s.far(w, x.End+late) {
		send(rw, b)
		b = b[:0]
	}
	if !s.wait(r, w, x, x.End+late) {
		return
	}
	w.mu.Lock()
	w.model.Finish(s.now(w), x)
	w.mu.Unlock()
	defer s.release(w, x)
	*buf = s.end(rw, &p, b)
}

// far says that an instant is too far away to hold events back for.
func (s *Server) far(w *world, at time.Duration) bool {
	speed := s.clock.speed()
	slack := time.Duration(0)
	if speed > 1 {
		slack = time.Duration(float64(coalesce) * speed)
	}
	return at-s.now(w) > slack
}

// end finishes a stream as it was fated to.
func (s *Server) end(rw http.ResponseWriter, p *reply, b []byte) []byte {
	switch p.x.Fault {
	case StreamError, ErrorFirst:
		b = append(b, "event: error\ndata: {\"type\":\"error\",\"error\":{\"details\":null,\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"...)
	case Truncate:
		send(rw, b)
		if p.key.bits(drawCut)&1 == 1 {
			panic(http.ErrAbortHandler) // no last chunk: an incomplete body
		}
		return b // an orderly end without message_stop
	case DropAfter:
		send(rw, b)
		breakConn(rw)
		return b
	default:
		b = p.appendEnd(b)
	}
	send(rw, b)
	return b
}

func send(rw http.ResponseWriter, b []byte) {
	if len(b) > 0 {
		_, _ = rw.Write(b) // a client that is gone shows in its context
	}
	flush(rw)
}

func appendEvent(b []byte, name string) []byte {
	b = append(b, "event: "...)
	b = append(b, name...)
	b = append(b, "\ndata: {\"type\":\""...)
	b = append(b, name...)
	return append(b, '"')
}

const eventEnd = "}\n\n"

func (p *reply) appendStart(b []byte) []byte {
	b = appendEvent(b, "message_start")
	b = append(b, `,"message":`...)
	b = p.appendHead(b)
	b = append(b, `],"stop_reason":null,"stop_sequence":null,"stop_details":null,"container":null,"diagnostics":null,"usage":`...)
	b = p.appendUsage(b, min(1, p.x.Full))
	b = append(b, '}')
	b = append(b, eventEnd...)
	if p.x.Full > 0 {
		b = appendEvent(b, "content_block_start")
		b = append(b, `,"index":0,"content_block":`...)
		b = p.appendBlock(b)
		b = append(b, eventEnd...)
	}
	b = appendEvent(b, "ping")
	return append(b, eventEnd...)
}

// appendBlock appends the content block as it begins: without its content.
func (p *reply) appendBlock(b []byte) []byte {
	if p.tool != "" {
		return p.appendCall(b, "{}")
	}
	return append(b, `{"type":"text","text":""}`...)
}

func (p *reply) appendDelta(b []byte, i, n int64) []byte {
	b = appendEvent(b, "content_block_delta")
	b = append(b, `,"index":0,"delta":{"type":`...)
	if p.tool != "" {
		b = append(b, `"input_json_delta","partial_json":`...)
	} else {
		b = append(b, `"text_delta","text":`...)
	}
	b = p.appendText(b, i, n)
	return append(b, '}', '}', '\n', '\n')
}

func (p *reply) appendEnd(b []byte) []byte {
	if p.x.Full > 0 {
		b = appendEvent(b, "content_block_stop")
		b = append(b, `,"index":0`+eventEnd...)
	}
	b = appendEvent(b, "message_delta")
	b = append(b, `,"delta":{"stop_reason":"`...)
	b = p.appendStop(b)
	b = append(b, `,"container":null},"usage":{"input_tokens":`...)
	b = strconv.AppendInt(b, p.x.Usage.Input, 10)
	b = append(b, `,"cache_creation_input_tokens":`...)
	b = strconv.AppendInt(b, p.x.Usage.CacheWrite5m+p.x.Usage.CacheWrite1h, 10)
	b = append(b, `,"cache_read_input_tokens":`...)
	b = strconv.AppendInt(b, p.x.Usage.CacheRead, 10)
	b = append(b, `,"output_tokens":`...)
	b = strconv.AppendInt(b, p.x.Usage.Output, 10)
	b = append(b, `,"output_tokens_details":null,"server_tool_use":null}`+eventEnd...)
	b = appendEvent(b, "message_stop")
	return append(b, eventEnd...)
}
