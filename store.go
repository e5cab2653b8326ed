package flotilla

import "time"

// Store keeps a fleet's intents and results so that a crash loses nothing. The
// journal package is one; the zero Fleet keeps none. A fleet calls Append from
// one goroutine.
type Store interface {
	// Append makes the records durable, in order, before it returns. The
	// records and what they point to are the fleet's again afterwards.
	Append(records []Record) error
}

// RecordKind says what a Record records.
type RecordKind uint8

// Record kinds.
const (
	IntentRecord  RecordKind = iota // an attempt is about to be sent; its worst case is reserved
	AttemptRecord                   // an attempt ended and did not settle its call
	OutcomeRecord                   // a call reached its final outcome (this closes its last attempt too)
	BatchRecord                     // a batch came a step further: see BatchStep
	BlockRecord                     // money was reserved ahead for a line's calls, or what is left of it freed: BlockOpen, BlockClosed
)

// Record is one row of a Store.
type Record struct {
	Kind    RecordKind
	Job     int64     // the job it belongs to; 0: none
	Row     int       // row of the job, from 0
	Attempt int64     // attempt number, unique in this process's fleet
	At      time.Time // scaled clock
	Org     string
	Pool    string
	Tier    string
	Model   string
	Worst   Money // intents: reserved
	Charged Money // attempts and outcomes: what this one attempt cost, at worst case while in doubt
	InDoubt bool  // attempts and outcomes: whether this attempt was billed is unknown

	// Tokens to count against a rolling daily cap (input, cache writes, output).
	Tokens int64

	// Batch records, and outcomes and attempts of rows that a batch carried: the
	// number of its intent; 0: none. Such an outcome or attempt moves Worst (the
	// row's worst case by batch) from what the batch reserves to Charged.
	Batch   int64
	Step    BatchStep // batch and block records
	BatchID string    // BatchMade: the provider's id
	OrgID   string    // batch records: the org's id, as the API names it; empty: unknown
	Sure    bool      // BatchMade: proven ours
	Rows    []int     // BatchIntent: the rows it is to carry
	Bytes   int64     // BatchIntent: of its create

	// Block records, and outcomes and attempts of a line's calls: the number of the
	// block of money they draw on, unique in the job; 0: none. A block reserves
	// Worst ahead, in place of an intent for each call; such an outcome or attempt
	// moves its own Worst from the block to Charged. After a crash what is left of
	// an open block is in doubt.
	Block int64

	// Outcomes.
	Type       string // succeeded, errored, expired, canceled
	Out        int64  // output tokens, of successes
	Cost       Money  // of all attempts of the call in this process
	Hash       [16]byte
	Nth        int    // how-many-th equal body it is, from 0; part of the cache key
	Answer     []byte // the Message, or the error envelope, on one line
	Attempts   int
	Latency    time.Duration // BatchClosed: from the provider's created_at to ended_at; 0: unknown
	Status     int           // HTTP status of an error
	StopReason string
	Emulated   string // provenance mark; empty: the real provider
}

// BatchStep is how far a batch has come.
type BatchStep uint8

// Batch steps. Intent reserves Worst for all rows; the two last release what
// of it is left.
const (
	BatchIntent    BatchStep = iota // its create is about to be sent
	BatchMade                       // the provider has it (again with Sure, once it is proven ours)
	BatchCanceling                  // its end was asked for
	BatchClosed                     // its results were taken in, or it was never made
	BatchLost                       // it can no longer be asked: what is left of its worst case stays in doubt

	BlockOpen   // of a BlockRecord: Worst is reserved
	BlockClosed // … nothing draws on it any more: what is left of its Worst is free again
)
