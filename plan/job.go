package plan

import (
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// Job is what a forecast is about: calls, the fleet that is to carry them, and
// what is asked of it.
type Job struct {
	// Fleet is the configuration that the run's Fleet will have: orgs with their
	// limits, queues and tiers, caps, manners, prices. Its keys are not looked
	// at. What is not known of an org (zero limits) does not bind.
	Fleet   flotilla.Config
	Classes []Class

	Start    time.Time // of the run, on its wall clock
	Deadline time.Time // zero: none
	Prefer   flotilla.Prefer
	Cap      flotilla.Money // what may still be spent; 0: no cap; negative: nothing
	Tier     Tier           // that routes are bound to

	// Pace is how fast answers come, by family, where it was measured; a family
	// that is missing is as the emulator's default scenario has it, with less
	// certainty.
	Pace map[string]Pace
	// World is the provider, where it is known to be this one: orgs of the fleet
	// are looked up in it by name, and nothing of it is uncertain but chance.
	// nil: the provider that Fleet and Pace describe.
	World *emulator.Scenario

	Seed uint64 // of all rehearsals; equal jobs have equal forecasts
	// Rehearsals of each candidate; 0: 9 of small jobs, 5 of large ones.
	Rehearsals int

	entire bool // no rehearsal is shortened: a test's
}

// Tier says which routes a forecast may consider.
type Tier uint8

// Tiers.
const (
	AnyTier   Tier = iota // auto
	SyncTier              // sync alone
	BatchTier             // by batch what a batch may carry, and nothing is rescued
)

// Class is calls of one model and like size.
type Class struct {
	Model, Pool, Family string

	Rows  int // calls
	Alone int // of them, those that no batch may carry

	In, InDev float64 // estimated input tokens of a call: mean and standard deviation
	MaxTokens float64 // mean
	Bytes     float64 // mean size in the create of a batch; 0: four a token of input, and 200

	Out, OutP95 float64 // expected output tokens of an answer: mean, and 95th percentile (0: of the usual spread)
	OutSource   string  // where Out comes from, for people
	OutBound    bool    // Out is an upper bound and nothing better is known
	OutRows     int64   // answers that Out is the mean of; 0: it is taken as given

	Worst flotilla.Money // of all calls, by sync; 0: by the price table

	// Prefix is how many tokens of a call's input end at a cache_control mark, and
	// Prefixes how many different ones there are; 0: nothing is marked.
	Prefix   float64
	Prefixes int
	Hour     bool // they are kept for an hour, not five minutes
}

// Pace is how fast answers come: the first token after a lognormal time, the
// others at a lognormal rate.
type Pace struct {
	First     time.Duration // median; 0: as assumed
	FirstSD   float64       // of its logarithm; 0: .35
	PerSecond float64       // median output tokens a second; 0: as assumed
	RateSD    float64       // of its logarithm; 0: .25
}
