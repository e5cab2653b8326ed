package flotilla

import "context"

// Source gives a fleet rows to carry and takes their results: the indexed way
// to use a Fleet, where Dispatch is the streaming one. A fleet calls Pull from
// one goroutine, Settled from another and Body from several.
type Source interface {
	// Pull returns rows that may be sent now, at most max. No rows and no
	// error mean that none may be sent until a result has settled (a canary is
	// out); io.EOF means that no more will come. It is called from the fleet's
	// loop, which every stream waits for: it must not block.
	Pull(max int) ([]Row, error)
	// Body reads the body of a row that is about to be sent. It may be called
	// again for a later attempt.
	Body(row int) ([]byte, error)
	// Settled is told each result once, after it is durable. While it blocks the
	// stream's other results wait, and above 64 MB of them its calls. It keeps
	// nothing of Message unless it copies. ctx ends when the fleet is being
	// closed and waits no longer for results to be taken.
	Settled(ctx context.Context, res Result) error
}

// Row is what the scheduler needs to know of a request: Fleet.Weigh fills it.
type Row struct {
	Index   int // position in the source, from 0
	Facts   Facts
	Nth     int  // how-many-th equal body, from 0
	Failed  int  // failures of its own in earlier runs
	InDoubt bool // an earlier run may have had it answered: sent last
	// Affinity is equal for rows whose bodies mark the same beginning for a cache,
	// which each org keeps for itself (facts/claude-api.md 7); 0: none is marked.
	Affinity uint32
}

// Facts is what a body says of itself, as far as scheduling and money need it.
type Facts struct {
	Model     string // as the body spells it
	Pool      string
	Family    string
	MaxTokens int
	In        int      // estimated input tokens
	Out       int      // expected output tokens; 0: learn
	Worst     Money    // upper bound by the sync tier
	Hash      [16]byte // cache key: provider, version, betas and canonical body
	Body      [16]byte // hash of the canonical body alone
	Shape     uint64   // equal for bodies that the API checks alike
	Stream    bool     // the body asks for a stream
	Size      int      // bytes of the body
	Alone     bool     // no batch may carry it: stream, speed, max_tokens 0 and what else the batch API refuses
	Metered   string   // the first tool billed per use; empty: none
	Marked    bool     // a cache_control occurs
}
