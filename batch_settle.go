package flotilla

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// defaultAttempts is how often a row may fail by itself (Retry.MaxAttempts).
const defaultAttempts = 3

// takeRow takes in what a batch answered to a row. The row settles, or it is
// noted to be given back once the results are read.
func (f *Fleet) takeRow(now time.Duration, b *batch, r *batchRow, a *rowAnswer, emulated string) {
	switch a.kind {
	case wire.RowSucceeded:
		f.rowSucceeded(now, b, r, a, emulated)
	case wire.RowErrored:
		f.rowErrored(now, b, r, a, emulated)
	case wire.RowExpired:
		b.tally.expired++
		f.rowFailed(now, b, r, &ExpiredError{Attempts: int(r.failed) + 1}, Record{}, true, emulated)
	case wire.RowCanceled:
		b.tally.canceled++
		f.rowBack(now, b, r, Record{})
	default:
		f.rowLost(now, b, r, a)
	}
}

func (f *Fleet) rowSucceeded(now time.Duration, b *batch, r *batchRow, a *rowAnswer, emulated string) {
	said := usageOf(a.facts)
	said.Batch = true // it came by batch, whatever its service_tier says
	model, _ := f.prices.Lookup(r.model)
	usage, cost, beyond := billed(model, said, r.bound())
	f.tellBeyond(now, &f.lanes[b.lane], beyond)
	t := &b.tally
	t.succeeded++
	t.cost += cost
	t.usage.Input += usage.Input
	t.usage.CacheWrite += usage.CacheWrite5m + usage.CacheWrite1h
	t.usage.CacheRead += usage.CacheRead
	t.usage.Output += usage.Output
	f.settleRow(now, b, r, Result{
		Message: a.message, Usage: usage, StopReason: a.facts.StopReason, Emulated: emulated,
	}, Record{Charged: cost, Out: usage.Output})
}

// rowErrored takes in an error: final where it is the request's own fault,
// else the row may go again, at most as often as one that fails by sync.
func (f *Fleet) rowErrored(now time.Duration, b *batch, r *batchRow, a *rowAnswer, emulated string) {
	api := f.apiError(&a.refusal, 0, a.envelope)
	api.Envelope, api.Attempts = json.RawMessage(f.redact(string(a.envelope))), int(r.failed)+1
	if !wire.RetryableRow(&a.refusal) {
		b.tally.errored++
		f.settleRow(now, b, r, Result{Err: api, Emulated: emulated}, Record{})
		return
	}
	f.rowFailed(now, b, r, api, Record{}, ownFault(a.refusal.Class), emulated)
}

// ownFault reports whether a row's failure counts against it: limits, overload
// and trouble of the account never do (facts/peer-faults.md 4 and 7).
func ownFault(c wire.Class) bool {
	return c == wire.ServerError || c == wire.Unknown504 || c == wire.Conflict
}

// rowFailed gives a row back, or settles it when its attempts are used up.
func (f *Fleet) rowFailed(now time.Duration, b *batch, r *batchRow, err error, rec Record, own bool, emulated string) {
	if own {
		r.failed++
		rec.Status = http.StatusInternalServerError // what a store knows a row's own failure by
	}
	if int(r.failed) >= cmp.Or(f.cfg.Retry.MaxAttempts, defaultAttempts) {
		b.tally.errored++
		f.settleRow(now, b, r, Result{Err: err, Emulated: emulated}, rec)
		return
	}
	f.rowBack(now, b, r, rec)
}

// rowLost is a row that may have been answered and billed without our having
// the answer.
func (f *Fleet) rowLost(now time.Duration, b *batch, r *batchRow, a *rowAnswer) {
	b.tally.doubt += r.worst
	r.inDoubt = true
	rec := Record{Charged: r.worst, InDoubt: true}
	err := &TransportError{Err: &lostAnswerError{a.fault}, InDoubt: true, Attempts: int(r.failed) + 1}
	f.rowFailed(now, b, r, err, rec, true, "")
}

// settleMissing takes in that no download told of some rows.
func (f *Fleet) settleMissing(now time.Duration, b *batch) {
	billed := b.withholds()
	for i := range b.rows {
		r := &b.rows[i]
		switch {
		case r.seen != 0 || r.done:
		case billed:
			f.rowLost(now, b, r, &rowAnswer{fault: "it is missing in the results"})
		default:
			f.rowBack(now, b, r, Record{})
		}
	}
}

// rowBack notes that a row is to be given back, and journals what its turn in
// the batch came to. Where batches are only ended it settles canceled.
func (f *Fleet) rowBack(now time.Duration, b *batch, r *batchRow, rec Record) {
	b.tally.back++
	if b.stream.opt.CancelBatches {
		f.settleRow(now, b, r, Result{Err: &CanceledError{}}, rec)
		return
	}
	r.done, r.back = true, true
	f.fillRecord(now, b, r, &rec)
	rec.Kind = AttemptRecord
	f.commits.put(entry{record: rec})
	b.stream.tally.batchRow(b, nil, &rec)
	f.observeRow(b, &rec, nil)
	b.stream.tried(r.index, &rec)
}

// settleRow gives a row its result. res and rec hold what is particular to it.
func (f *Fleet) settleRow(now time.Duration, b *batch, r *batchRow, res Result, rec Record) {
	r.done = true
	f.fillRecord(now, b, r, &rec)
	s := b.stream
	res.Row, res.Org, res.Tier, res.Model, res.BodyHash = r.index, b.org.Name, rec.Tier, r.model, r.body
	res.At, res.Latency, res.Cost, res.Attempts = rec.At, max(now-b.sentAt, 0), rec.Charged, 1
	if rec.InDoubt {
		res.InDoubt = 1
	}
	s.withEarlier(&res)
	rec.Kind, rec.Type, rec.Cost, rec.Attempts, rec.Latency = OutcomeRecord, outcomeOf(res.Err), res.Cost, res.Attempts, res.Latency
	rec.StopReason, rec.Emulated, rec.Answer = res.StopReason, res.Emulated, res.Message
	if res.Err != nil {
		rec.Answer = Envelope(res.Err)
	}
	out := &settlement{stream: s, result: res}
	out.size = len(res.Message) + 256
	s.undelivered += out.size
	s.owed++
	s.tally.batchRow(b, &res, &rec)
	f.observeRow(b, &rec, &res)
	f.commits.put(entry{record: rec, deliver: out})
}

// fillRecord completes a record with what is the same for all rows of a batch.
func (f *Fleet) fillRecord(now time.Duration, b *batch, r *batchRow, rec *Record) {
	rec.Job, rec.Row, rec.Batch, rec.At = b.stream.opt.Job, r.index, b.number, f.clock.wall(now)
	rec.Org, rec.Pool, rec.Tier, rec.Model = b.org.Name, f.lanes[b.lane].pool.name, tierName(sched.Batch), r.model
	rec.Worst, rec.Hash, rec.Nth = r.worst, r.hash, int(r.nth)
	b.worst -= r.worst
}

// outcomeOf is the word of interface.md for how a row of a batch ended.
func outcomeOf(err error) string {
	switch err.(type) {
	case nil:
		return "succeeded"
	case *ExpiredError:
		return "expired"
	case *CanceledError:
		return "canceled"
	}
	return "errored"
}

// lostAnswerError says why an answer that was given is not had.
type lostAnswerError struct{ fault string }

func (e *lostAnswerError) Error() string { return "the batch's answer cannot be read: " + e.fault }

// earlier is what a row's turns in batches that gave it back came to.
type earlier struct {
	attempts, doubts int
	cost             Money
}

// tried notes a turn of a row in a batch that did not settle it.
func (s *stream) tried(row int, rec *Record) {
	if s.earlier == nil {
		s.earlier = map[int]earlier{}
	}
	e := s.earlier[row]
	e.attempts++
	e.cost += rec.Charged
	if rec.InDoubt {
		e.doubts++
	}
	s.earlier[row] = e
}

// withEarlier adds the turns that a row had in batches.
func (s *stream) withEarlier(r *Result) {
	e, ok := s.earlier[r.Row]
	if !ok {
		return
	}
	delete(s.earlier, r.Row)
	r.Attempts += e.attempts
	r.InDoubt += e.doubts
	r.Cost += e.cost
}
