package main

import (
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
)

// planReport is what plan and run -n print: what a job will take and cost by
// each of its routes, and which one run would go by. Its JSON keys are described
// in docs/plan.md. Times of the clock are local, durations are in seconds.
type planReport struct {
	At      time.Time `json:"at"`         // the start that is supposed
	Rows    int       `json:"n"`          // to be sent
	Batched int       `json:"in_batches"` // that an earlier run left at the provider
	Cached  int       `json:"done"`       // of the input, settled by answers that the journal has
	Models  []string  `json:"models"`
	Priced  string    `json:"prices"` // date of the price table

	Orgs    []string `json:"orgs"`
	Assumed []string `json:"assumed"` // what was taken for granted

	InTokens  int64           `json:"input_tokens"` // estimated, of all rows
	OutTokens float64         `json:"out_tokens"`   // of an answer, on average
	OutSource string          `json:"out_source"`   // where that comes from
	Deadline  *time.Time      `json:"deadline"`     // null: none
	CapUSD    *flotilla.Money `json:"cap_usd"`      // null: none

	Routes []planRoute `json:"routes"` // cheapest first
	Chosen string      `json:"chosen"` // name of one of them
	Why    string      `json:"why"`

	Bounds      planBounds `json:"bounds"`
	Feasible    bool       `json:"feasible"`
	Feasibility string     `json:"feasibility,omitempty"` // what is missing, and what would fit

	Binding     []job.BindingSummary `json:"binding"`                  // of the chosen route
	FurtherOrgS float64              `json:"further_org_s,omitempty"`  // saved by one
	HalfBatch   flotilla.Money       `json:"batch_half_usd,omitempty"` // saved by batches for half of the rows
	Caching     string               `json:"caching,omitempty"`
	CachingHint string               `json:"caching_hint,omitempty"` // how caching would make it cheaper
	KeptOn      []string             `json:"kept_on,omitempty"`      // the orgs whose sync lanes are used, where they are fewer than there are
	Slow        string               `json:"slow,omitempty"`         // which cap of ours slows it, and by how much
	Warnings    []string             `json:"warnings"`

	binding string // the table for people
}

// planRoute is one way to carry the job.
type planRoute struct {
	Name  string `json:"route"`
	Meets bool   `json:"meets"` // deadline and cap

	// Times of -1 are those of what does not end.
	FirstS float64 `json:"first_s"` // until the first request has finished
	P5S    float64 `json:"p5_s"`
	P50S   float64 `json:"p50_s"`
	P90S   float64 `json:"p90_s"`
	P95S   float64 `json:"p95_s"`

	EndsEarly time.Time `json:"ends_p5"`
	Ends      time.Time `json:"ends_p50"`
	EndsLate  time.Time `json:"ends_p95"`

	P5USD    flotilla.Money `json:"cost_p5_usd"`
	P50USD   flotilla.Money `json:"cost_p50_usd"`
	P95USD   flotilla.Money `json:"cost_p95_usd"`
	WorstUSD flotilla.Money `json:"worst_usd"`

	SyncRows  int    `json:"sync_rows"`
	BatchRows int    `json:"batch_rows"`
	Limit     string `json:"limit"` // that binds, for people

	route flotilla.Route
}

// planBounds are the least times in which the job could be carried.
type planBounds struct {
	PhysicalS     float64 `json:"physical_s"`
	PhysicalLimit string  `json:"physical_limit"`
	PoliteS       float64 `json:"polite_s"`
	PoliteLimit   string  `json:"polite_limit"`
}

// chosen is the route that run would go by; nil: there is none.
func (p *planReport) chosen() *planRoute {
	for i := range p.Routes {
		if p.Routes[i].Name == p.Chosen {
			return &p.Routes[i]
		}
	}
	return nil
}
