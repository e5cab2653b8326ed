package main

import (
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// What the script of arm (a) does: batches of one size, one at a time, a look a
// minute.
const (
	scriptRows = 500
	scriptPoll = time.Minute
)

// script is a plan.Brain that does what such scripts do: create a batch, poll
// until it has ended, read its results, create the next.
type script struct {
	left int64
	id   sched.BatchID
	busy bool
	look time.Duration // 0: it waits for something else
	acts []sched.Action
}

// Next implements plan.Brain.
func (s *script) Next() time.Duration {
	if s.look == 0 {
		return sched.Never
	}
	return s.look
}

// Step implements plan.Brain.
func (s *script) Step(now time.Duration, ev sched.Event) []sched.Action {
	s.acts = s.acts[:0]
	s.hear(now, ev)
	if s.look > 0 && s.look <= now {
		s.look = 0
		s.do(&sched.PollBatch{Batch: s.id})
	}
	if !s.busy && s.left > 0 {
		s.busy, s.id = true, s.id+1
		s.do(&sched.Gather{Batch: s.id, Rows: scriptRows, Bytes: 1 << 40, Worst: 1 << 60})
	}
	return s.acts
}

func (s *script) hear(now time.Duration, ev sched.Event) {
	switch e := ev.(type) {
	case *sched.Backlog:
		s.left = e.Rows
	case *sched.Gathered:
		s.do(&sched.SubmitBatch{Batch: e.Batch, Try: 1})
	case *sched.BatchCreated:
		s.look = now + scriptPoll
	case *sched.BatchPolled:
		if e.State != sched.BatchEnded {
			s.look = now + scriptPoll
			return
		}
		s.do(&sched.CollectBatch{Batch: e.Batch})
	case *sched.BatchCollected:
		s.busy = false
	}
}

func (s *script) do(a sched.Action) { s.acts = append(s.acts, a) }
