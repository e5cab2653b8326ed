// Package lab measures what keys can do: politely, for a few dollars, with the
// uncertainty stated. An Experiment says beforehand what it expects and what it
// will cost; a Bench carries its calls out and keeps what they showed; a Result
// is what is stored, and what guidelines, figures and the profile are made of.
//
// Experiments see what any client sees: answers, headers, times. Nothing here
// reads an emulator's parameters.
package lab

import (
	"context"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// Experiment measures one thing. Everything but Run is pure: it sends nothing.
type Experiment interface {
	// Name is what people type: limits, callable, knee …
	Name() string
	// Question is what it answers, in one line.
	Question() string
	// Hypothesis is stated before anything is sent.
	Hypothesis(e *Env) Hypothesis
	// Estimate is what it will send and cost at most likely; nothing is sent.
	Estimate(e *Env) Estimate
	// Speed is how much faster than real time an emulator may run for it: more
	// where it waits long, less where milliseconds matter. At least 1.
	Speed() float64
	// Run carries it out. It goes on where an interrupted run stopped (Step), and
	// returns what it found so far with an error that ended it early. Totals,
	// cost, raw timings, versions and provenance are filled in by the caller.
	Run(ctx context.Context, b *Bench) (*Result, error)
}

// Hypothesis is what an experiment expects to see.
type Hypothesis struct {
	Text    string `json:"text"`
	Binding string `json:"predicted_binding"` // the limit expected to bind, by its name in interface.md: rpm, itpm, otpm, cap, acceleration, batch_queue, latency …; "none"
}

// Tiers of an estimate's line and of a cost line.
const (
	Sync  = "sync"
	Batch = "batch"
)

// Estimate is what an experiment will send, before it does.
type Estimate struct {
	Lines    []Planned     `json:"lines"`
	Reserve  price.Nanos   `json:"reserve_usd"` // for rows of expiring batches, which are sent again
	Takes    time.Duration `json:"takes_ns"`    // about, on the provider's clock
	Warnings []string      `json:"warnings,omitempty"`
	// Refused says why the experiment cannot run here, and Hint what to do; empty:
	// it can.
	Refused string `json:"refused,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// Planned are equal calls.
type Planned struct {
	Org   string `json:"org"`
	Model string `json:"model"`
	Tier  string `json:"tier"` // Sync or Batch
	Calls int64  `json:"calls"`
	In    int64  `json:"input_tokens"`  // of each
	Out   int64  `json:"output_tokens"` // of each
}

// Cost is what the line costs by a table of prices; 0 for a model it lacks.
func (p Planned) Cost(table *price.Table) price.Nanos {
	m, ok := table.Lookup(p.Model)
	if !ok {
		return 0
	}
	return price.Nanos(p.Calls) * m.Cost(price.Usage{Input: p.In, Output: p.Out, Batch: p.Tier == Batch})
}

// Cost is N × (in × $in + out × $out) over all lines, and the reserve.
func (e Estimate) Cost(table *price.Table) price.Nanos {
	sum := e.Reserve
	for _, l := range e.Lines {
		sum += l.Cost(table)
	}
	return sum
}

// RefusedError says that an experiment cannot run as things are, before it has
// sent anything, and what to do about it.
type RefusedError struct{ Experiment, Why, Hint string }

func (e *RefusedError) Error() string { return e.Experiment + ": " + e.Why }
