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
	tier  sched.Tier
	group *group        // nil for the batch tier
	cost  Money         // of all attempts on it, worst cases in doubt included
	told  time.Duration // when people were told of usage that cannot be right; 0: never
}

// limit is the etiquette cap on what a lane may have in flight; 0: it has none.
func (l *laneState) limit() int {
	if l.group == nil {
		return 0
	}
	return l.group.limit
}

// poolState is a pool that some row needs.
type poolState struct {
	name    string
	family  string
	id      int32
	lanes   []sched.LaneID             // of the sync tier
	batch   map[*orgState]sched.LaneID // of the batch tier
	latency latency                    // of its answers
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
	try    int  // how-many-th attempt of its call, from 1
	ctx    context.Context
	cancel context.CancelFunc
	silent atomic.Bool // nothing came for too long

	dropped error // the intent could not be journaled: nothing was sent

	sentAt  time.Duration
	endedAt time.Duration
	headAt  time.Duration // the head of its answer came; 0: not known
	reading sched.Reading // of the first byte of a stream
	answer  answer

	// Of a line's call.
	block    *block      // of the line's money that it draws on
	patience *time.Timer // gives it up
	body     *streamBody // of an answer that was handed over as it came
	live     *streamBody // the same, once the loop knows
	handed   bool        // its call's Do has returned
	estimate Money       // what an answer that broke off has cost by what came of it
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
	f.offered = f.offered[:0]
	for _, m := range f.inbox.take() {
		if m.line != nil && m.op == lineArrives {
			f.arrive(now, m.line)
			continue
		}
		f.offerArrived(now)
		switch {
		case m.line != nil:
			f.lineSays(now, m.line, m.op)
		case m.run != nil:
			m.run(now)
		case m.given != nil:
			f.given(now, m.given)
		case m.first != nil:
			f.firstByte(now, m.first)
		default:
			f.ended(now, m.ended)
		}
	}
	f.offerArrived(now)
	if f.core.Next() <= now {
		f.step(now, f.tick)
	}
	f.shareSlots(now)
	wake := now + time.Duration(float64(leaseEvery)*f.clock.speed)
	if f.parked {
		f.refuseShutOut(now)
	}
	for _, s := range f.streams {
		wake = min(wake, f.tend(now, s))
	}
	f.streams = slices.DeleteFunc(f.streams, (*stream).ended)
	return max(min(wake, f.core.Next()), now)
}

// firstByte takes in that the head of a stream is there.
func (f *Fleet) firstByte(now time.Duration, a *attempt) {
	if a.live = a.body; a.live != nil && a.call.stream.aborted {
		a.live.leave(ErrClosed)
	}
	f.step(now, &sched.Headers{Attempt: a.id, Reading: a.reading})
}

// busy reports whether a stream still runs.
func (f *Fleet) busy() bool { return len(f.streams) > 0 }

// step feeds one event to the core and carries out what it answers, then what
// that is to be told at once.
func (f *Fleet) step(now time.Duration, ev sched.Event) {
	f.feed(now, ev)
	for len(f.due) > 0 {
		for len(f.due) > 0 {
			next := f.due[0]
			f.due = f.due[1:]
			f.feed(now, next)
		}
		for _, s := range f.streams {
			if s.gathered {
				s.gathered = false
				for _, b := range f.backlogs(now, s) {
					f.due = append(f.due, b)
				}
			}
		}
	}
}

func (f *Fleet) feed(now time.Duration, ev sched.Event) {
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
			f.dropWaitingOf(at.call)
		}
	case *sched.Settle:
		f.settle(now, a)
	case *sched.Want:
		f.want(a)
	case *sched.Note:
		f.note(now, a)
	default:
		f.actBatch(now, act)
	}
}

// actBatch carries out what concerns batches.
func (f *Fleet) actBatch(now time.Duration, act sched.Action) {
	switch a := act.(type) {
	case *sched.Gather:
		f.gather(now, a)
	case *sched.PersistBatch:
		f.intendBatch(now, a)
	case *sched.SubmitBatch:
		f.submit(now, a)
	case *sched.FindBatch:
		f.findBatch(now, a)
	case *sched.PollBatch:
		f.poll(now, a.Batch)
	case *sched.CancelBatch:
		f.cancelBatch(now, a.Batch, cancelReasons[a.Why])
	case *sched.CollectBatch:
		f.collect(now, a.Batch)
	case *sched.ReleaseBatch:
		f.releaseBatch(now, a)
	case *sched.ListBatches:
		f.lookAtQueue(now, a)
	}
}
