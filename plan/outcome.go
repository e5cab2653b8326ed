package plan

import (
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Sent is one send of a rehearsal.
type Sent struct {
	At      time.Duration
	Call    sched.CallID
	Attempt sched.AttemptID
	Lane    sched.LaneID
}

// Outcome is how a rehearsed job went.
type Outcome struct {
	N       int
	Began   time.Duration
	Ended   time.Duration // when the last call settled
	Stalled bool          // it had not ended at the limit

	Settled, Succeeded  int
	Attempts, Hedges    int
	Failures            int                      // exchanges that were refused or broke off
	Refused             [emulator.NumClasses]int // by what the provider meant
	Late                [emulator.NumClasses]int // of them, those later than two minutes after the start
	Faults              int                      // resets, cuts, errors in streams
	PeakInFlight        int
	Cost                int64         // nano-dollars, by the scheduler's account
	Billed              int64         // nano-dollars, by the provider's
	Latency, MaxLatency time.Duration // of succeeded answers: sum, and the longest
	MinLatency          time.Duration
	Input, Output       int64 // tokens of succeeded answers, input as it counts against limits

	Sends []Sent // with Setting.KeepSends
	Lanes []sched.LaneView
	// Done has how many calls had succeeded by the end of each second since Began.
	Done []int

	keep bool
}

// Makespan is how long the job took.
func (o *Outcome) Makespan() time.Duration { return o.Ended - o.Began }

// RateLimited is how many attempts a limit refused.
func (o *Outcome) RateLimited() int {
	return o.Refused[emulator.Steady] + o.Refused[emulator.Accelerated] + o.Refused[emulator.Hidden] +
		o.Refused[emulator.Concurrent] + o.Refused[emulator.DailyLimit] + o.Refused[emulator.SpendLimit]
}

// late is when the opening of a run is over (facts/control.md F).
const late = 2 * time.Minute

func (o *Outcome) sent(now time.Duration, s *sched.Send, flying int) {
	o.Attempts++
	if s.Hedge {
		o.Hedges++
	}
	o.PeakInFlight = max(o.PeakInFlight, flying)
	if o.keep {
		o.Sends = append(o.Sends, Sent{At: now, Call: s.Call, Attempt: s.Attempt, Lane: s.Lane})
	}
}

func (o *Outcome) ended(now time.Duration, x *emulator.Exchange) {
	o.Billed += x.Cost()
	switch {
	case x.Class != emulator.Admitted:
		o.Failures++
		o.Refused[x.Class]++
		if now-o.Began > late {
			o.Late[x.Class]++
		}
		return
	case !x.Complete():
		o.Failures++
		o.Faults++
		return
	}
	latency := x.End - x.At
	o.Latency += latency
	o.MaxLatency = max(o.MaxLatency, latency)
	if o.MinLatency == 0 || latency < o.MinLatency {
		o.MinLatency = latency
	}
	o.Input += x.Usage.Input + x.Usage.CacheWrite5m + x.Usage.CacheWrite1h
	o.Output += x.Usage.Output
}

func (o *Outcome) settled(now time.Duration, s *sched.Settle) {
	o.Settled++
	o.Ended = now
	o.Cost += s.Cost
	if s.Outcome != sched.Succeeded {
		return
	}
	o.Succeeded++
	sec := int((now - o.Began) / time.Second)
	for len(o.Done) <= sec {
		o.Done = append(o.Done, 0)
	}
	o.Done[sec]++
}
