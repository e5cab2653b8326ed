package lab

import (
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// schemaVersion is Result.Schema of what this program writes.
const schemaVersion = 1

// Result is what an experiment found, as its JSON file has it. docs/measure.md
// documents the file.
type Result struct {
	Schema     int    `json:"schema"`
	Experiment string `json:"experiment"`
	Question   string `json:"question"`
	Window     string `json:"window"`

	Emulated string    `json:"emulated,omitempty"` // "scenario/seed"; empty: the provider answered
	BaseURL  string    `json:"base_url"`
	Started  time.Time `json:"started"` // on the provider's clock
	Ended    time.Time `json:"ended"`
	Seed     uint64    `json:"seed"`
	Versions Versions  `json:"versions"`
	Orgs     []OrgNote `json:"orgs"`

	Config     map[string]any `json:"config"` // shapes, levels, whatever fixes what was sent
	Hypothesis Hypothesis     `json:"hypothesis"`
	Estimate   Estimate       `json:"estimate"`

	Verdict    string   `json:"verdict"`             // the finding, one sentence; a figure's title
	Confidence float64  `json:"confidence"`          // in the verdict, 0 to 1
	Metrics    []Metric `json:"metrics"`             // the numbers
	Series     []Series `json:"series,omitempty"`    // what figures are drawn from
	Binding    []Bound  `json:"binding,omitempty"`   // which limit bound, and why it is thought so
	Emptied    []string `json:"emptied,omitempty"`   // which remaining came to about 0: "high sonnet-4.x itpm"
	NotShown   []string `json:"not_shown,omitempty"` // what could not be measured, and why
	Stopped    string   `json:"stopped,omitempty"`   // what ended it before its time: an abort, a cap
	Figures    []string `json:"figures,omitempty"`   // files drawn from it
	Totals     Totals   `json:"totals"`              // of all calls
	Cost       Bill     `json:"cost"`                // arithmetic
	Raw        []Record `json:"raw,omitempty"`       // timings, in the order of their ends
}

// Metric is one number that was measured.
type Metric struct {
	Name  string  `json:"name"` // refill_itpm, knee_calls_per_min …
	Org   string  `json:"org,omitempty"`
	Pool  string  `json:"pool,omitempty"`
	Model string  `json:"model,omitempty"`
	At    string  `json:"at,omitempty"` // what else it holds for: "depth 2000", "concurrency 40"
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // "tokens/min", "calls/min", "s", "share" …
	Low   float64 `json:"low"`  // 95 % confidence interval; equal to Value: exact
	High  float64 `json:"high"`
	N     int     `json:"n"` // observations behind it
	// Bound is ">=" where Value is only a lower bound, "<=" an upper one; empty:
	// it is the number.
	Bound       string `json:"bound,omitempty"`
	Source      string `json:"source,omitempty"`      // of a number that was read and not measured
	Provisional bool   `json:"provisional,omitempty"` // of one window alone, or an interval too wide
	Note        string `json:"note,omitempty"`
}

// Series is a line of points for a figure.
type Series struct {
	Name   string      `json:"name"`
	Org    string      `json:"org,omitempty"`
	Model  string      `json:"model,omitempty"`
	X      string      `json:"x"` // name and unit of the axes
	Y      string      `json:"y"`
	Points [][]float64 `json:"points"` // x, y and, where there is an interval, low and high
}

// Bound is a limit that bound.
type Bound struct {
	Org   string   `json:"org"`
	Pool  string   `json:"pool"`
	Tier  string   `json:"tier"`
	Limit string   `json:"limit"`           // as Hypothesis.Binding
	Whose string   `json:"whose_to_change"` // "Anthropic", "yours and colleagues'", "nobody"
	Signs []string `json:"signs"`           // what speaks for it; two that agree make it certain (facts/control.md E.1)
}

// OrgNote says which organisation a name stood for.
type OrgNote struct {
	Name   string `json:"name"`
	ID     string `json:"org_id"`
	SameAs string `json:"same_as,omitempty"`
}

// Versions is what measured.
type Versions struct {
	Flotilla   string `json:"flotilla"`
	Go         string `json:"go"`
	API        string `json:"anthropic_version"`
	PriceTable string `json:"price_table"` // its date
}

// Totals are over all calls of an experiment, discarded ones left out.
type Totals struct {
	WallS        float64 `json:"wall_s"` // on the provider's clock, interruptions left out
	Calls        int     `json:"calls"`
	Succeeded    int     `json:"succeeded"`
	Retries      int     `json:"retries"`
	CallsPerMin  float64 `json:"calls_per_min"`
	OutputPerMin float64 `json:"output_tokens_per_min"`

	Accelerated int `json:"acceleration_429"`
	Steady      int `json:"steady_429"` // all other 429s
	Overloaded  int `json:"overloaded_529"`
	Other       int `json:"other_errors"`

	AcceleratedShare float64 `json:"acceleration_429_share"`
	SteadyShare      float64 `json:"steady_429_share"`
	OverloadedShare  float64 `json:"overloaded_529_share"`

	P50Ms float64 `json:"p50_ms"` // latency of answered sync calls
	P95Ms float64 `json:"p95_ms"`
}

// Bill is the arithmetic of what an experiment cost: tokens times prices by
// line, each call rounded up to a whole nano-dollar.
type Bill struct {
	Total     price.Nanos `json:"total_usd"` // of settled calls: what the provider billed
	Lines     []BillLine  `json:"lines"`
	Discarded Discarded   `json:"discarded"`    // part of Total: calls of interrupted steps, which no metric has
	InDoubt   price.Nanos `json:"in_doubt_usd"` // worst case of calls whose outcome is not known; not in Total
	Estimated price.Nanos `json:"estimated_usd"`
}

// BillLine are the calls of one org, model and tier.
type BillLine struct {
	Org        string      `json:"org"`
	Model      string      `json:"model"`
	Tier       string      `json:"tier"`
	Calls      int         `json:"calls"` // that were billed
	Input      int64       `json:"input_tokens"`
	CacheWrite int64       `json:"cache_write_tokens,omitempty"`
	CacheRead  int64       `json:"cache_read_tokens,omitempty"`
	Output     int64       `json:"output_tokens"`
	InPrice    string      `json:"input_usd_per_mtok"` // list price of the sync tier
	OutPrice   string      `json:"output_usd_per_mtok"`
	Half       bool        `json:"half_price,omitempty"` // the batch tier
	Sum        price.Nanos `json:"usd"`
}

// Discarded are calls that were billed and belong to no finished step.
type Discarded struct {
	Calls int         `json:"calls"`
	Sum   price.Nanos `json:"usd"`
}

// Metric finds a metric by name, org and model or pool; empty ones match all.
func (r *Result) Metric(name, org, of string) (Metric, bool) {
	for _, m := range r.Metrics {
		if m.Name == name && (org == "" || m.Org == org) && (of == "" || m.Model == of || m.Pool == of) {
			return m, true
		}
	}
	return Metric{}, false
}
