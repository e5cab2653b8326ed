package flotilla

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// streamBody is a stream on its way to the caller. What passes is read for what
// it costs; the attempt ends with message_stop, with what breaks the stream off,
// or when the caller leaves it.
type streamBody struct {
	lc    *lineCall
	a     *attempt
	trace *sendTrace
	resp  *http.Response
	until time.Duration // it is kept open no longer

	mu     sync.Mutex
	asm    wire.Assembler
	ended  bool
	result CallResult
	err    error // what reads give from here on; nil: what the connection gives
}

// stream hands a stream over as soon as its head is there.
func (lc *lineCall) stream(a *attempt, trace *sendTrace, resp *http.Response) *Answer {
	f := lc.line.fleet
	a.patience.Stop()
	a.reading = reading(resp.Header)
	a.handed = true
	b := &streamBody{lc: lc, a: a, trace: trace, resp: resp, until: f.clock.now() + longestStream}
	b.asm.Lean = !lc.line.opt.Keep
	a.body = b
	out := lc.answerOf(a, resp.StatusCode, resp.Header, int(a.try))
	out.Emulated = resp.Header.Get(emulatedHeader)
	out.Body = b
	out.result = b.settled
	f.inbox.put(message{first: a})
	return out
}

// Read implements io.Reader: the bytes as they arrive.
func (b *streamBody) Read(p []byte) (int, error) {
	f := b.lc.line.fleet
	b.a.patience.Reset(f.clock.real(max(min(streamIdle, b.until-f.clock.now()), time.Nanosecond)))
	n, err := b.resp.Body.Read(p)
	b.a.patience.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	if n > 0 && !b.ended {
		_, _ = b.asm.Write(p[:n]) // its error is Finish's too
		if b.asm.Ended() {
			b.finish()
		}
	}
	switch {
	case err == nil:
		return n, nil
	case !b.ended && errors.Is(err, io.EOF):
		b.finish() // an event that lacks only its blank line may be the last
	case !b.ended:
		b.breakOff(f.failure(b.a, b.trace, err, b.resp))
	}
	if b.result.Err == nil {
		return n, io.EOF // the answer is whole, whatever became of the connection
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	var api *APIError
	if errors.As(b.result.Err, &api) {
		err = io.EOF // the provider ended it itself, by an event that says so
	}
	b.err = err
	return n, err
}

// finish ends the attempt by what the stream said.
func (b *streamBody) finish() {
	f, a := b.lc.line.fleet, b.a
	message, m, err := b.asm.Finish(nil)
	var broken *wire.StreamError
	switch {
	case errors.As(err, &broken):
		b.breakOff(f.streamError(a, b.resp, broken.Body, b.asm.Started()))
	case err != nil:
		b.breakOff(f.cut(a, b.resp, err))
	default:
		if b.asm.Lean {
			message = nil
		}
		a.answer = f.success(a, b.resp, message, m)
		b.end(CallResult{
			Cost: b.lc.prior + a.charged(), Usage: a.answer.usage, StopReason: a.answer.stopReason, Message: a.answer.message,
		})
	}
}

// breakOff ends the attempt without a whole answer: what it cost is reckoned by
// what has come, and the caps keep its worst case (facts/gateways.md, "Client
// disconnect and billing").
func (b *streamBody) breakOff(ans answer) {
	f, a := b.lc.line.fleet, b.a
	a.answer = ans
	res := CallResult{Cost: b.lc.prior, Err: ans.err}
	switch {
	case ans.api != nil:
		res.Err = ans.api
	default:
		res.Err = &TransportError{Err: ans.err, InDoubt: ans.inDoubt(), Attempts: int(a.try)}
	}
	if b.asm.Started() {
		a.answer.usage = usageOf(b.asm.Facts())
		model, _ := f.prices.Lookup(b.lc.Facts.Model)
		a.estimate = model.Cost(a.answer.usage)
		res.Estimated, res.Usage = true, a.answer.usage
		res.Cost += a.estimate
	} else {
		res.Cost += a.charged()
	}
	b.end(res)
}

func (b *streamBody) end(res CallResult) {
	b.ended, b.result = true, res
	b.lc.line.fleet.inbox.put(message{ended: b.a})
}

// Close implements io.Closer. The rest of a whole answer is drained, so that
// its connection can carry the next call.
func (b *streamBody) Close() error {
	b.leave()
	b.mu.Lock()
	whole := b.err == nil && b.result.Err == nil
	b.err = errBodyClosed
	b.mu.Unlock()
	if whole {
		b.a.patience.Reset(drainTime)
		_, _ = io.CopyN(io.Discard, b.resp.Body, 64<<10)
		b.a.patience.Stop()
	}
	err := b.resp.Body.Close()
	b.a.cancel()
	return err
}

var errBodyClosed = errors.New("the body of the answer is closed")

// leave ends an attempt whose answer is left before its end: its exchange is
// cancelled.
func (b *streamBody) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.a.cancel()
	b.breakOff(answer{
		err: errLeft, status: b.resp.StatusCode, emulated: b.resp.Header.Get(emulatedHeader),
		failed: &sched.Failed{Attempt: b.a.id, Failure: sched.Aborted, Reading: b.a.reading},
	})
}

var errLeft = errors.New("the answer was left before its end")

func (b *streamBody) settled() (CallResult, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.result, b.ended
}
