package flotilla

import (
	"net/http"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// poll asks how a batch stands, with the key of the org that made it.
func (f *Fleet) poll(_ time.Duration, id sched.BatchID) {
	b := f.batches[id]
	if b == nil {
		return
	}
	org, to := b.org, b.org.batchURL(b.provider)
	f.beside(func() func(time.Duration) {
		r := f.askBatch(f.ctx, org, http.MethodGet, to)
		return func(now time.Duration) { f.polled(now, b, &r) }
	})
}

// cancelBatch journals that a batch is to end, and asks for it. One that is not
// proven ours is only looked at. People are told once: what is asked for again
// was not heard.
func (f *Fleet) cancelBatch(now time.Duration, which sched.BatchID, why string) {
	b := f.batches[which]
	if b == nil {
		return
	}
	if !b.sure {
		f.poll(now, which)
		return
	}
	if !b.canceling {
		n := f.batchNotice(now, b, BatchCanceled, now-b.sentAt)
		n.Class = why
		f.notify(n)
	}
	b.canceling = true
	b.stream.exchanges++ // what is journaled is to be asked for too
	org, id := b.org, b.provider
	f.commits.put(entry{record: f.batchRecord(now, b, BatchCanceling), then: func(err error) {
		if err != nil {
			f.inbox.put(message{run: func(time.Duration) { b.stream.exchanges-- }})
			return
		}
		f.beside(func() func(time.Duration) {
			r := f.askBatch(f.ctx, org, http.MethodPost, org.batchURL(id, "cancel"))
			if r.status == http.StatusBadRequest {
				// It has ended meanwhile; whether that is an error the API does not
				// say (facts/claude-api.md 4.5).
				r = f.askBatch(f.ctx, org, http.MethodGet, org.batchURL(id))
			}
			return func(now time.Duration) {
				b.stream.exchanges--
				f.polled(now, b, &r)
			}
		})
	}})
}

// polled takes in how a batch stands.
func (f *Fleet) polled(now time.Duration, b *batch, r *batchReply) {
	if f.batches[b.id] == nil {
		return // its stream has ended
	}
	got := &sched.BatchPolled{Batch: b.id, State: sched.BatchUnknown, RetryAfter: r.retryAfter, Refusal: f.coreRefusal(r)}
	seen, err := wire.ReadBatch(r.body)
	switch {
	case r.refusal != nil && r.status == http.StatusNotFound:
		got.State, got.Refusal = sched.BatchMissing, nil
		f.miss(now, b)
	case !r.ok() || err != nil || seen.ID != b.provider:
		// Nothing that tells of this batch.
	default:
		b.counts, b.missed = seen, 0
		got.State = stateOf(seen.Status)
	}
	f.step(now, got)
}

// unseenAfter is how many looks in a row must not find a batch before people are
// told, some five minutes: a new one, and now and then an older one, answers 404
// for a while (facts/peer-faults.md 9).
const unseenAfter = 6

// miss counts a look that did not find a batch of ours. It is asked for until it
// must have expired, a day in which its rows wait: people are told once.
func (f *Fleet) miss(now time.Duration, b *batch) {
	if b.missed++; b.missed == unseenAfter {
		f.tellBatch(now, b, BatchUnseen, f.clock.wall(now).Sub(b.at))
	}
}

// stateOf is a processing_status in the core's words; one that is not known
// counts as not ended.
func stateOf(status string) sched.BatchState {
	switch status {
	case wire.BatchEnded:
		return sched.BatchEnded
	case wire.BatchCanceling:
		return sched.BatchCanceling
	}
	return sched.BatchRunning
}
