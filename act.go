package flotilla

import (
	"context"
	"errors"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// intend keeps the intent of the Send that follows.
func (f *Fleet) intend(now time.Duration, p *sched.Persist) {
	c := f.calls[p.Call]
	if c.line != nil { // it draws on a block in place of an intent
		f.intent.Worst = Money(p.Worst)
		return
	}
	l := &f.lanes[p.Lane]
	f.intent = Record{
		Kind: IntentRecord, Job: c.stream.opt.Job, Row: c.row.Index, Attempt: int64(p.Attempt),
		At: f.clock.wall(now), Org: l.org.Name, Pool: l.pool.name, Tier: tierName(sched.Sync), Model: c.row.Facts.Model,
		Worst: Money(p.Worst), Hash: c.row.Facts.Hash, Nth: c.row.Nth,
	}
}

// send queues an exchange behind its intent.
func (f *Fleet) send(now time.Duration, s *sched.Send) {
	c := f.calls[s.Call]
	a := &attempt{id: s.Attempt, call: c, lane: s.Lane, org: f.lanes[s.Lane].org, worst: f.intent.Worst, hedge: s.Hedge, try: s.Try, sentAt: now}
	f.attempts[a.id] = a
	c.flying++
	c.stream.flying++
	c.hedged = c.hedged || s.Hedge
	from := f.ctx
	if c.line != nil {
		from = c.line.ctx
	}
	a.ctx, a.cancel = context.WithCancel(from)
	if f.cfg.Transport != nil {
		a.ctx = context.WithValue(a.ctx, attemptKey{}, int64(s.Attempt))
	}
	if c.line != nil {
		c.stream.tally.lane(s.Lane)
		if l := c.line.line; !f.keeps(l) || f.draw(now, l, a) {
			f.launchLine(a)
		}
		return
	}
	a.stream = f.wantsStream(c.row.Facts)
	f.begun(c.stream)
	c.stream.tally.sent(s)
	f.commits.put(entry{record: f.intent, send: a})
}

// ended takes in an attempt that is over: the core decides, the store learns.
func (f *Fleet) ended(now time.Duration, a *attempt) {
	if a.answer.source != nil && a.call.line == nil {
		f.halt(now, a.call.stream, Stopped, a.answer.source)
	}
	a.endedAt = now
	if a.body == nil { // else it is read on, to its end
		a.cancel()
	}
	c := a.call
	c.stream.flying--
	if c.flying--; c.flying > 0 {
		c.first = a
	}
	if a.answer.answered() || c.last == nil {
		c.last = a
	}
	if a.answer.succeeded() {
		f.lanes[a.lane].pool.latency.add(now - a.sentAt)
	}
	if c.line == nil {
		c.stream.tally.ended(a, c.won(a))
	}
	if a.answer.refused != nil && a.answer.refused.Refusal.Class == sched.NoModel {
		// The header and bytes are one caller's own.
		f.denied[c.row.Facts.Model] = &answer{api: a.answer.api, emulated: a.answer.emulated, status: a.answer.status}
	}
	before := f.judged(a)
	f.ending, f.recorded = a.id, false
	if c.line != nil {
		f.lineEnded(now, c, a)
	}
	f.step(now, a.answer.event())
	f.ending = 0
	delete(f.attempts, a.id)
	f.observe(now, a, before)
	switch {
	case f.recorded:
	case c.line != nil:
		f.recordLineAttempt(now, a)
	default:
		f.commits.put(entry{record: f.attemptRecord(a)})
	}
	switch {
	case c.stream.closed && c.flying == 0:
		f.drop(c)
	case c.line != nil && c.line.expired && c.flying == 0 && f.calls[c.id] == c:
		f.takeBack(now, c, f.lateError(now, c))
	}
}

func (f *Fleet) attemptRecord(a *attempt) Record {
	c, l := a.call, &f.lanes[a.lane]
	return Record{
		Kind: AttemptRecord, Job: c.stream.opt.Job, Row: c.row.Index, Attempt: int64(a.id),
		At: f.clock.wall(a.endedAt), Org: l.org.Name, Pool: l.pool.name, Tier: tierName(sched.Sync), Model: c.row.Facts.Model,
		Worst: a.worst, Charged: a.charged(), InDoubt: a.answer.inDoubt(), Tokens: a.answer.tokens(),
		Status: a.answer.status, Hash: c.row.Facts.Hash, Nth: c.row.Nth,
	}
}

// settle turns the core's verdict into a result, on its way to the store and
// then to the source.
func (f *Fleet) settle(now time.Duration, s *sched.Settle) {
	c := f.calls[s.Call]
	if c == nil {
		return
	}
	if c.line != nil {
		f.settleLine(now, c, s)
		return
	}
	f.recorded = f.recorded || s.Attempt != 0 && s.Attempt == f.ending
	delete(f.calls, s.Call)
	c.stream.open--
	a := f.attempt(c, s.Attempt)
	if a == nil {
		a = c.last
	}
	out := &settlement{stream: c.stream, result: f.resultOf(now, c, a, s)}
	out.size = len(out.result.Message) + 256
	c.stream.undelivered += out.size
	c.stream.owed++
	c.stream.tally.settled(&out.result, s, a)
	f.commits.put(entry{record: f.outcomeRecord(c, a, s, &out.result), deliver: out})
}

func (f *Fleet) resultOf(now time.Duration, c *call, a *attempt, s *sched.Settle) Result {
	r := Result{
		Row: c.row.Index, Tier: tierName(sched.Sync), Model: c.row.Facts.Model, Attempts: s.Attempts,
		Cost: Money(s.Cost), BodyHash: c.row.Facts.Body, InDoubt: s.InDoubt, Hedged: c.hedged, At: f.clock.wall(now),
	}
	if a != nil {
		r.Org, r.Latency, r.Emulated = f.lanes[a.lane].org.Name, a.endedAt-a.sentAt, a.answer.emulated
	}
	switch s.Outcome {
	case sched.Succeeded:
		r.Message, r.Usage, r.StopReason = a.answer.message, a.answer.usage, a.answer.stopReason
	case sched.Canceled:
		r.Err = &CanceledError{}
	case sched.OverBudget:
		r.Err = f.capError(c.stream, 0, c.row.Facts.Worst)
	default:
		r.Err = f.errorOf(c, a, s)
	}
	c.stream.withEarlier(&r)
	return r
}

// errorOf is the error of the attempt whose word is final.
func (f *Fleet) errorOf(c *call, a *attempt, s *sched.Settle) error {
	switch {
	case a == nil && f.denied[c.row.Facts.Model] != nil:
		// No org has the model: what they said of it holds for this call too.
		api := *f.denied[c.row.Facts.Model].api
		api.Attempts = 0
		return &api
	case a == nil:
		return &TransportError{Err: errUnroutable}
	case a.answer.api != nil:
		a.answer.api.Attempts = s.Attempts
		return a.answer.api
	}
	return &TransportError{Err: a.answer.err, InDoubt: s.InDoubt > 0, Attempts: s.Attempts}
}

func (f *Fleet) outcomeRecord(c *call, a *attempt, s *sched.Settle, r *Result) Record {
	rec := Record{
		Kind: OutcomeRecord, Job: c.stream.opt.Job, Row: c.row.Index, Attempt: int64(s.Attempt), At: r.At,
		Org: r.Org, Tier: r.Tier, Pool: c.row.Facts.Pool, Model: r.Model, Type: outcomeType(s.Outcome),
		Cost: r.Cost, Hash: c.row.Facts.Hash, Nth: c.row.Nth, Attempts: r.Attempts, Latency: r.Latency,
		StopReason: r.StopReason, Emulated: r.Emulated, Answer: r.Message, Out: r.Usage.Output,
	}
	if at := f.attempt(c, s.Attempt); at != nil {
		rec.Worst, rec.Status = at.worst, at.answer.status
	}
	if at := f.attempts[s.Attempt]; at != nil { // one that ended before has a record of its own
		rec.Charged, rec.InDoubt, rec.Tokens = at.charged(), at.answer.inDoubt(), at.answer.tokens()
	}
	if r.Err != nil {
		rec.Answer = Envelope(r.Err)
	}
	var api *APIError
	if rec.Status == 0 && errors.As(r.Err, &api) {
		rec.Status = api.Status // of a call that another's answer settled: it made no attempt
	}
	return rec
}

func outcomeType(o sched.Outcome) string {
	switch o {
	case sched.Succeeded:
		return "succeeded"
	case sched.Canceled:
		return "canceled"
	}
	return "errored"
}

// deliver gives a durable result to its source.
func (f *Fleet) deliver(s *settlement) {
	s.err = s.stream.src.Settled(s.stream.ctx, s.result)
	s.result = Result{} // the source has it
	f.inbox.put(message{given: s})
}

// given takes in that a source has a result.
func (f *Fleet) given(now time.Duration, s *settlement) {
	s.done()
	if s.err != nil {
		f.halt(now, s.stream, Stopped, s.err)
	}
}

// abortAll cancels what a stream has in flight.
func (f *Fleet) abortAll(s *stream) {
	for _, a := range f.attempts {
		if a.call.stream == s {
			a.cancel()
			if a.live != nil {
				a.live.leave(ErrClosed)
			}
		}
	}
	for _, b := range f.batchesOf(s) {
		if b.under && b.cancel != nil {
			b.cancel()
		}
	}
}
