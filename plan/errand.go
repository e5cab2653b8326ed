package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// How long calls to the batch endpoints take. The provider sees each at the
// instant it is sent.
const (
	shortCall   = 300 * time.Millisecond // a poll, a cancel, a page of a list
	createBase  = time.Second
	uploadRate  = 20e6 // bytes a second
	resultsBase = time.Second
	resultsRate = 20e3 // rows a second, to be read and made durable
)

// pollAgain is the retry-after of a batch in progress (facts/claude-api.md 4.4).
const pollAgain = 10 * time.Second

// BatchCall is a kind of call to the batch endpoints.
type BatchCall uint8

// Batch calls. The zero value stands for all of them.
const (
	AnyCall BatchCall = iota
	CreateCall
	PollCall
	ResultsCall
	CancelCall
	FindCall // the listing that looks for a lost create
	ListCall // the listing that looks at the queue
)

// errand is a batch call that is under way.
type errand struct {
	at   time.Duration // when its answer is there
	seq  int
	call BatchCall
	id   sched.BatchID
	says sched.Event // nil: results that are read when it lands
	lost bool        // the connection broke under it: the answer is a failure
}

// errand makes one call for a batch.
func (d *driver) errand(now time.Duration, m *emulator.Model, call BatchCall, id sched.BatchID) {
	b := d.batches[id]
	if b == nil {
		return
	}
	e := &errand{call: call, id: id, at: now + d.duration(call, b)}
	if o := d.outage(now); o != nil {
		e.at, e.says = now+o.Fails, fails(call, id, sched.NotSent)
	} else {
		e.says = d.ask(now, m, call, b)
	}
	d.leave(e)
}

func (d *driver) leave(e *errand) {
	d.errands++
	e.seq = d.errands
	at, _ := slices.BinarySearchFunc(d.away, e, sooner)
	d.away = slices.Insert(d.away, at, e)
}

func sooner(a, b *errand) int { return cmp.Or(cmp.Compare(a.at, b.at), a.seq-b.seq) }

func (d *driver) duration(call BatchCall, b *batch) time.Duration {
	switch call {
	case CreateCall:
		return createBase + time.Duration(float64(b.bytes)/uploadRate*float64(time.Second))
	case ResultsCall:
		return resultsBase + time.Duration(float64(len(b.rows))/resultsRate*float64(time.Second))
	}
	return shortCall
}

// fails is how the scheduler is told of a call that got no answer.
func fails(call BatchCall, id sched.BatchID, how sched.Failure) sched.Event {
	switch call {
	case CreateCall:
		return &sched.BatchFailed{Batch: id, Failure: how}
	case FindCall:
		return &sched.BatchAbsent{Batch: id}
	case ResultsCall:
		return &sched.BatchUncollected{Batch: id}
	}
	return &sched.BatchPolled{Batch: id, State: sched.BatchUnknown}
}

// refused is the same for a call that was answered by an error.
func refused(call BatchCall, id sched.BatchID, r sched.Refusal, tooBig bool) sched.Event {
	switch call {
	case CreateCall:
		return &sched.BatchRefused{Batch: id, Refusal: r, TooBig: tooBig}
	case PollCall, CancelCall:
		return &sched.BatchPolled{Batch: id, State: sched.BatchUnknown, Refusal: &r}
	}
	return fails(call, id, sched.Reset)
}

// ask puts a call to the provider and gives what will be heard of it; nil:
// results that can be read.
func (d *driver) ask(now time.Duration, m *emulator.Model, call BatchCall, b *batch) sched.Event {
	org := d.orgs[b.lane]
	d.out.BatchCalls++
	if ok, wait := m.BatchCall(now, org); !ok {
		d.out.BatchRefused++
		return refused(call, b.id, sched.Refusal{Class: sched.RateLimited, RetryAfter: wait}, false)
	}
	fault := d.strike(now, call)
	switch {
	case fault == NotFound && call != CreateCall:
		return missing(call, b.id)
	case fault == ErrorAnswer, fault == RequestLost:
		return fails(call, b.id, sched.Cut)
	}
	says := d.reply(now, m, call, b)
	if fault == AnswerLost {
		return fails(call, b.id, sched.Cut)
	}
	return says
}

func missing(call BatchCall, id sched.BatchID) sched.Event {
	switch call {
	case ResultsCall:
		return &sched.BatchUncollected{Batch: id}
	case FindCall:
		return &sched.BatchAbsent{Batch: id}
	}
	return &sched.BatchPolled{Batch: id, State: sched.BatchMissing}
}

func (d *driver) reply(now time.Duration, m *emulator.Model, call BatchCall, b *batch) sched.Event {
	switch call {
	case CreateCall:
		return d.create(now, m, b)
	case FindCall:
		if b.made == nil {
			return &sched.BatchAbsent{Batch: b.id, Asked: true}
		}
		return &sched.BatchCreated{Batch: b.id, Sure: false}
	case CancelCall:
		m.CancelBatch(now, b.made)
		if !b.cancels {
			b.cancels = true
			d.out.Cancels++
		}
	case ResultsCall:
		return nil
	}
	return stands(now, b)
}

// stands is what a poll says.
func stands(now time.Duration, b *batch) sched.Event {
	p := &sched.BatchPolled{Batch: b.id, State: sched.BatchRunning, RetryAfter: pollAgain}
	switch b.made.Status(now) {
	case emulator.Ended:
		p.State, p.RetryAfter = sched.BatchEnded, 0
	case emulator.Canceling:
		p.State = sched.BatchCanceling
	}
	return p
}

func (d *driver) create(now time.Duration, m *emulator.Model, b *batch) sched.Event {
	org := d.orgs[b.lane]
	b.at = now
	made, why := m.Submit(now, org, len(b.rows), b.bytes, func(k int) emulator.Arrival {
		a := d.calls(int(b.rows[k])).Arrival
		a.Org = org
		return a
	})
	if made == nil {
		d.out.BatchRefused++
		return notMade(b.id, &why)
	}
	if b.made != nil {
		d.out.Doubled++
	}
	b.made = made
	d.out.made(now, b, d.inProcess(now, org), org)
	return &sched.BatchCreated{Batch: b.id, Sure: true}
}

// heard is what the scheduler hears when an errand's answer is there.
func (d *driver) heard(now time.Duration, e *errand) sched.Event {
	b := d.batches[e.id]
	switch {
	case e.lost:
		return fails(e.call, e.id, sched.Reset)
	case e.says != nil || b == nil:
		if _, ok := e.says.(*sched.BatchCreated); ok && b != nil {
			b.known, b.sure = true, e.call == CreateCall
		}
		return e.says
	}
	out := d.collect(now, b)
	d.out.collected(now, b, out.Back)
	return &out
}

// breakErrands loses the answers of all calls that are under way.
func (d *driver) breakErrands(seen time.Duration) {
	for _, e := range d.away {
		e.at, e.lost = seen, e.call != ListCall
	}
	slices.SortFunc(d.away, sooner)
}

// list asks what an org's queue holds.
func (d *driver) list(now time.Duration, m *emulator.Model, lane sched.LaneID) {
	org := d.orgs[lane]
	d.out.BatchCalls++
	seen := &sched.QueueSeen{Lane: lane, Others: d.seen[org]}
	e := &errand{call: ListCall, at: now + shortCall, says: seen}
	if ok, _ := m.BatchCall(now, org); !ok {
		d.out.BatchRefused++
	} else if d.outage(now) == nil && d.strike(now, ListCall) == NoFault {
		d.seen[org] = d.others(now, m, org)
		seen.Others = d.seen[org]
	}
	d.leave(e)
}

// notMade is how the scheduler is told of a create that was refused. What an
// overloaded provider answers proves nothing (facts/claude-api.md 2.5).
func notMade(id sched.BatchID, why *emulator.BatchRefusal) sched.Event {
	r := sched.Refusal{RetryAfter: why.RetryAfter}
	switch why.Class {
	case emulator.Overload:
		return fails(CreateCall, id, sched.Cut)
	case emulator.QueueFull:
		r.Class = sched.QueueFull
	case emulator.SpendLimit:
		r.Class = sched.Spend
	default:
		r.Class = sched.Invalid
	}
	return refused(CreateCall, id, r, why.Status == 413)
}
