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

	Settled, Succeeded int
	Outcomes           [sched.NumOutcomes]int
	Attempts, Hedges   int
	Failures           int                      // exchanges that were refused, broke off or never began; without Aborted
	Refused            [emulator.NumClasses]int // by what the provider meant
	Late               [emulator.NumClasses]int // of them, those later than two minutes after the start
	Faults             int                      // exchanges without a whole answer: resets, cuts, errors in streams, no network
	Aborted            int                      // exchanges cancelled by the scheduler
	PeakInFlight       int
	PeakByLane         []int
	Cost               int64         // nano-dollars, by the scheduler's account: what is in doubt at worst case
	Billed             int64         // nano-dollars, by the provider's
	Latency            time.Duration // of whole answers: the sum
	MinLatency         time.Duration // the shortest
	MaxLatency         time.Duration // the longest
	Input, Output      int64         // tokens of whole answers, input as it counts against limits

	First     time.Duration // when the first call settled; 0: none has
	SyncRows  int           // calls that a sync answer settled
	SyncCost  int64         // nano-dollars of Cost
	BatchRows int           // calls that a batch answered
	BatchCost int64         // nano-dollars of Cost

	Made         int     // batches
	Cancels      int     // batches whose end was asked for
	Lost         int     // batches that were given up with their money in doubt
	Doubled      int     // creates of rows that a batch was made of before
	GivenBack    int     // rows that came back from batches, whether these were made or not
	BatchCalls   int     // calls to batch endpoints
	BatchRefused int     // of them, those that were refused
	PeakQueued   []int64 // most rows of ours in processing, by org of the scenario
	Adopted      int     // batches that were taken over after a crash

	Sends   []Sent      // with Setting.KeepSends
	Batches []BatchMade // with Setting.KeepBatches
	Lanes   []sched.LaneView
	// Done has how many calls succeeded in each second since Began.
	Done []int

	keep, keepBatches bool
}

// BatchMade is one batch of a rehearsal.
type BatchMade struct {
	Lane      sched.LaneID
	Rows      int
	Created   time.Duration
	Ended     time.Duration // 0: it had not when the rehearsal ended
	Collected time.Duration // 0: its results were not read
	Canceled  bool
	Back      int // of Rows, those it did not answer
}

// Makespan is how long the job took.
func (o *Outcome) Makespan() time.Duration { return max(0, o.Ended-o.Began) }

// RateLimited is how many attempts a limit refused (429).
func (o *Outcome) RateLimited() int { return rateLimited(&o.Refused) }

// LateRateLimited is how many of them came later than two minutes after the
// start.
func (o *Outcome) LateRateLimited() int { return rateLimited(&o.Late) }

func rateLimited(by *[emulator.NumClasses]int) int {
	return by[emulator.Steady] + by[emulator.Accelerated] + by[emulator.Hidden] +
		by[emulator.Concurrent] + by[emulator.DailyLimit] + by[emulator.SpendLimit]
}

// late is when the opening of a run is over (facts/control.md F).
const late = 2 * time.Minute

func (o *Outcome) sent(now time.Duration, s *sched.Send, flying, onLane int) {
	o.Attempts++
	if s.Hedge {
		o.Hedges++
	}
	o.PeakInFlight = max(o.PeakInFlight, flying)
	o.PeakByLane[s.Lane] = max(o.PeakByLane[s.Lane], onLane)
	if o.keep {
		o.Sends = append(o.Sends, Sent{At: now, Call: s.Call, Attempt: s.Attempt, Lane: s.Lane})
	}
}

func (o *Outcome) ended(now time.Duration, f *flight) {
	x := f.x
	if x != nil {
		o.Billed += x.Cost()
	}
	switch {
	case f.fate == aborted:
		o.Aborted++
	case f.fate != answered:
		o.Failures++
		o.Faults++
	case x.Class != emulator.Admitted:
		o.refused(now, x)
	case !x.Complete():
		o.Failures++
		o.Faults++
	default:
		o.answered(x)
	}
}

func (o *Outcome) refused(now time.Duration, x *emulator.Exchange) {
	o.Failures++
	o.Refused[x.Class]++
	if now-o.Began > late {
		o.Late[x.Class]++
	}
}

func (o *Outcome) answered(x *emulator.Exchange) {
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
	o.SyncCost += s.Cost
	if s.Outcome == sched.Succeeded {
		o.SyncRows++
	}
	o.ends(now, s.Outcome, s.Cost)
}

// ends counts a call that has ended by either tier.
func (o *Outcome) ends(now time.Duration, how sched.Outcome, cost int64) {
	if o.Settled == 0 {
		o.First = now
	}
	o.Settled++
	o.Ended = now
	o.Cost += cost
	o.Outcomes[how]++
	if how != sched.Succeeded {
		return
	}
	o.Succeeded++
	sec := int((now - o.Began) / time.Second)
	for len(o.Done) <= sec {
		o.Done = append(o.Done, 0)
	}
	o.Done[sec]++
}

// made counts a batch that the provider took.
func (o *Outcome) made(now time.Duration, b *batch, inProcess int64, org int) {
	o.Made++
	o.PeakQueued[org] = max(o.PeakQueued[org], inProcess)
	if o.keepBatches {
		b.kept = len(o.Batches) + 1
		o.Batches = append(o.Batches, BatchMade{Lane: b.lane, Rows: len(b.rows), Created: now})
	}
}

// collected notes how a batch ended.
func (o *Outcome) collected(now time.Duration, b *batch, back int64) {
	if b.kept > 0 {
		k := &o.Batches[b.kept-1]
		k.Ended, k.Collected, k.Canceled, k.Back = b.made.EndedAt, now, b.cancels, int(back)
	}
}
