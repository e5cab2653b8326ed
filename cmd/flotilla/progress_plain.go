package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// plainView writes lines for people and log files.
type plainView struct{ w io.Writer }

func (v *plainView) show(s *standing) { _, _ = fmt.Fprintln(v.w, s.line()) }
func (v *plainView) event(e *event)   { _, _ = fmt.Fprintln(v.w, e.text) }
func (v *plainView) end()             {}

// silentView shows nothing.
type silentView struct{}

func (silentView) show(*standing) {}
func (silentView) event(*event)   {}
func (silentView) end()           {}

// jsonView writes an object a line for programs.
type jsonView struct{ w io.Writer }

// jsonStanding is a standing as --progress json has it.
type jsonStanding struct {
	Type         string         `json:"type"` // "progress"
	At           time.Time      `json:"at"`
	Job          string         `json:"job"`
	Rows         int            `json:"n"`
	Done         int            `json:"done"`
	Errored      int            `json:"errored"`
	CallsPerMin  float64        `json:"calls_per_min"`
	InputPerMin  float64        `json:"input_tokens_per_min"`
	OutputPerMin float64        `json:"output_tokens_per_min"`
	CostUSD      flotilla.Money `json:"cost_usd"`
	CapUSD       flotilla.Money `json:"cap_usd"`
	RateLimited  int64          `json:"rate_limited"`
	Overloaded   int64          `json:"overloaded"`
	Batches      int            `json:"batches"`    // at the provider
	InBatches    int            `json:"in_batches"` // rows
	ETA          *time.Time     `json:"eta"`        // null: unknown
	Limit        string         `json:"limit"`      // what binds, by the names of the summary
	LimitOrg     string         `json:"limit_org,omitempty"`
	Lanes        []jsonLane     `json:"lanes"`
}

type jsonLane struct {
	Org      string  `json:"org"`
	Pool     string  `json:"pool"`
	Tier     string  `json:"tier"`
	InFlight int     `json:"in_flight"`
	Window   float64 `json:"window"`
	Cap      int     `json:"cap"`
	Waiting  string  `json:"waiting"`
	Closed   string  `json:"closed,omitempty"` // class
}

// jsonEvent is an event as --progress json has it.
type jsonEvent struct {
	Type  string     `json:"type"` // "event"
	At    time.Time  `json:"at"`
	Event string     `json:"event"`
	Text  string     `json:"text"`
	Org   string     `json:"org,omitempty"`
	Pool  string     `json:"pool,omitempty"`
	Class string     `json:"class,omitempty"`
	Limit string     `json:"limit,omitempty"`
	Value float64    `json:"value,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	Batch string     `json:"batch,omitempty"`  // the provider's id
	TookS float64    `json:"took_s,omitempty"` // of a batch, since its create
}

func (v *jsonView) show(s *standing) {
	j := jsonStanding{
		Type: "progress", At: s.at, Job: s.job, Rows: s.counts.rows, Done: s.counts.done, Errored: s.counts.errored,
		CallsPerMin: s.rates.calls, InputPerMin: s.rates.in, OutputPerMin: s.rates.out,
		CostUSD: s.counts.spent, CapUSD: s.cap, RateLimited: s.refuse, Overloaded: s.over,
		Batches: s.batches.batches, InBatches: s.batches.rows,
		ETA: someTime(s.eta), Limit: s.bound.limit, LimitOrg: s.bound.org, Lanes: []jsonLane{},
	}
	for _, l := range s.lanes {
		j.Lanes = append(j.Lanes, jsonLane{l.Org, l.Pool, l.Tier, l.InFlight, l.Window, l.Cap, l.Waiting, l.Class})
	}
	v.write(j)
}

func (v *jsonView) event(e *event) {
	v.write(jsonEvent{"event", e.at, e.kind, e.text, e.org, e.pool, e.class, e.limit, e.value, someTime(e.until), e.batch, e.took.Seconds()})
}

func (v *jsonView) end() {}

func (v *jsonView) write(x any) {
	enc := json.NewEncoder(v.w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(x) // standard error that is gone is nobody's to tell
}

// someTime is nil for no time.
func someTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
