package flotilla

import (
	"context"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Snapshot is a fleet as it stands at one moment, for people to look at.
type Snapshot struct {
	At      time.Time // scaled clock
	Lanes   []LaneState
	Batches []BatchState // oldest first
	Streams []StreamState
}

// StreamState is a Carry, a Dispatch or a Line as it stands.
type StreamState struct {
	Client     string // Options.Client or LineOptions.Name
	Job        int64  // of the Store; 0: none
	Line       bool   // it is a Line
	Priority   Priority
	Weight     float64
	Queued     int           // calls that wait for their turn
	InFlight   int           // attempts
	OldestWait time.Duration // how long the call that is next has waited; 0: none waits
	Settled    int64         // calls
	Spent      Money         // since it began, worst cases in doubt included
	Cap        Money         // its MaxSpend; negative: none
	Paused     bool
}

// BatchState is a batch as it stands.
type BatchState struct {
	Job       int64 // of the stream it belongs to; 0: none
	Org, Pool string
	ID        string    // the provider's; empty: not known yet
	Rows      int       // that it carries
	Made      time.Time // its intent
	Expected  time.Time // when it is expected to end; zero: unknown
	Stalled   bool      // it is overdue
	Canceling bool      // its end was asked for
}

// LaneState is a lane as it stands.
type LaneState struct {
	Org, Pool, Tier string
	InFlight        int
	Window          float64 // attempts it may have in flight now
	Cap             int     // the etiquette cap of its family in the org, all processes together
	Waiting         string  // the limit that holds its next call back (interface.md, "--summary"); "work": it has none to send
	Closed          bool    // it takes no calls
	Class           string  // why, when Closed
	Reopens         time.Time
	Limits          Limits // a minute, as the headers say; zero: unknown
	Others          Limits // what colleagues use of them, a minute
	Sent            int64
	Succeeded       int64
	RateLimited     int64 // attempts that a limit refused

	// Of the batch tier, where InFlight and Window count batches: rows in the
	// org's queue over all its pools, ours and others', and what it may hold (0:
	// unknown).
	Queued, QueuedByOthers, Queue int64

	Overloaded int64 // attempts that an overloaded provider refused

	// The server's token buckets as we believe them, in requests and tokens (not a
	// minute); zero: unknown.
	Capacity, Level      Limits
	SoftFloor, HardFloor Limits           // below the first we slow to a trickle, below the second nothing goes
	Refused              map[string]int64 // attempts by the name of their refusal, as in Observation.Class; only those that occurred
	Cost                 Money            // of all attempts on it, worst cases in doubt included
	Paused               bool             // a person held it: Fleet.PauseLane
}

// Snapshot asks the loop how every lane stands. It costs the loop a few
// microseconds, so that once a second is fine. Before Connect it waits; the
// error is that of ctx, or says that the fleet is closed.
func (f *Fleet) Snapshot(ctx context.Context) (Snapshot, error) {
	got := make(chan Snapshot, 1)
	f.inbox.put(message{run: func(now time.Duration) { got <- f.snapshot(now) }})
	select {
	case s := <-got:
		return s, nil
	case <-ctx.Done():
		return Snapshot{}, ctx.Err()
	case <-f.done:
		return Snapshot{}, ErrClosed
	}
}

// Now is the time on the fleet's time line: the machine's own, or the
// emulator's after Connect where Speed is not 1.
func (f *Fleet) Now() time.Time { return f.clock.wall(f.clock.now()) }

func (f *Fleet) snapshot(now time.Duration) Snapshot {
	views := f.core.Lanes()
	s := Snapshot{At: f.clock.wall(now), Lanes: make([]LaneState, len(views))}
	for i := range views {
		s.Lanes[i] = f.laneState(&views[i])
		s.Lanes[i].Cap = f.lanes[i].limit()
	}
	for _, st := range f.streams {
		for _, b := range f.batchesOf(st) {
			s.Batches = append(s.Batches, f.batchState(b))
		}
	}
	return s
}

func (f *Fleet) batchState(b *batch) BatchState {
	s := BatchState{
		Job: b.stream.opt.Job, Org: b.org.Name, Pool: f.lanes[b.lane].pool.name, ID: b.provider,
		Rows: len(b.rows), Made: b.at, Canceling: b.canceling,
	}
	if v, ok := f.core.Batch(b.id); ok {
		s.Stalled = v.Stalled
		if v.Expected > 0 && v.Expected < sched.Never {
			s.Expected = f.clock.wall(v.Expected)
		}
	}
	return s
}

func (f *Fleet) laneState(v *sched.LaneView) LaneState {
	s := LaneState{
		Org: v.Org, Pool: v.Pool, Tier: tierName(v.Tier), InFlight: v.InFlight, Window: v.Window,
		Waiting: v.Waiting.Name(), Closed: v.Closed,
		Queued: v.Queued, QueuedByOthers: v.QueueOthers, Queue: v.Queue,
		Limits: perMinute(v.Refill), Others: perMinute(v.Others),
		Sent: v.Sent, Succeeded: v.Succeeded, Overloaded: v.Refused[sched.Overloaded],
		RateLimited: v.Steady + v.Hidden + v.Accel + v.Refused[sched.Acceleration] + v.Refused[sched.Concurrency] +
			v.Refused[sched.Daily] + v.Refused[sched.Spend] + v.Refused[sched.QueueFull],
	}
	if v.Closed {
		s.Class = className(v.Class)
		if v.Reopens > 0 && v.Reopens < sched.Never {
			s.Reopens = f.clock.wall(v.Reopens)
		}
	}
	return s
}

func perMinute(perSecond [sched.NumDims]float64) Limits {
	return Limits{Requests: 60 * perSecond[sched.Requests], Input: 60 * perSecond[sched.Input], Output: 60 * perSecond[sched.Output]}
}
