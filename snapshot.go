package flotilla

import (
	"cmp"
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
	Spent      Money         // by its attempts since it began, worst cases in doubt included; by batch, too
	Cap        Money         // its MaxSpend; negative: none
	Paused     bool
	HeldBy     string // a cap that holds its next call: "cap", its own; "budget", one that it shares; empty: none does
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
	Unseen    bool      // the provider has answered for a while that there is none such: see BatchUnseen
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
	s := Snapshot{At: f.clock.wall(now), Lanes: make([]LaneState, len(views)), Streams: f.streamStates(now)}
	for i := range views {
		s.Lanes[i] = f.laneState(&views[i])
		s.Lanes[i].Cap, s.Lanes[i].Cost = f.lanes[i].limit(), f.lanes[i].cost
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
		Rows: len(b.rows), Made: b.at, Canceling: b.canceling, Unseen: b.missed >= unseenAfter,
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
		Capacity: limitsOf(v.Capacity), Level: limitsOf(v.Level), SoftFloor: limitsOf(v.SoftFloor), HardFloor: limitsOf(v.HardFloor),
		Refused: refusedBy(v), Paused: v.Paused,
	}
	if v.Closed {
		s.Class = className(v.Class)
		if v.Reopens > 0 && v.Reopens < sched.Never {
			s.Reopens = f.clock.wall(v.Reopens)
		}
	}
	return s
}

// refusedBy counts a lane's refusals by their names.
func refusedBy(v *sched.LaneView) map[string]int64 {
	by := map[string]int64{}
	add := func(name string, n int64) {
		if n > 0 {
			by[name] += n
		}
	}
	for c := range v.Refused {
		if class := sched.Class(c); class != sched.RateLimited {
			add(className(class), v.Refused[c])
		}
	}
	add("steady", v.Steady)
	add("hidden", v.Hidden)
	add("acceleration", v.Accel)
	return by
}

// streamStates tells how the streams stand that have not ended.
func (f *Fleet) streamStates(now time.Duration) []StreamState {
	waits := map[*stream]time.Duration{}
	for _, c := range f.calls {
		if c.flying == 0 {
			waits[c.stream] = max(waits[c.stream], now-c.at)
		}
	}
	states := make([]StreamState, 0, len(f.streams))
	for _, st := range f.streams {
		if st.ended() {
			continue
		}
		v := f.core.Stream(st.id)
		s := StreamState{
			Client: st.opt.Client, Job: st.opt.Job, Line: st.line != nil, Priority: st.opt.Priority, Weight: cmp.Or(st.opt.Weight, 1),
			Queued: v.Queued, InFlight: v.InFlight, OldestWait: waits[st], Settled: v.Settled, Spent: Money(v.Spent), Cap: -1,
			Paused: v.Paused,
		}
		if st.ledger >= 0 {
			limit, _, _ := f.core.Ledger(st.ledger)
			s.Cap = Money(limit)
		}
		switch {
		case v.Ledger < 0:
		case v.Ledger == st.ledger:
			s.HeldBy = "cap"
		default:
			s.HeldBy = "budget"
		}
		states = append(states, s)
	}
	return states
}

func limitsOf(v [sched.NumDims]float64) Limits {
	return Limits{Requests: v[sched.Requests], Input: v[sched.Input], Output: v[sched.Output]}
}

func perMinute(perSecond [sched.NumDims]float64) Limits {
	return Limits{Requests: 60 * perSecond[sched.Requests], Input: 60 * perSecond[sched.Input], Output: 60 * perSecond[sched.Output]}
}
