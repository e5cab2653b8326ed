package main

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// What a program around an official SDK does: so many calls in flight, and the
// SDK's own two retries, each after 0.5 s, then 1 s, less up to a quarter, or
// after a retry-after below a minute (anthropic-sdk-go, retry.go).
const (
	semaphoreSlots   = 100
	semaphoreRetries = 2
)

// sdkWait is how long an SDK waits before it tries a call again, the try-th time
// that it failed, from 1.
func sdkWait(rng *rand.Rand, retryAfter time.Duration, try int) time.Duration {
	if retryAfter > 0 && retryAfter < time.Minute {
		return retryAfter
	}
	wait := math.Min(8, 0.5*math.Pow(2, float64(try-1))) * (1 - 0.25*rng.Float64())
	return time.Duration(wait * float64(time.Second))
}

// semaphore is a plan.Brain of that kind, on one lane. A call keeps its slot
// while the SDK waits.
type semaphore struct {
	rng   *rand.Rand
	busy  int // slots
	queue []sched.CallID
	calls map[sched.AttemptID]sched.CallID
	tries map[sched.CallID]int // of calls that failed
	waits waits
	last  sched.AttemptID
	acts  []sched.Action
}

func newSemaphore() *semaphore {
	return &semaphore{rng: rand.New(rand.NewPCG(seed, 0x73656d61)), calls: map[sched.AttemptID]sched.CallID{}, tries: map[sched.CallID]int{}}
}

// Next implements plan.Brain.
func (s *semaphore) Next() time.Duration {
	if len(s.waits) == 0 {
		return sched.Never
	}
	return s.waits[0].due
}

// Step implements plan.Brain.
func (s *semaphore) Step(now time.Duration, ev sched.Event) []sched.Action {
	s.acts = s.acts[:0]
	switch e := ev.(type) {
	case *sched.Offer:
		for i := range e.Calls {
			s.queue = append(s.queue, e.Calls[i].ID)
		}
	case *sched.Done:
		s.settle(e.Attempt, sched.Succeeded, e.Cost)
	case *sched.Refused:
		s.failed(now, e.Attempt, e.Refusal.RetryAfter)
	case *sched.Failed:
		s.failed(now, e.Attempt, 0)
	}
	for len(s.waits) > 0 && s.waits[0].due <= now {
		s.send(heap.Pop(&s.waits).(wait).call)
	}
	for s.busy < semaphoreSlots && len(s.queue) > 0 {
		s.busy++
		s.send(s.queue[0])
		s.queue = s.queue[1:]
	}
	return s.acts
}

func (s *semaphore) send(call sched.CallID) {
	s.last++
	s.calls[s.last] = call
	s.acts = append(s.acts, &sched.Send{Call: call, Attempt: s.last, Try: s.tries[call] + 1})
}

func (s *semaphore) failed(now time.Duration, id sched.AttemptID, retryAfter time.Duration) {
	call := s.calls[id]
	s.tries[call]++
	if s.tries[call] > semaphoreRetries {
		s.settle(id, sched.Errored, 0)
		return
	}
	delete(s.calls, id)
	heap.Push(&s.waits, wait{now + sdkWait(s.rng, retryAfter, s.tries[call]), call})
}

func (s *semaphore) settle(id sched.AttemptID, how sched.Outcome, cost int64) {
	call := s.calls[id]
	delete(s.calls, id)
	s.busy--
	s.acts = append(s.acts, &sched.Settle{Call: call, Attempt: id, Outcome: how, Attempts: s.tries[call] + 1, Cost: cost})
}

// wait is a call that waits in its slot.
type wait struct {
	due  time.Duration
	call sched.CallID
}

// waits is a heap by time, then by call.
type waits []wait

func (h waits) Len() int { return len(h) }
func (h waits) Less(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	return h[i].call < h[j].call
}
func (h waits) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *waits) Push(x any)   { *h = append(*h, x.(wait)) }
func (h *waits) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
