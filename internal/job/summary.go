package job

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// Summary is how a job stands at the end of a run: what --summary writes
// (interface.md, "Output"). Counts of rows, stop reasons, errors and cost_usd
// are of the job, over all its runs; attempts, times, rates and refusals are of
// this run. Times are on the scaled clock but for real_wall_s.
type Summary struct {
	JobID    string  `json:"job_id"`
	Emulated *string `json:"emulated"` // "scenario/seed"; null: the real provider

	N         int `json:"n"` // rows of this run; those set aside are not among them
	Succeeded int `json:"succeeded"`
	Errored   int `json:"errored"`
	Expired   int `json:"expired"`
	Canceled  int `json:"canceled"`
	Pending   int `json:"pending"`
	Rejected  int `json:"rejected"` // set aside by --skip-bad
	Cached    int `json:"cached"`   // settled in this run by another job's answer
	Resumed   int `json:"resumed"`  // settled by earlier runs of this job
	InDoubt   int `json:"in_doubt"` // attempts whose outcome is unknown

	Attempts int         `json:"attempts"`
	Hedges   int         `json:"hedges"`
	HedgeUSD price.Nanos `json:"hedge_usd"`

	StopReasons    map[string]int `json:"stop_reasons"`
	Truncated      int            `json:"truncated"`        // answers cut by max_tokens
	RefusedByModel int            `json:"refused_by_model"` // answers that are refusals
	Errors         []ErrorGroup   `json:"errors"`

	WallS        float64 `json:"wall_s"`
	BoundS       float64 `json:"bound_s"`
	PoliteBoundS float64 `json:"polite_bound_s"`
	Efficiency   float64 `json:"efficiency"` // bound_s / wall_s
	RealWallS    float64 `json:"real_wall_s"`
	CallsPerMin  float64 `json:"calls_per_min"`
	OutputPerMin float64 `json:"output_tokens_per_min"`
	P50MS        int64   `json:"p50_ms"`
	P95MS        int64   `json:"p95_ms"`
	P99MS        int64   `json:"p99_ms"`

	RateLimited     RateLimited `json:"rate_limited"`
	Overloaded      int         `json:"overloaded"`
	TransportErrors int         `json:"transport_errors"`
	Account         Account     `json:"account"`
	FloorWaitS      FloorWait   `json:"floor_wait_s"`

	CostUSD     price.Nanos  `json:"cost_usd"`   // in doubt at worst case
	FailedUSD   price.Nanos  `json:"failed_usd"` // of attempts that gave no answer
	ExpectedUSD price.Nanos  `json:"expected_usd"`
	CapUSD      *price.Nanos `json:"cap_usd"` // null: none

	ByLane  []LaneSummary    `json:"by_lane"`
	Binding []BindingSummary `json:"binding"`

	RunningBatches []RunningBatch   `json:"running_batches"`
	Forecast       *ForecastSummary `json:"forecast,omitempty"` // absent: none was made

	Judge json.RawMessage `json:"judge,omitempty"` // what a craft makes of the answers; absent: there is no craft

	Cause string `json:"cause"` // finished, interrupted, cap, deadline, closed, stopped
}

// RateLimited counts attempts that a limit refused, by what the limit is.
type RateLimited struct {
	Steady       int `json:"steady"`
	Acceleration int `json:"acceleration"`
	Hidden       int `json:"hidden"`
	Concurrency  int `json:"concurrency"`
	Daily        int `json:"daily"`
	Spend        int `json:"spend"`
	QueueFull    int `json:"queue_full"`
}

// Total is all of them.
func (r RateLimited) Total() int {
	return r.Steady + r.Acceleration + r.Hidden + r.Concurrency + r.Daily + r.Spend + r.QueueFull
}

// Account counts attempts refused for what an account is or owes.
type Account struct {
	Auth       int `json:"auth"`
	Permission int `json:"permission"`
	Credit     int `json:"credit"`
	Hold       int `json:"hold"`
}

// FloorWait is time spent waiting at the floors, in seconds.
type FloorWait struct {
	Soft float64 `json:"soft"`
	Hard float64 `json:"hard"`
}

// LaneSummary is one lane's part of a run.
type LaneSummary struct {
	Org          string      `json:"org"`
	Pool         string      `json:"pool"`
	Tier         string      `json:"tier"`
	N            int         `json:"n"`
	Succeeded    int         `json:"succeeded"`
	Attempts     int         `json:"attempts"`
	RateLimited  int         `json:"rate_limited"`
	P50MS        int64       `json:"p50_ms"`
	P95MS        int64       `json:"p95_ms"`
	CostUSD      price.Nanos `json:"cost_usd"`
	PeakInFlight int         `json:"peak_in_flight"`
}

// BindingSummary is a limit and its share of the time in which calls waited.
type BindingSummary struct {
	Limit       string  `json:"limit"`
	Org         string  `json:"org"`
	Pool        string  `json:"pool"`
	Tier        string  `json:"tier"`
	Share       float64 `json:"share"`
	Whose       string  `json:"whose"`
	OneStepMore string  `json:"one_step_more"` // what raising it by a step would do: "150: −4.1 min"; empty: not known

	value int    // of the limit; 0: not known
	words string // in place of the limit's; empty: none
}

// causes are the words of Summary.Cause.
var causes = [...]string{
	flotilla.Finished: "finished", flotilla.Interrupted: "interrupted", flotilla.CapReached: "cap",
	flotilla.DeadlinePassed: "deadline", flotilla.LanesClosed: "closed", flotilla.Stopped: "stopped",
}

// take fills in what a fleet reports of a run.
func (s *Summary) take(r *flotilla.Report) {
	s.Cause = causes[r.Cause]
	s.Attempts, s.Hedges, s.HedgeUSD = r.Attempts, r.Hedges, r.HedgeCost
	s.InDoubt += r.InDoubt
	s.FailedUSD, s.TransportErrors = r.FailedCost, r.TransportErrors
	s.WallS = r.Ended.Sub(r.Started).Seconds()
	s.RealWallS = r.RealWall.Seconds()
	s.BoundS, s.PoliteBoundS = r.Bound.Seconds(), r.PoliteBound.Seconds()
	if s.WallS > 0 {
		s.Efficiency = s.BoundS / s.WallS
	}
	s.P50MS, s.P95MS, s.P99MS = r.P50.Milliseconds(), r.P95.Milliseconds(), r.P99.Milliseconds()
	for i := range r.Lanes {
		s.takeLane(&r.Lanes[i])
	}
	s.Binding = bindings(r)
}

func (s *Summary) takeLane(l *flotilla.LaneReport) {
	s.ByLane = append(s.ByLane, LaneSummary{
		Org: l.Org, Pool: l.Pool, Tier: l.Tier, N: l.N, Succeeded: l.Succeeded, Attempts: l.Attempts, RateLimited: l.RateLimited(),
		P50MS: l.P50.Milliseconds(), P95MS: l.P95.Milliseconds(), CostUSD: l.Cost, PeakInFlight: l.Peak,
	})
	s.RateLimited.Steady += l.Steady
	s.RateLimited.Acceleration += l.Acceleration
	s.RateLimited.Hidden += l.Hidden
	s.RateLimited.Concurrency += l.Concurrency
	s.RateLimited.Daily += l.Daily
	s.RateLimited.Spend += l.Spend
	s.RateLimited.QueueFull += l.QueueFull
	s.Overloaded += l.Overloaded
	s.Account.Auth += l.Auth
	s.Account.Permission += l.Permission
	s.Account.Credit += l.Credit
	s.Account.Hold += l.Hold
	s.FloorWaitS.Soft += l.SoftFloor.Seconds()
	s.FloorWaitS.Hard += l.HardFloor.Seconds()
}

// whose says who could change a limit (interface.md, "Texts").
func whose(limit string) string {
	switch limit {
	case "cap", "soft_floor", "hard_floor":
		return "yours and colleagues'"
	case "ramp", "budget", "retry_budget":
		return "yours"
	case "latency", "little", "overload", "work":
		return "nobody"
	}
	return "Anthropic"
}

// count fills in how the calls stand.
func (s *Summary) count(t *tally) {
	s.Succeeded, s.Errored, s.Expired, s.Canceled = t.outcomes[Succeeded], t.outcomes[Errored], t.outcomes[Expired], t.outcomes[Canceled]
	s.Pending = s.N - s.Succeeded - s.Errored - s.Expired - s.Canceled
	s.StopReasons, s.Errors = t.stops, t.groups()
	s.Truncated, s.RefusedByModel = t.stops["max_tokens"], t.stops["refusal"]
}

// done is how many rows have a result.
func (s *Summary) done() int { return s.N - s.Pending }

// WriteFile writes the summary as JSON, by a temporary file and rename.
func (s *Summary) WriteFile(path string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		if err := os.WriteFile(path, text, 0); err != nil { // a device or pipe
			return fmt.Errorf("write summary %s: %w", path, bare(err))
		}
		return nil
	}
	if err := replaceFile(path, func(f *os.File) error { _, err := f.Write(text); return err }); err != nil {
		return fmt.Errorf("write summary %s: %w", path, bare(err))
	}
	return nil
}

// rates fills in what follows from the wall-clock time.
func (s *Summary) rates(settled int, output int64) {
	minutes := s.WallS / time.Minute.Seconds()
	if minutes > 0 {
		s.CallsPerMin, s.OutputPerMin = float64(settled)/minutes, float64(output)/minutes
	}
}
