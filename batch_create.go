package flotilla

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// uploadRate is the slowest a create is taken to go up, in bytes a second: its
// exchange may take as long as that and flightDeadline.
const uploadRate = 128 << 10

// largeCreate is the size above which creates wait for each other, maxUploads
// at once: each has a row's body in memory, which may be of tens of megabytes.
const (
	largeCreate = 16 << 20
	maxUploads  = 4
)

// created is how a create ended.
type created struct {
	reply  batchReply
	batch  wire.Batch
	made   bool
	source error // the source could not give a row: nothing was made
}

// submit queues a create behind its intent.
func (f *Fleet) submit(_ time.Duration, s *sched.SubmitBatch) {
	b := f.batches[s.Batch]
	if b == nil {
		return
	}
	b.under = true
	b.stream.exchanges++
	f.begun(b.stream)
	var ctx context.Context
	ctx, b.cancel = context.WithCancel(f.ctx)
	f.commits.put(entry{bare: true, then: func(err error) {
		if err != nil {
			f.inbox.put(message{run: func(now time.Duration) { f.createFailed(now, b, sched.NotSent) }})
			return
		}
		f.beside(func() func(time.Duration) {
			if b.bytes > largeCreate {
				f.uploads <- struct{}{}
				defer func() { <-f.uploads }()
			}
			began := f.clock.now()
			c := f.create(ctx, b)
			return func(now time.Duration) { f.created(now, b, began, c) }
		})
	}})
}

// create makes one create. It must not be called again for the batch before
// the loop has been told of this one.
func (f *Fleet) create(ctx context.Context, b *batch) created {
	longest := flightDeadline + time.Duration(b.bytes/uploadRate)*time.Second
	ctx, cancel := context.WithTimeout(ctx, f.clock.real(longest))
	defer cancel()
	body := newCreateBody(b)
	req, trace := newSendFrom(ctx, http.MethodPost, b.org.batchesURL(), b.stream.headerTo(b.org), body, b.bytes)
	c := created{reply: f.batchAnswer(b.org, req, trace)}
	if !c.reply.ok() {
		if trace.body.seal(); body.err != nil {
			c.source = body.err
		}
		return c
	}
	var err error
	c.batch, err = wire.ReadBatch(c.reply.body)
	c.made = err == nil
	return c
}

// created takes in how a create ended.
func (f *Fleet) created(now time.Duration, b *batch, began time.Duration, c created) {
	b.sentAt, b.latest = began, f.clock.wall(now)
	b.cancel()
	if c.source != nil {
		f.halt(now, b.stream, Stopped, c.source)
		f.createFailed(now, b, sched.NotSent)
		return
	}
	switch r := &c.reply; {
	case c.made:
		f.made(now, b, c.batch.ID, true)
	case r.err == ErrOurselves:
		f.halt(now, b.stream, Stopped, ErrOurselves)
		f.createFailed(now, b, sched.NotSent)
	case r.provesUnmade():
		f.exchanged(b)
		f.refusedBatch(now, b, r)
	case r.status == 0:
		f.createFailed(now, b, r.failure)
	default:
		f.createFailed(now, b, sched.Cut)
	}
}

// provesUnmade reports whether an error answer proves that no batch was made:
// those of the API itself that refuse the request. An error of the server or
// of something on the way proves nothing, and to repeat a create after one may
// buy the rows twice.
func (r *batchReply) provesUnmade() bool {
	if r.refusal == nil || r.err != nil && r.status != http.StatusTooManyRequests {
		return false
	}
	switch r.refusal.Class {
	case wire.Overloaded, wire.ServerError, wire.Conflict, wire.Unknown504:
		return false
	}
	return true
}

func (f *Fleet) refusedBatch(now time.Duration, b *batch, r *batchReply) {
	refusal := f.coreRefusal(r)
	big := r.status == http.StatusRequestEntityTooLarge
	switch {
	case refusal.Class == sched.QueueFull:
		f.tellBatch(now, b, QueueFull, 0)
	case !big && (refusal.Class == sched.Invalid || refusal.Class == sched.NoModel) && !slices.Contains(b.stream.refusing, b.org):
		b.stream.refusing = append(b.stream.refusing, b.org)
		n := f.batchNotice(now, b, BatchRefused, 0)
		n.Says = f.redact(r.refusal.Message)
		f.notify(n)
	}
	f.step(now, &sched.BatchRefused{Batch: b.id, Refusal: *refusal, TooBig: big})
}

// createFailed tells the core of a create without an answer.
func (f *Fleet) createFailed(now time.Duration, b *batch, failure sched.Failure) {
	if failure != sched.NotSent {
		b.unmade = false
	}
	f.exchanged(b)
	f.step(now, &sched.BatchFailed{Batch: b.id, Failure: failure})
}

// made journals the id of a batch that the provider has before anything is
// done with it.
func (f *Fleet) made(now time.Duration, b *batch, id string, sure bool) {
	b.provider, b.sure, b.unmade = id, sure, false
	b.org.known[id] = true
	kind := BatchPlaced
	if !sure {
		kind = BatchFound
	}
	f.tellBatch(now, b, kind, 0)
	f.keep(f.batchRecord(now, b, BatchMade), func(now time.Duration) {
		f.exchanged(b)
		f.step(now, &sched.BatchCreated{Batch: b.id, Sure: sure})
	})
}

// exchanged says that an exchange is over that the end of its stream waits for.
func (f *Fleet) exchanged(b *batch) {
	if b.under {
		b.under = false
		b.stream.exchanges--
	}
}

// begun says that the first request of a stream leaves.
func (f *Fleet) begun(s *stream) {
	if s.started {
		return
	}
	s.started = true
	if s.opt.OnStart != nil {
		s.opt.OnStart()
	}
}
