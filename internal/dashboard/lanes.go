package dashboard

import (
	"math"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// timeline turns times of the provider's clock into those of the machine's.
type timeline struct {
	scaled, real time.Time // the same moment on both
	speed        float64
}

// of is a time on the machine's clock; null where it is zero.
func (t timeline) of(scaled time.Time) *time.Time {
	if scaled.IsZero() {
		return nil
	}
	return someTime(t.real.Add(time.Duration(float64(scaled.Sub(t.scaled)) / t.speed)))
}

// amounts are of the three limits that a lane has; null: unknown.
type amounts struct {
	Requests *float64 `json:"requests"`
	Input    *float64 `json:"input"`
	Output   *float64 `json:"output"`
}

func amountsOf(l flotilla.Limits) amounts {
	return amounts{some(rounded(l.Requests)), some(rounded(l.Input)), some(rounded(l.Output))}
}

// rounded takes off what arithmetic left behind the third decimal.
func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

// amountsIn are of what a bucket that is known holds: 0 is a number then.
func amountsIn(l, capacity flotilla.Limits) amounts {
	one := func(v, capacity float64) *float64 {
		if capacity <= 0 {
			return nil
		}
		v = rounded(v)
		return &v
	}
	return amounts{one(l.Requests, capacity.Requests), one(l.Input, capacity.Input), one(l.Output, capacity.Output)}
}

type laneJSON struct {
	Org      string     `json:"org"`
	Pool     string     `json:"pool"`
	Tier     string     `json:"tier"`
	InFlight int        `json:"in_flight"` // of the batch tier: batches
	Window   float64    `json:"window"`
	Cap      *int       `json:"cap"`
	Waiting  *string    `json:"waiting"` // the limit that holds the next call back; "work": there is none to send
	Closed   bool       `json:"closed"`
	Class    *string    `json:"class"`
	Reopens  *time.Time `json:"reopens"`

	Limits    amounts `json:"limits"` // a minute
	Capacity  amounts `json:"capacity"`
	Level     amounts `json:"level"`
	SoftFloor amounts `json:"soft_floor"`
	HardFloor amounts `json:"hard_floor"`
	Others    amounts `json:"others"` // what colleagues use, a minute

	Sent       int64            `json:"sent"`
	Succeeded  int64            `json:"succeeded"`
	Refused    map[string]int64 `json:"refused"`
	Overloaded int64            `json:"overloaded"`

	Queued         *int64 `json:"queued"` // batch tier: rows in the org's queue
	QueuedByOthers *int64 `json:"queued_by_others"`
	Queue          *int64 `json:"queue"`

	CostUSD flotilla.Money `json:"cost_usd"`
	Paused  *bool          `json:"paused"` // null: lanes cannot be held here
}

const batchTier = "batch"

func lanesOf(s *flotilla.Snapshot, t timeline, pausable bool) []laneJSON {
	out := make([]laneJSON, len(s.Lanes))
	for i := range s.Lanes {
		l := &s.Lanes[i]
		out[i] = laneJSON{
			Org: l.Org, Pool: l.Pool, Tier: l.Tier, InFlight: l.InFlight, Window: l.Window, Cap: some(l.Cap),
			Waiting: some(l.Waiting), Closed: l.Closed, Class: some(l.Class), Reopens: t.of(l.Reopens),
			Limits: amountsOf(l.Limits), Capacity: amountsOf(l.Capacity), Level: amountsIn(l.Level, l.Capacity),
			SoftFloor: amountsIn(l.SoftFloor, l.Capacity), HardFloor: amountsIn(l.HardFloor, l.Capacity), Others: amountsIn(l.Others, l.Limits),
			Sent: l.Sent, Succeeded: l.Succeeded, Refused: l.Refused, Overloaded: l.Overloaded, CostUSD: l.Cost,
		}
		if pausable {
			out[i].Paused = &l.Paused
		}
		if out[i].Refused == nil {
			out[i].Refused = map[string]int64{}
		}
		if l.Tier == batchTier {
			out[i].Queued, out[i].QueuedByOthers, out[i].Queue = &l.Queued, &l.QueuedByOthers, some(l.Queue)
		}
	}
	return out
}

type queueJSON struct {
	Priority   string   `json:"priority"`
	Queued     int      `json:"queued"`
	InFlight   int      `json:"in_flight"`
	OldestWait *float64 `json:"oldest_wait_s"` // null: none waits
}

// queuesOf adds streams up by priority, those that go first before the others.
func queuesOf(s *flotilla.Snapshot, speed float64) []queueJSON {
	var out []queueJSON
	for _, p := range []flotilla.Priority{flotilla.Interactive, flotilla.Normal, flotilla.Bulk} {
		q := queueJSON{Priority: p.String()}
		var oldest time.Duration
		for i := range s.Streams {
			if st := &s.Streams[i]; st.Priority == p {
				q.Queued, q.InFlight, oldest = q.Queued+st.Queued, q.InFlight+st.InFlight, max(oldest, st.OldestWait)
			}
		}
		q.OldestWait = some(oldest.Seconds() / speed)
		out = append(out, q)
	}
	return out
}

// loadOf is what a fleet has under way by sync; nil: it is not known.
func loadOf(s *flotilla.Snapshot) *load {
	if s == nil {
		return nil
	}
	l := &load{}
	for i := range s.Lanes {
		if s.Lanes[i].Tier != batchTier {
			l.inFlight += s.Lanes[i].InFlight
		}
	}
	for i := range s.Streams {
		l.queued += s.Streams[i].Queued
	}
	return l
}

type batchJSON struct {
	Job       *string    `json:"job"` // short id; null: of none
	Org       string     `json:"org"`
	Pool      string     `json:"pool"`
	ID        *string    `json:"id"` // null: the provider has not named it yet
	Rows      int        `json:"rows"`
	Made      *time.Time `json:"made"`
	Expected  *time.Time `json:"expected"`
	Stalled   bool       `json:"stalled"`
	Canceling bool       `json:"canceling"`
	Unseen    bool       `json:"unseen"` // the provider does not find it: it is asked for until it must have expired
}
