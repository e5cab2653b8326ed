package main

import (
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/price"
)

// Where an arm ran.
const (
	overVirtual = "virtual time"
	overHTTP    = "HTTP"
)

// arm is how one way of carrying the rows went. Dollars are exact.
type arm struct {
	ID       string   `json:"arm"`
	Name     string   `json:"name"`
	Over     string   `json:"over"`
	Speed    float64  `json:"speed,omitempty"` // of the emulator's clock, over HTTP
	Scenario string   `json:"scenario"`
	Orgs     []string `json:"orgs"`
	Profiled bool     `json:"profile"` // forecasts and fleet went by the measured profile
	Rows     int      `json:"rows"`
	Route    string   `json:"route"` // sync, batch, hybrid, thrift
	Why      string   `json:"why,omitempty"`

	WallS   float64 `json:"wall_s"`
	OwnS    float64 `json:"own_wall_s,omitempty"` // of its last invocation, as the program counts it, over HTTP
	Faster  float64 `json:"times_script"`         // than arm (a) over the same medium, row for row
	BoundS  float64 `json:"bound_s"`              // by the limits alone, of the orgs and tiers that the arm uses
	PoliteS float64 `json:"polite_bound_s"`
	Share   float64 `json:"share_of_bound"`
	Polite  float64 `json:"share_of_polite_bound"`

	USD       price.Nanos `json:"usd"`        // by our account
	Billed    price.Nanos `json:"billed_usd"` // by the provider's
	SyncUSD   price.Nanos `json:"sync_usd"`
	BatchUSD  price.Nanos `json:"batch_usd"`
	Cap       price.Nanos `json:"cap_usd"`      // 0: none
	OverCap   price.Nanos `json:"over_cap_usd"` // of Billed
	OverSlots int         `json:"over_slots"`   // most calls in flight in one org, above its cap

	Refused    int `json:"rate_limited"` // attempts and batch calls that a limit refused (429)
	Overloaded int `json:"overloaded"`   // 529

	Succeeded int `json:"succeeded"`
	SyncRows  int `json:"sync_rows"`
	BatchRows int `json:"batch_rows"`
	Batches   int `json:"batches"`
	Pending   int `json:"pending"`    // left by a cap, for the next run
	Lost      int `json:"lost"`       // without a result, and with nobody who will send them again
	Doubled   int `json:"doubled"`    // with more than one result
	PaidTwice int `json:"paid_twice"` // whole answers beyond one a row
	Hedges    int `json:"hedges"`
	InDoubt   int `json:"in_doubt"` // attempts whose outcome a crash left unknown
	Adopted   int `json:"adopted"`  // batches taken over after a crash

	most price.Nanos // that one row can cost

	Statuses   map[string]int `json:"statuses,omitempty"` // of verdicts, over HTTP
	Told       []string       `json:"told,omitempty"`     // what only the run itself could tell
	Arithmetic []string       `json:"arithmetic"`
}

// promised says that the arm is the dispatcher's: zero lost, doubled and over the
// cap are held against it.
func (a *arm) promised() bool { return a.ID[0] == 'b' || a.ID[0] == 'c' }

func (a *arm) wall() time.Duration { return time.Duration(a.WallS * float64(time.Second)) }

// bill takes in what the provider counted.
func (a *arm) bill(st emulator.Stats, slots int) {
	a.Billed = price.Nanos(st.Billed)
	for i := range st.Orgs {
		o := &st.Orgs[i]
		a.BatchUSD += price.Nanos(o.Batches.Billed)
		a.Batches += int(o.Batches.Created)
		a.BatchRows += int(o.Batches.Succeeded)
		for k := range o.Pools {
			p := &o.Pools[k]
			a.SyncUSD += price.Nanos(p.Billed)
			a.SyncRows += int(p.Succeeded)
			a.Overloaded += int(p.Refused[emulator.Overload])
			a.OverSlots = max(a.OverSlots, int(p.PeakInFlight)-slots)
			a.Refused += limited(&p.Refused)
		}
	}
	a.PaidTwice = max(0, int(st.Succeeded)-a.Succeeded)
	if a.Cap > 0 {
		a.OverCap = max(0, a.Billed-a.Cap)
	}
}

// spent reports whether the arm's cap had no room for one more row.
func (a *arm) spent() bool {
	return a.Cap > 0 && a.Succeeded > 0 && a.Cap-a.USD < a.most
}

// limited counts the refusals of limits.
func limited(by *[emulator.NumClasses]int64) (n int) {
	for _, c := range []emulator.Class{
		emulator.Steady, emulator.Accelerated, emulator.Hidden, emulator.Concurrent, emulator.DailyLimit, emulator.SpendLimit, emulator.QueueFull,
	} {
		n += int(by[c])
	}
	return n
}

// against holds the arm to its bounds.
func (a *arm) against(physical, polite time.Duration) {
	a.BoundS, a.PoliteS = physical.Seconds(), polite.Seconds()
	if a.WallS > 0 {
		a.Share, a.Polite = a.BoundS/a.WallS, a.PoliteS/a.WallS
	}
}
