package flotilla

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// leaseEvery is how often slots shared with other processes are asked for anew.
const leaseEvery = time.Second

// laneState is the driver's side of a lane.
type laneState struct {
	org   *orgState
	pool  *poolState
	group *group
}

// poolState is a pool that some row needs.
type poolState struct {
	name    string
	family  string
	id      int32
	lanes   []sched.LaneID
	latency latency // of its answers
}

// attempt is one HTTP exchange. The loop makes it, its exchange fills it, the
// loop reads it when it has ended.
type attempt struct {
	id     sched.AttemptID
	call   *call
	lane   sched.LaneID
	org    *orgState // the lane's: lanes are the loop's
	worst  Money
	hedge  bool
	stream bool // the answer is taken as a stream
	ctx    context.Context
	cancel context.CancelFunc
	silent atomic.Bool // nothing came for too long

	dropped error // the intent could not be journaled: nothing was sent

	sentAt  time.Duration
	endedAt time.Duration
	reading sched.Reading // of the first byte of a stream
	answer  answer
}

// run is the one loop that owns the core and reads the clock.
func (f *Fleet) run() {
	defer close(f.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-f.inbox.ready:
			runtime.Gosched() // what can run goes first: one turn takes more in
		case <-timer.C:
		}
		now := f.clock.now()
		if f.clock.woke() {
			now = f.clock.now()
			f.wokeUp(now)
		}
		wake := f.turn(now)
		if f.quitting && !f.busy() {
			f.shutdown()
			return
		}
		timer.Reset(f.clock.real(wake - now))
	}
}

// turn takes in what has happened up to now and returns when to look again.
func (f *Fleet) turn(now time.Duration) time.Duration {
	f.lapses(now)
	for _, m := range f.inbox.take() {
		switch {
		case m.run != nil:
			m.run(now)
		case m.given != nil:
			f.given(now, m.given)
		case m.first != nil:
			f.step(now, &sched.Headers{Attempt: m.first.id, Reading: m.first.reading})
		default:
			f.ended(now, m.ended)
		}
	}
	if f.core.Next() <= now {
		f.step(now, f.tick)
	}
	f.shareSlots(now)
	wake := now + time.Duration(float64(leaseEvery)*f.clock.speed)
	for _, s := range f.streams {
		wake = min(wake, f.tend(now, s))
	}
	f.streams = slices.DeleteFunc(f.streams, (*stream).ended)
	return max(min(wake, f.core.Next()), now)
}

// busy reports whether a stream still runs.
func (f *Fleet) busy() bool { return len(f.streams) > 0 }

// step feeds one event to the core and carries out what it answers.
func (f *Fleet) step(now time.Duration, ev sched.Event) {
	f.trace.event(now, ev)
	actions := f.core.Step(now, ev)
	f.trace.actions(now, actions)
	for _, act := range actions {
		f.act(now, act)
	}
}

func (f *Fleet) act(now time.Duration, act sched.Action) {
	switch a := act.(type) {
	case *sched.Persist:
		f.intend(now, a)
	case *sched.Send:
		f.send(now, a)
	case *sched.Abort:
		if at := f.attempts[a.Attempt]; at != nil && at.cancel != nil {
			at.cancel()
		}
	case *sched.Settle:
		f.settle(now, a)
	case *sched.Want:
		f.want(a)
	case *sched.Note:
		f.note(now, a)
	}
}
