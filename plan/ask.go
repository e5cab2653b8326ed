package plan

import (
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

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
