package flotilla

import (
	"context"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// batch is rows on their way through the Message Batches API, from the core's
// Gather, or the adoption of an earlier run's, until its results are taken in
// or it is known not to exist. The loop owns it; what an exchange beside the
// loop needs of it, it is given.
type batch struct {
	id     sched.BatchID
	stream *stream
	lane   sched.LaneID
	org    *orgState
	number int64         // of its intent, in its wire ids
	at     time.Time     // of its intent, on the scaled clock
	sentAt time.Duration // of the last create
	latest time.Time     // when it can have been created at the latest; zero: unknown

	provider string   // the provider's id; empty: not known
	sure     bool     // proven ours
	foreign  []string // ids that proved to be of other batches
	unmade   bool     // no create of it can have been carried out
	intended bool     // its intent is journaled, or on its way

	inherited bool // an earlier run made it

	rows  []batchRow  // of the source, in the order of the create
	place map[int]int // of a row in rows; made when results are read
	sent  int         // rows it was made of
	bytes int64       // of its create
	worst Money       // of the rows that have no outcome
	tally batchTally

	counts    wire.Batch // as last seen
	missed    int        // looks in a row that did not find it
	downloads int32      // of its results, begun
	whole     int        // … that came to an end
	strange   string     // an id of another batch in the results of one that was not proven ours
	canceling bool       // its end was asked for
	under     bool       // an exchange that the end of its stream waits for is under way
	cancel    context.CancelFunc
}

// batchRow is what is kept of a row that a batch carries: up to a million are
// out at once, so it is no Row.
type batchRow struct {
	index       int
	model       string
	hash, body  [16]byte
	worst       Money
	size        int32 // of its body
	nth, failed int32
	seen        int32 // the download that told of it last; 0: none
	inDoubt     bool
	done        bool // it has an outcome, or is to be given back
	back        bool // it is to be given back
	metered     bool // its worst case bounds nothing: see billed
}

func newBatchRow(r *Row) batchRow {
	return batchRow{
		index: r.Index, model: r.Facts.Model, hash: r.Facts.Hash, body: r.Facts.Body, worst: r.Facts.Worst.ByBatch(),
		size: clampInt(r.Facts.Size), nth: clampInt(r.Nth), failed: clampInt(r.Failed), inDoubt: r.InDoubt,
		metered: r.Facts.Metered != "",
	}
}

// bound is the row's worst case as billed goes by it.
func (r *batchRow) bound() Money {
	if r.metered {
		return 0
	}
	return r.worst
}

// batchTally sums what a batch's results say, over all downloads of them.
type batchTally struct {
	succeeded, errored, back, canceled, expired int64
	cost, doubt                                 Money
	usage                                       sched.Usage
}

// rowID is the custom_id of one of a batch's rows.
func (b *batch) rowID(row int) wire.RowID {
	return wire.RowID{Job: b.stream.name(), Intent: b.number, Row: row}
}

// carry makes rows the batch's.
func (b *batch) carry(rows []Row) {
	b.rows = make([]batchRow, len(rows))
	for i := range rows {
		b.rows[i] = newBatchRow(&rows[i])
		b.worst += b.rows[i].worst
	}
}

// find is the row of that index; nil: the batch does not carry it.
func (b *batch) find(index int) *batchRow {
	if b.place == nil {
		b.place = make(map[int]int, len(b.rows))
		for i := range b.rows {
			b.place[b.rows[i].index] = i
		}
	}
	i, ok := b.place[index]
	if !ok {
		return nil
	}
	return &b.rows[i]
}

// name is what the wire ids of a stream's batches call it.
func (s *stream) name() string {
	if s.opt.Name == "" {
		return "x"
	}
	return s.opt.Name
}

// holdBatch registers a batch.
func (f *Fleet) holdBatch(b *batch) {
	f.batches[b.id] = b
	b.stream.batches++
	if b.provider != "" {
		b.org.known[b.provider] = true
	}
}

// letBatchGo forgets a batch that is over for its stream.
func (f *Fleet) letBatchGo(b *batch) {
	if f.batches[b.id] == nil {
		return
	}
	delete(f.batches, b.id)
	b.stream.batches--
}

// batchNumber numbers an intent: Unix nanoseconds on the machine's wall clock,
// made to rise, so that no two intents of a job share one.
func (f *Fleet) batchNumber() int64 {
	wall, _ := f.clock.read()
	f.lastIntent = max(f.lastIntent+1, wall.UnixNano())
	return f.lastIntent
}

// batchRecord begins a record of a batch's step.
func (f *Fleet) batchRecord(now time.Duration, b *batch, step BatchStep) Record {
	l := &f.lanes[b.lane]
	return Record{
		Kind: BatchRecord, Step: step, Job: b.stream.opt.Job, Batch: b.number, BatchID: b.provider, Sure: b.sure,
		At: f.clock.wall(now), Org: b.org.Name, OrgID: b.org.id, Pool: l.pool.name, Tier: tierName(sched.Batch),
	}
}

// keep journals a record; then runs in the loop once it is durable, or the
// store has failed, which ends every stream.
func (f *Fleet) keep(r Record, then func(now time.Duration)) {
	f.commits.put(entry{record: r, then: func(error) { f.inbox.put(message{run: then}) }})
}

// tierNames are the words of interface.md.
var tierNames = [...]string{sched.Sync: "sync", sched.Batch: "batch"}

func tierName(t sched.Tier) string { return tierNames[t] }
