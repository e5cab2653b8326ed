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

	// The reader's: what was read before it was handed over, and what came with it.
	ahead    []byte
	aheadErr error
	draining bool // the answer is whole: until is near

	mu     sync.Mutex
	asm    wire.Assembler
	ended  bool
	result CallResult
	err    error // what reads give from here on; nil: what the connection gives
}

// firstPiece is how much of a stream is read at most before it is handed over. Its
// first event, message_start, has a few hundred bytes.
const firstPiece = 4 << 10

// stream hands a stream over once its message has begun: before that it can still
// be repeated, also where it breaks off, or says that the provider is overloaded.
func (lc *lineCall) stream(a *attempt, trace *sendTrace, resp *http.Response) (*Answer, error) {
	f := lc.line.fleet
	b := &streamBody{lc: lc, a: a, trace: trace, resp: resp, until: f.clock.now() + longestStream}
	b.asm.Lean = !lc.line.opt.Keep
	err := b.begin()
	a.reading = reading(resp.Header)
	switch {
	case b.asm.Started(), err == nil:
	case errors.Is(err, io.EOF), b.asm.Ended():
		return lc.noStream(a, resp, b)
	default:
		_ = resp.Body.Close()
		return lc.failed(a, f.failure(a, trace, err, resp))
	}
	a.handed, a.body = true, b
	out := lc.answerOf(a, resp.StatusCode, resp.Header, a.try)
	out.Emulated = resp.Header.Get(emulatedHeader)
	out.Body = b
	out.result = b.settled
	f.inbox.put(message{first: a})
	b.mu.Lock()
	if b.asm.Ended() {
		b.finish()
	}
	b.mu.Unlock()
	return out, nil
}

// begin reads until the message has begun, or firstPiece of what is something else.
// The error says why it has not.
func (b *streamBody) begin() (err error) {
	ahead := make([]byte, firstPiece)
	n := 0
	for err == nil && n < len(ahead) && !b.asm.Started() {
		var got int
		got, b.aheadErr = b.fetch(ahead[n:])
		_, err = b.asm.Write(ahead[n : n+got])
		n += got
		if err == nil {
			err = b.aheadErr
		}
	}
	b.ahead = ahead[:n]
	return err
}

// noStream is a stream that ended, or said that it is an error, before its
// message began.
func (lc *lineCall) noStream(a *attempt, resp *http.Response, b *streamBody) (*Answer, error) {
	f := lc.line.fleet
	_ = resp.Body.Close()
	_, _, err := b.asm.Finish(nil)
	var broken *wire.StreamError
	if !errors.As(err, &broken) {
		return lc.failed(a, f.cut(a, resp, err))
	}
	ans := f.streamError(a, resp, broken.Body, false)
	ans.header, ans.raw = http.Header{"Content-Type": {"application/json"}}, f.redactBytes(broken.Body)
	return lc.failed(a, ans)
}

// fetch reads from the connection; its silence is bounded only while somebody
// wants more. What follows a whole answer is waited for a moment, so that the
// connection can carry the next call; one that is kept open ends the answer too.
func (b *streamBody) fetch(p []byte) (int, error) {
	f := b.lc.line.fleet
	if b.asm.Ended() && !b.draining {
		b.draining, b.until = true, f.clock.now()+time.Duration(float64(drainTime)*f.clock.speed)
	}
	b.a.patience.Reset(f.clock.real(max(min(streamIdle, b.until-f.clock.now()), time.Nanosecond)))
	defer b.a.patience.Stop()
	return b.resp.Body.Read(p)
}

// Read implements io.Reader: the bytes as they arrive.
func (b *streamBody) Read(p []byte) (int, error) {
	if b.ahead != nil {
		n := copy(p, b.ahead)
		if b.ahead = b.ahead[n:]; len(b.ahead) > 0 || b.aheadErr == nil {
			if len(b.ahead) == 0 {
				b.ahead = nil
			}
			return b.pass(nil, n, nil)
		}
		b.ahead = nil
		return b.pass(nil, n, b.aheadErr)
	}
	n, err := b.fetch(p)
	return b.pass(p[:n], n, err)
}

// pass takes note of what was read, and says what the reader is told.
func (b *streamBody) pass(read []byte, n int, err error) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	if len(read) > 0 && !b.ended {
		_, _ = b.asm.Write(read) // its error is Finish's too
		if b.asm.Ended() {
			b.finish()
		}
	}
	if err == nil {
		return n, nil
	}
	switch {
	case b.ended:
	case errors.Is(err, io.EOF):
		b.finish() // an event that lacks only its blank line may be the last
	default:
		b.breakOff(b.lc.line.fleet.failure(b.a, b.trace, err, b.resp))
	}
	b.err = b.endOf(err)
	return n, b.err
}

// endOf is what a reader is told at the end, where the connection said err.
func (b *streamBody) endOf(err error) error {
	var api *APIError
	switch failed := b.result.Err; {
	case failed == nil, errors.As(failed, &api):
		return io.EOF // it is whole, or the provider ended it by an event that says so
	case b.lc.ctx.Err() != nil:
		return b.lc.ctx.Err()
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	default:
		return failed
	}
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
		res.Err = &TransportError{Err: ans.err, InDoubt: ans.inDoubt(), Attempts: a.try}
	}
	if b.asm.Started() {
		model, _ := f.prices.Lookup(b.lc.Facts.Model)
		a.answer.usage, a.estimate, a.answer.beyond = billed(model, usageOf(b.asm.Facts()), a.call.row.bound())
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
	b.leave(errBodyClosed)
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
// cancelled, and reads give why.
func (b *streamBody) leave(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.err = why
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
