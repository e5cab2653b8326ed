package flotilla

import "time"

// Deque is a Source that can be taken from at both ends: Pull takes for sync
// from the near end, PullFar for batches from the far one, until they meet.
// PullFar, Take, Return and Backlog are called from the fleet's loop, as Pull
// is, and must not block. Pull and PullIneligible give io.EOF only when nothing
// is free and nothing that was taken may be given back any more.
type Deque interface {
	Source
	// Backlog is what is left of each pool that a batch may carry: rows neither
	// pulled, nor taken, nor settled. Rows held back by a canary do not count.
	Backlog() []Backlog
	// PullFar takes rows for one batch from the far end: of one pool, batch
	// eligible, and within all bounds of want. The first row is taken even where
	// it alone exceeds want.Bytes.
	PullFar(want Chunk) ([]Row, error)
	// PullIneligible is Pull of only those rows that no batch may carry, canaries
	// among them; no rows and no error mean that there are none now.
	PullIneligible(max int) ([]Row, error)
	// Take marks rows as being in a batch of an earlier run and returns those of
	// them that are still pending.
	Take(rows []int) []Row
	// Return gives rows back that were pulled and are not settled: they are to be
	// pulled again, from either end, with Failed and InDoubt as given here. Of a
	// Row nothing but these and Index need be set.
	Return(rows []Row)
}

// Backlog is what is left at the far end of a Deque, of one pool. The means
// are over its rows.
type Backlog struct {
	Pool, Family string
	Rows         int
	Bytes        float64 // of a row in a batch's encoding
	Worst        float64 // nano-dollars by batch
	In, Out      float64 // estimated input tokens, expected output tokens (0: to be learned)
	MaxTokens    float64
}

// Chunk bounds the rows of one batch.
type Chunk struct {
	Pool  string
	Rows  int
	Bytes int64
	Worst Money // by the batch tier
}

// OpenBatch is a batch of an earlier run that has not been collected: it is
// polled with the key of the org that made it and no other.
type OpenBatch struct {
	Number    int64  // of its intent, the one in its wire ids
	ID        string // the provider's; empty: its create was in doubt, it is looked for
	Sure      bool   // proven ours
	Org, Pool string
	OrgID     string    // as the API names the org; empty: unknown
	Rows      []int     // of the source, without those that its results have settled already
	Sent      int       // rows it was made of
	Bytes     int64     // of its create
	Worst     Money     // what is still reserved for it
	At        time.Time // of the intent, on the scaled clock
	Canceling bool
	// Earlier says that a run before this one made it: a Purse counts it there.
	Earlier bool
}
