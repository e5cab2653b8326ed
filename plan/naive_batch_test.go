package plan

import (
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// oneByOne is the Brain of a script: batches of one size on one org, one at a
// time, a look every so often.
type oneByOne struct {
	rows  int64
	every time.Duration

	left int64
	id   sched.BatchID
	busy bool
	look time.Duration
	acts []sched.Action
}

func (b *oneByOne) Next() time.Duration {
	if b.look == 0 {
		return sched.Never
	}
	return b.look
}

func (b *oneByOne) Step(now time.Duration, ev sched.Event) []sched.Action {
	b.acts = b.acts[:0]
	switch e := ev.(type) {
	case *sched.Backlog:
		b.left = e.Rows
	case *sched.Gathered:
		b.do(&sched.SubmitBatch{Batch: e.Batch, Try: 1})
	case *sched.BatchCreated:
		b.look = now + b.every
	case *sched.BatchPolled:
		if e.State == sched.BatchEnded {
			b.do(&sched.CollectBatch{Batch: e.Batch})
		} else {
			b.look = now + b.every
		}
	case *sched.BatchCollected:
		b.busy = false
	}
	if b.look > 0 && b.look <= now {
		b.look = 0
		b.do(&sched.PollBatch{Batch: b.id})
	}
	if !b.busy && b.left > 0 {
		b.busy, b.id = true, b.id+1
		b.do(&sched.Gather{Batch: b.id, Rows: b.rows, Bytes: 1 << 40, Worst: 1 << 60})
	}
	return b.acts
}

func (b *oneByOne) do(a sched.Action) { b.acts = append(b.acts, a) }
