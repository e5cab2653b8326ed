package flotilla

import (
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// Observation is one attempt that ended, of whatever stream or line, for
// metrics, traces and people.
type Observation struct {
	At       time.Time // its end, on the scaled clock
	Client   string    // Options.Client or LineOptions.Name; empty: none was given
	Job      int64     // of the Store; 0: none
	Line     bool      // of a call of a Line
	Org      string
	Pool     string
	Tier     string
	Model    string
	Priority Priority
	// Class is what it came to: "succeeded"; the name of a refusal: "steady",
	// "acceleration", "hidden", "concurrency", "daily", "spend", "queue_full",
	// "overloaded", "auth", "permission", "credit", "hold", "model" (the org does not
	// have it), "invalid", "conflict", "server" (5xx and pages of a proxy);
	// "transport": no answer of the API; "canceled": broken off by us or its caller;
	// of rows of batches also "errored" and "expired".
	Class  string
	Status int // of the answer; 0: none came

	Queued    time.Duration // from the call's arrival until this attempt was sent
	FirstByte time.Duration // from then until the head of its answer; 0: unknown
	Latency   time.Duration // … until its last byte

	Usage     price.Usage
	Cost      Money // what it was billed; of one in doubt its worst case, where Estimated what came of it
	InDoubt   bool  // whether it was billed, or how much, is unknown
	Estimated bool  // Usage.Output is an estimate: the answer broke off
	Kept      Money // of one Estimated: what caps and the Store keep beyond Cost, up to its worst case
	Attempt   int   // how-many-th of its call, from 1; 0: of a batch's row
	Final     bool  // its call has settled with it
}
