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
