package flotilla

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// maxAnswer bounds an answer held in memory: the longest answers are a few
// megabytes, and a server gone wrong must not take the process with it.
const maxAnswer = 64 << 20

// maxError bounds an error's body: a proxy's endless page is read no further.
const maxError = 1 << 20

// answer is how an exchange ended.
type answer struct {
	done    *sched.Done
	refused *sched.Refused
	failed  *sched.Failed

	status     int
	message    []byte // the Message on one line, of a Done
	usage      price.Usage
	beyond     Money // what a usage that cannot be right would cost; 0: it can
	stopReason string
	emulated   string
	api        *APIError
	header     http.Header // of a refused call of a line …
	raw        []byte      // … and its body
	partial    bool        // it broke off after output had begun: what that cost is unknown
	err        error       // why it failed
	source     error       // the source could not give the body: nothing was sent
}

func (a *answer) event() sched.Event {
	switch {
	case a.done != nil:
		return a.done
	case a.refused != nil:
		return a.refused
	}
	return a.failed
}

func (a *answer) succeeded() bool { return a.done != nil }

// answered reports whether the provider said something that can stand as the
// call's outcome.
func (a *answer) answered() bool { return a.done != nil || a.api != nil }

// outage reports whether the attempt got no answer of the API: the network
// failed, or something in front of the API answered in its place.
func (a *answer) outage() bool {
	if a.refused != nil {
		return a.refused.Refusal.Class == sched.ServerError || a.refused.Refusal.Class == sched.Unknown504
	}
	return a.failed != nil && a.failed.Failure != sched.Aborted
}

// inDoubt reports whether the attempt may have been billed without our knowing
// how much (interface.md, "In doubt").
func (a *answer) inDoubt() bool {
	if a.failed != nil {
		return a.failed.Failure != sched.NotSent
	}
	return a.partial || a.refused != nil && a.refused.Refusal.Class == sched.Unknown504
}

// tokens counts towards a rolling daily cap.
func (a *answer) tokens() int64 {
	u := a.usage
	return u.Input + u.CacheWrite5m + u.CacheWrite1h + u.Output
}

// charged is what the attempt cost: exact when known, worst case while in doubt.
func (a *attempt) charged() Money {
	switch {
	case a.answer.done != nil:
		return Money(a.answer.done.Cost)
	case a.answer.inDoubt():
		return a.worst
	}
	return 0
}

// launchAttempt begins an exchange whose intent is durable. It is called from
// the committer.
func (f *Fleet) launchAttempt(a *attempt) {
	if a.dropped != nil {
		a.answer = notSent(a, fmt.Errorf("journaling the intent: %w", a.dropped))
		f.inbox.put(message{ended: a})
		return
	}
	f.flights.Add(1)
	go func() {
		defer f.flights.Done()
		a.answer = f.exchange(a)
		f.inbox.put(message{ended: a})
	}()
}

func notSent(a *attempt, err error) answer {
	return answer{err: err, failed: &sched.Failed{Attempt: a.id, Failure: sched.NotSent}}
}

// exchange carries out one HTTP exchange.
func (f *Fleet) exchange(a *attempt) answer {
	body, err := a.call.stream.src.Body(a.call.row.Index)
	if err != nil {
		ans := notSent(a, err)
		ans.source = fmt.Errorf("reading row %d: %w", a.call.row.Index+1, err)
		return ans
	}
	if a.stream {
		body, _ = wire.SpliceStream(body)
	}
	org := a.org
	patience := time.AfterFunc(f.clock.real(flightDeadline), a.giveUp)
	defer patience.Stop()
	req, trace := newSend(a.ctx, http.MethodPost, org.messages, a.call.stream.headerTo(org), body)
	resp, err := org.transport.RoundTrip(req)
	if err != nil {
		return f.failure(a, trace, err, nil)
	}
	a.headAt = f.clock.now()
	defer resp.Body.Close()
	if resp.Header.Get(ourHeader) != "" {
		return answer{source: ErrOurselves, err: ErrOurselves, failed: &sched.Failed{Attempt: a.id, Failure: sched.Cut}}
	}
	success := resp.StatusCode/100 == 2
	if success && wire.IsEventStream(resp.Header) {
		patience.Reset(f.clock.real(longestStream))
		return f.readStream(a, trace, resp)
	}
	longest := int64(maxError)
	if success {
		longest = maxAnswer
	}
	data, err := readBody(resp, longest)
	switch {
	case success && err != nil:
		return f.failure(a, trace, err, resp)
	case success:
		return f.readMessage(a, resp, data)
	case err != nil:
		return f.halfRefusal(a, resp, data)
	}
	return f.refusal(a, resp, resp.StatusCode, data)
}

// readBody reads an answer up to a length: where the header tells how long it
// is, into a buffer of that size.
func readBody(resp *http.Response, longest int64) ([]byte, error) {
	if resp.StatusCode < http.StatusOK {
		return nil, nil // 101: what follows is no body, and need not end
	}
	n := resp.ContentLength
	if n <= 0 || n > longest {
		return io.ReadAll(io.LimitReader(resp.Body, longest))
	}
	data := make([]byte, n)
	got, err := io.ReadFull(resp.Body, data)
	return data[:got], err
}

// oneLine takes the line breaks out of a message that has any: most have none.
func oneLine(message []byte) []byte {
	if bytes.IndexByte(message, '\n') < 0 && bytes.IndexByte(message, '\r') < 0 {
		return message
	}
	return wire.OneLine(nil, message)
}

// giveUp ends an exchange that takes too long.
func (a *attempt) giveUp() {
	a.silent.Store(true)
	a.cancel()
}

// failure is an exchange that gave no answer.
func (f *Fleet) failure(a *attempt, trace *sendTrace, err error, resp *http.Response) answer {
	ans := answer{err: errors.New(f.redact(err.Error()))}
	ans.failed = &sched.Failed{Attempt: a.id, Failure: trace.failure(err)}
	switch {
	case ans.failed.Failure != sched.Aborted || !a.silent.Load():
	case resp != nil:
		ans.err, ans.failed.Failure = errSilent, sched.Cut
	default:
		ans.err, ans.failed.Failure = errLate, sched.Timeout
	}
	if resp != nil {
		ans.failed.Reading = reading(resp.Header)
		ans.emulated = resp.Header.Get(emulatedHeader)
		ans.status = resp.StatusCode
	}
	return ans
}

// readMessage takes a whole answer.
func (f *Fleet) readMessage(a *attempt, resp *http.Response, data []byte) answer {
	m, err := wire.ReadMessage(data)
	if err != nil {
		return f.notAMessage(a, resp, data, err)
	}
	// A whole Message is one whatever the media type: a proxy that spoils the
	// header must not make us pay twice.
	return f.success(a, resp, data, m)
}

// notAMessage is a 200 that is no answer: an error body under a wrong status is
// what it says; anything else broke on the way and may have been billed.
func (f *Fleet) notAMessage(a *attempt, resp *http.Response, data []byte, err error) answer {
	if errors.Is(err, wire.ErrErrorBody) {
		return f.refusal(a, resp, resp.StatusCode, data)
	}
	return answer{
		err: err, emulated: resp.Header.Get(emulatedHeader), status: resp.StatusCode,
		failed: &sched.Failed{Attempt: a.id, Failure: sched.Cut, Reading: reading(resp.Header)},
	}
}

func (f *Fleet) success(a *attempt, resp *http.Response, message []byte, m wire.MessageFacts) answer {
	model, _ := f.prices.Lookup(a.call.row.Facts.Model)
	usage, cost, beyond := billed(model, usageOf(m), a.call.row.bound())
	return answer{
		status: http.StatusOK, message: oneLine(message), usage: usage, beyond: beyond, stopReason: m.StopReason,
		emulated: resp.Header.Get(emulatedHeader),
		done: &sched.Done{
			Attempt: a.id, Cost: int64(cost), Reading: reading(resp.Header),
			Usage: sched.Usage{Input: usage.Input, CacheWrite: usage.CacheWrite5m + usage.CacheWrite1h, CacheRead: usage.CacheRead, Output: usage.Output},
		},
	}
}

// refusal is an error answer; status is 200 for an error event in a stream.
func (f *Fleet) refusal(a *attempt, resp *http.Response, status int, data []byte) answer {
	r := wire.Classify(status, resp.Header, data)
	return answer{
		status: status, emulated: resp.Header.Get(emulatedHeader),
		api: f.apiError(&r, status, data),
		refused: &sched.Refused{
			Attempt: a.id, Reading: reading(resp.Header), Refusal: f.refusalOf(&r),
		},
	}
}

// halfRefusal is an error answer whose body broke off: its status proves that
// nothing is billed, and its headers count. What only its text could have told
// of the request or the key stays open, so neither is blamed.
func (f *Fleet) halfRefusal(a *attempt, resp *http.Response, data []byte) answer {
	ans := f.refusal(a, resp, resp.StatusCode, data)
	if resp.StatusCode < http.StatusInternalServerError && resp.StatusCode != http.StatusTooManyRequests {
		ans.refused.Refusal.Class = sched.ServerError
	}
	return ans
}

// readStream takes an answer event by event.
func (f *Fleet) readStream(a *attempt, trace *sendTrace, resp *http.Response) answer {
	a.reading = reading(resp.Header)
	f.inbox.put(message{first: a})
	idle := time.AfterFunc(f.clock.real(streamIdle), a.giveUp)
	defer idle.Stop()
	var asm wire.Assembler
	buf := make([]byte, 16<<10)
	for !asm.Ended() {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			idle.Reset(f.clock.real(streamIdle))
			_, _ = asm.Write(buf[:n]) // its error ends the loop and is Finish's too
		}
		if err != nil && !errors.Is(err, io.EOF) && !asm.Ended() {
			return f.failure(a, trace, err, resp)
		}
		if err != nil {
			break
		}
	}
	message, m, err := asm.Finish(nil)
	var broken *wire.StreamError
	switch {
	case errors.As(err, &broken):
		return f.streamError(a, resp, broken.Body, asm.Started())
	case err != nil:
		return f.cut(a, resp, err)
	}
	// The rest is drained so that the connection can carry the next call; the
	// answer is whole, and does not wait for what keeps the stream open.
	idle.Reset(drainTime)
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	return f.success(a, resp, message, m)
}

func (f *Fleet) cut(a *attempt, resp *http.Response, err error) answer {
	return answer{
		err: err, status: resp.StatusCode, emulated: resp.Header.Get(emulatedHeader),
		failed: &sched.Failed{Attempt: a.id, Failure: sched.Cut, Reading: a.reading},
	}
}

// streamError is an error event in a stream. What was produced before it may be
// billed: nothing proves that it is not, so its dollars stay in doubt.
func (f *Fleet) streamError(a *attempt, resp *http.Response, data []byte, begun bool) answer {
	ans := f.refusal(a, resp, http.StatusOK, data)
	if begun {
		ans.partial, ans.refused.Cost = true, int64(a.worst)
	}
	return ans
}

// Bounds on the time of an exchange, on the scaled clock.
const (
	// flightDeadline is for an answer in one piece, and for the head of a stream:
	// the longest the official SDKs wait (facts/claude-api.md 2.5).
	flightDeadline = 10 * time.Minute
	// streamIdle is for the silence of a stream; pings keep it open.
	streamIdle = 2 * time.Minute
	// longestStream ends one that is kept open for ever: twice what the most
	// output a model gives, 128,000 tokens, takes at 20 a second.
	longestStream = 4 * time.Hour
)

// drainTime is how long, on the machine's clock, the end of a stream's
// connection may stay away after the answer.
const drainTime = time.Second

var (
	errUnroutable = errors.New("no org can take this call")
	errSilent     = errors.New("the answer broke off in silence")
	errLate       = errors.New("no answer within ten minutes")
)
