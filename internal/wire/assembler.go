package wire

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
)

// ErrCut is a stream that ended before its message_stop.
var ErrCut = errors.New("the stream of the answer broke off")

// StreamError is an error event inside a stream, after the 200 that began it:
// the provider gave up (facts/claude-api.md 1.5). Refusal is [Classify]'s
// reading of it.
type StreamError struct {
	Refusal Refusal
	Body    []byte // the envelope
}

func (e *StreamError) Error() string { return "error event in the stream: " + e.Refusal.Message }

// Assembler puts the Message together that the JSON route would have given,
// out of the events of a stream, in pieces of any size. The zero value is
// ready; it is an io.Writer. Member order and the spelling of strings are the
// server's. Unknown events and deltas are ignored.
//
// Known limitation: a tool's input that max_tokens cut short is {}, since what
// the JSON route would make of it is not documented.
type Assembler struct {
	// Lean keeps what the Message says of itself and none of its content: Finish
	// appends a Message whose content is empty.
	Lean bool

	events  events
	head    object // the message of message_start
	usage   object // its usage, brought up to date
	blocks  []block
	facts   MessageFacts
	text    load  // of all deltas
	exact   bool  // usage.output_tokens is the final count
	size    int   // bytes kept
	stopped bool  // message_stop has come
	err     error // what ended the stream before
	each    func([]byte) bool

	outer, inner object // room for the event being read and for a part of it
}

// Reset makes the Assembler ready for another stream.
func (a *Assembler) Reset() {
	a.events.reset()
	*a = Assembler{
		Lean: a.Lean, events: a.events, head: a.head[:0], usage: a.usage[:0], blocks: a.blocks[:0],
		each: a.each, outer: a.outer, inner: a.inner,
	}
}

// Write takes the next piece of the stream. Its error is that of a stream that
// cannot become a Message whatever follows; an error event is one of these.
func (a *Assembler) Write(p []byte) (int, error) {
	if a.each == nil {
		a.each = a.event
	}
	if !a.Ended() {
		if err := a.events.feed(p, a.each); err != nil && a.err == nil {
			a.err = err
		}
	}
	return len(p), a.err
}

// Ended says that nothing that follows can matter: message_stop has come, an
// error event, or something that is no event.
func (a *Assembler) Ended() bool { return a.stopped || a.err != nil }

// Started says that message_start has come.
func (a *Assembler) Started() bool { return len(a.head) > 0 }

// Out is the number of output tokens so far: an estimate by the text until the
// stream itself gives the count.
func (a *Assembler) Out() int64 {
	if a.exact {
		return a.facts.Usage.Output
	}
	return max(a.facts.Usage.Output, (a.text.units+unit-1)/unit)
}

// Facts is what is known of the Message so far: all of it after Finish, the
// input tokens from message_start on, Out for output. It tells what a stream
// that broke off has cost at least.
func (a *Assembler) Facts() MessageFacts {
	f := a.facts
	f.Usage.Output = a.Out()
	return f
}

// Finish ends the stream, once, and appends the Message to dst. Errors are
// ErrCut, a *StreamError, or a *NotMessageError.
func (a *Assembler) Finish(dst []byte) ([]byte, MessageFacts, error) {
	if a.each == nil {
		a.each = a.event
	}
	if !a.Ended() {
		a.events.flush(a.each)
	}
	switch {
	case a.err != nil:
		return dst, a.Facts(), a.err
	case !a.stopped:
		return dst, a.Facts(), ErrCut
	case !a.Started():
		return dst, a.Facts(), &NotMessageError{"its stream has no message_start"}
	}
	start := len(dst)
	dst = a.append(dst)
	facts, err := ReadMessage(dst[start:])
	if err != nil {
		return dst[:start], a.Facts(), err
	}
	return dst, facts, nil
}

// append writes the Message.
func (a *Assembler) append(dst []byte) []byte {
	slices.SortStableFunc(a.blocks, func(x, y block) int { return cmp.Compare(x.index, y.index) })
	content := []byte{'['}
	for i := range a.blocks {
		if a.Lean {
			break
		}
		if i > 0 {
			content = append(content, ',')
		}
		content = a.blocks[i].append(content)
	}
	a.head = a.head.set([]byte("content"), append(content, ']'))
	if a.usage != nil {
		a.head = a.head.set([]byte("usage"), a.usage.append(nil))
	}
	return OneLine(dst, a.head.append(nil))
}

// event takes the data of one event; false ends the reading.
func (a *Assembler) event(data []byte) bool {
	if !wellFormed(data) {
		a.err = &NotMessageError{"an event of its stream is not JSON"}
		return false
	}
	if a.size += len(data); a.size > MaxLine {
		a.err = &NotMessageError{"its stream is longer than 32 MiB"}
		return false
	}
	c := cursor{b: data}
	o := readObject(a.outer, &c)
	a.outer = o
	switch kind := inside(o.get("type")); string(kind) {
	case "message_start":
		a.start(o.get("message"))
	case "content_block_start", "content_block_delta", "message_delta":
		if !a.Started() {
			a.err = &NotMessageError{"its stream has no message_start"}
			return false
		}
		a.grow(string(kind), o)
	case "message_stop":
		a.stopped = true
	case "error":
		body := slices.Clone(data)
		a.err = &StreamError{Classify(200, nil, body), body}
	}
	return !a.Ended()
}

// grow takes what adds to a Message that has begun.
func (a *Assembler) grow(kind string, o object) {
	switch kind {
	case "content_block_start":
		a.open(o)
	case "content_block_delta":
		a.delta(o)
	default:
		a.update(o)
	}
}

// part splits an object inside the event; it stands until the next part.
func (a *Assembler) part(raw []byte) object {
	c := cursor{b: raw}
	a.inner = readObject(a.inner, &c)
	return a.inner
}

// inside is a raw string without its quotes; nil for any other value.
func inside(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// start takes the first message_start; the bytes of an event are copied, since
// the next event takes their place.
func (a *Assembler) start(message []byte) {
	if a.Started() {
		return
	}
	c := cursor{b: slices.Clone(message)}
	a.head = readObject(a.head, &c)
	u := cursor{b: a.head.get("usage")}
	a.usage = readObject(a.usage, &u)
	u.i = 0
	a.facts.readUsage(&u)
	a.facts.ID, a.facts.Model = decode(inside(a.head.get("id"))), decode(inside(a.head.get("model")))
}

// open begins a content block.
func (a *Assembler) open(o object) {
	index, ok := number(o.get("index"))
	if !ok || a.find(index) != nil {
		return
	}
	if a.Lean {
		a.blocks = append(a.blocks, block{index: index})
		return
	}
	c := cursor{b: slices.Clone(o.get("content_block"))}
	if start := readObject(nil, &c); start != nil {
		a.blocks = append(a.blocks, block{index: index, start: start})
	}
}

func number(raw []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

func (a *Assembler) find(index int64) *block {
	for i := range slices.Backward(a.blocks) { // the newest is the likeliest
		if a.blocks[i].index == index {
			return &a.blocks[i]
		}
	}
	return nil
}

// delta adds a piece to a block. A piece for a block that never began means
// that something is missing.
func (a *Assembler) delta(o object) {
	d := a.part(o.get("delta"))
	rule := ruleOf(inside(d.get("type")))
	if rule == nil {
		return
	}
	index, _ := number(o.get("index"))
	b := a.find(index)
	if b == nil {
		a.err = &NotMessageError{"its stream adds to a content block that never began"}
		return
	}
	piece := d.get(rule.field)
	if rule.join != joinList {
		piece = inside(piece)
		a.text.add(piece)
	}
	if piece != nil && !a.Lean {
		b.grow(rule, piece)
	}
}

// update takes a message_delta: members of the message as they end, and the
// usage, cumulative. A count that is null says nothing new.
func (a *Assembler) update(o object) {
	for _, m := range a.part(o.get("delta")) {
		a.head = a.head.set(slices.Clone(m.name), slices.Clone(m.value))
	}
	usage := o.get("usage")
	for _, m := range a.part(usage) {
		isNull := string(m.value) == "null"
		if !isNull || a.usage.get(string(m.name)) == nil {
			a.usage = a.usage.set(slices.Clone(m.name), slices.Clone(m.value))
		}
		a.exact = a.exact || string(m.name) == "output_tokens" && !isNull
	}
	c := cursor{b: usage}
	a.facts.readUsage(&c)
}
