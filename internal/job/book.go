package job

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Outcome is how a row stands. Its text is the word of result.type.
type Outcome uint8

// Outcomes. The zero value is not settled.
const (
	Pending Outcome = iota
	Succeeded
	Errored
	Expired
	Canceled
	numOutcomes
)

var outcomeNames = [numOutcomes]string{"pending", "succeeded", "errored", "expired", "canceled"}

func (o Outcome) String() string { return outcomeNames[o] }

// Answer is one settled row, as a journal keeps it.
type Answer struct {
	At         int64 // where it is kept; a later one is larger
	Row        int   // the call's number
	Outcome    Outcome
	Body       []byte // the Message or the error envelope, on one line
	Org, Tier  string
	Model      string
	Cost       flotilla.Money
	When       time.Time
	Attempts   int
	Latency    time.Duration
	Status     int // HTTP status of an error
	StopReason string
	Hash       [16]byte // of the body it answers, with provider, version and betas
	Cached     bool     // another job's answer, or a file's
	Emulated   string   // provenance mark; empty: the real provider
}

// Standing is how every call of a job stands in the journal when a run begins.
type Standing interface {
	Outcome(call int) Outcome
	At(call int) int64     // where the answer is that stands; 0: pending
	Stop(call int) string  // its stop reason
	Superseded() []int64   // where the answers are that do not stand, in the order of settling
	InDoubt(call int) bool // pending, and an earlier run may have had it answered
	Failed(call int) int   // failures of its own in earlier runs
	Doubts() int           // attempts in doubt, of settled calls too
}

// Adoption settles a call by an answer that is kept already.
type Adoption struct {
	Row    int
	Answer int64
	Nth    int // how-many-th equal body the call is
}

// Book is one job in a journal, held by this process until End: what this
// package asks of a journal. Its methods but Signal and Cap are called from one
// goroutine at a time, Append and Wrote from the fleet's.
type Book interface {
	ID() int64   // the number that records carry
	Key() string // short, for people: 7f3a

	Standing(ctx context.Context) (Standing, error)
	// Answers yields what has settled, in the order of settling, with what a
	// later answer has taken the place of; it ends with an error's pair where
	// there is one. The book may be used inside the loop.
	Answers(ctx context.Context) iter.Seq2[Answer, error]
	Answer(ctx context.Context, at int64) (Answer, error)

	// Cached looks n calls up among the successes of other jobs, by hash and
	// how-many-th equal body; 0: there is none.
	Cached(ctx context.Context, n int, key func(call int) (hash [16]byte, nth int)) ([]int64, error)
	Adopt(ctx context.Context, adoptions []Adoption) error
	Append(records []flotilla.Record) error

	// Out names the file that lines go to and reads how many of its bytes are
	// known to be whole and durable; Wrote tells that anew.
	Out(ctx context.Context, path string) (durable int64, err error)
	Wrote(durable int64)

	// Batches are the job's batches that have not been taken in, with those of
	// their calls that have no outcome.
	Batches(ctx context.Context) ([]flotilla.OpenBatch, error)
	// OutStats is how many answers of a model there are to the job's template, in
	// any job, the mean of their output tokens and the 95th percentile.
	OutStats(ctx context.Context, model string) (n int64, mean, p95 float64, err error)

	Spent(ctx context.Context) (flotilla.Money, error) // over all runs, in doubt at worst case
	// Totals is what the last End that had some was given; nil: there are none.
	Totals(ctx context.Context) (json.RawMessage, error)
	Signal(ctx context.Context) (Signal, error)
	// Cap is what a person said, while it runs, that the job may spend over all
	// runs, as MaxSpend has it; given is false where nobody did.
	Cap(ctx context.Context) (limit flotilla.Money, given bool, err error)
	// End gives the job back; finished says that nothing is pending. Nil totals
	// leave those of an earlier run.
	End(ctx context.Context, finished bool, totals json.RawMessage) error
}

// Signal is what a person asked of a running job, from another process.
type Signal uint8

// Signals.
const (
	GoOn Signal = iota
	Pause
	Cancel // settle what is pending as canceled, and end
)

// Spec is what a journal finds or begins a job by.
type Spec struct {
	Identity [32]byte
	Provider string
	Emulated string // provenance mark of the provider; empty: the real one
	Command  string // for people, without secrets
	Inputs   []string
	N        int // calls, those of rows set aside included
	// Template is the same for jobs whose requests are made alike: how long
	// answers are is learned by it.
	Template uint64
	Fresh    bool // begin anew where the job has finished (--no-cache)

	Client string          // as in Config
	Kind   string          // as in Config
	Shape  json.RawMessage // what makes its rows again: see OpenRows
}

// Journal finds or begins jobs.
type Journal interface {
	Begin(ctx context.Context, spec Spec) (Book, error)
}
