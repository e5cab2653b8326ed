package job

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// provider keeps batches over any number of fleets, as the real one does.
type provider struct {
	batches map[int64]*providerBatch
	wins    map[int]int // by call: how often it was answered, by either tier
}

type providerBatch struct {
	org  string
	rows []flotilla.Row
	fate []string // of each row, once it has ended
}

func newProvider() *provider { return &provider{map[int64]*providerBatch{}, map[int]int{}} }

// batchFleet carries a job over both tiers: a fake of what a real fleet does at
// its source and store, with the same records in the same order. It dies at the
// n-th append, before it or after it.
type batchFleet struct {
	*fakeFleet
	at       *provider
	orgs     []string                   // whose keys are at hand
	dieAt    int                        // append that it dies at, from 1; 0: never
	before   bool                       // the records of that append are lost too
	stay     bool                       // batches do not end
	fated    func(*flotilla.Row) string // nil: by chance
	number   int64                      // of the last batch
	appends  int
	open     []*fakeBatch
	shipped  int // rows sent in batches
	gathered int // batches made
	adopted  int // batches taken over
}

type fakeBatch struct {
	number int64
	org    string
	pool   string
	rows   []flotilla.Row
}

func (b *bench) batchFleet(at *provider) *batchFleet {
	f := &batchFleet{fakeFleet: b.fleet(), at: at, orgs: []string{"high", "low"}}
	f.number = int64(b.seed) * 1_000_000
	return f
}

func (f *batchFleet) append(records ...flotilla.Record) error {
	f.appends++
	if f.appends == f.dieAt && f.before {
		return errKilled
	}
	if err := f.book().Append(records); err != nil {
		return err
	}
	if f.appends == f.dieAt {
		return errKilled
	}
	return nil
}

func (f *batchFleet) Carry(ctx context.Context, src flotilla.Source, opt flotilla.Options) (r flotilla.Report, err error) {
	r.Started = time.Unix(1_800_000_000, 0)
	r.Ended = r.Started.Add(time.Minute)
	d := src.(flotilla.Deque)
	f.open = nil
	for _, o := range opt.Batches {
		if !slices.Contains(f.orgs, o.Org) {
			r.Orphans = append(r.Orphans, o)
			continue
		}
		if err := f.adopt(d, opt, &o); err != nil {
			return r, err
		}
	}
	if opt.CancelBatches {
		return r, f.cancel(ctx, d, opt)
	}
	for {
		done, err := f.turn(ctx, d, opt, &r)
		if err != nil || done {
			return r, err
		}
	}
}

// turn is one thing that happens, whichever.
func (f *batchFleet) turn(ctx context.Context, d flotilla.Deque, opt flotilla.Options, r *flotilla.Report) (done bool, err error) {
	if f.halt > 0 && f.results >= f.halt || ctx.Err() != nil {
		r.Cause = flotilla.Interrupted
		return true, nil
	}
	switch what := f.rng.IntN(4); {
	case what == 0:
		return f.sync(ctx, d, opt, r)
	case what <= 2 && len(f.open) < 4:
		return false, f.gather(d, opt)
	case len(f.open) > 0 && !f.stay:
		i := f.rng.IntN(len(f.open))
		b := f.open[i]
		f.open = slices.Delete(f.open, i, i+1)
		return false, f.collect(ctx, d, opt, b, f.fate)
	case f.stay && f.results > 0 && (len(d.Backlog()) == 0 || opt.Route.NoSync && len(f.open) == 4):
		r.Cause = flotilla.DeadlinePassed
		return true, nil
	}
	return false, nil
}

func (f *batchFleet) sync(ctx context.Context, d flotilla.Deque, opt flotilla.Options, r *flotilla.Report) (done bool, err error) {
	pull := d.Pull
	if opt.Route != nil && opt.Route.NoSync {
		pull = d.PullIneligible
	}
	rows, err := pull(1)
	if errors.Is(err, io.EOF) {
		r.Cause = flotilla.Finished
		if len(r.Orphans) > 0 {
			r.Cause = flotilla.LanesClosed
		}
		return true, nil
	}
	if err != nil || len(rows) == 0 {
		return false, err
	}
	f.appends++ // its record is written by one
	if f.appends == f.dieAt && f.before {
		return false, errKilled // before it was sent
	}
	r.Attempts++
	f.at.wins[rows[0].Index]++
	if err := f.one(ctx, d, opt, rows[0]); err != nil {
		return false, err
	}
	if f.appends == f.dieAt && !f.before {
		return false, errKilled
	}
	return false, nil
}

func (f *batchFleet) gather(d flotilla.Deque, opt flotilla.Options) error {
	backlog := d.Backlog()
	if len(backlog) == 0 {
		return nil
	}
	left := backlog[0]
	rows, err := d.PullFar(flotilla.Chunk{Pool: left.Pool, Rows: 1 + f.rng.IntN(7), Bytes: 1 << 20, Worst: flotilla.USD(1)})
	if err != nil || len(rows) == 0 {
		return err
	}
	f.number++
	b := &fakeBatch{f.number, f.orgs[f.rng.IntN(len(f.orgs))], left.Pool, rows}
	worst := flotilla.Money(0)
	for _, row := range rows {
		worst += row.Facts.Worst.ByBatch()
	}
	rec := f.record(opt, b, flotilla.BatchRecord)
	rec.Step, rec.Worst, rec.Rows, rec.Bytes = flotilla.BatchIntent, worst, indexes(rows), 1000
	if err := f.append(rec); err != nil {
		return err
	}
	f.at.batches[b.number] = &providerBatch{org: b.org, rows: slices.Clone(rows)}
	f.shipped, f.gathered = f.shipped+len(rows), f.gathered+1
	return f.made(opt, b)
}

// made records that the provider has a batch.
func (f *batchFleet) made(opt flotilla.Options, b *fakeBatch) error {
	rec := f.record(opt, b, flotilla.BatchRecord)
	rec.Step, rec.BatchID, rec.Sure = flotilla.BatchMade, "msgbatch_x", true
	f.open = append(f.open, b)
	return f.append(rec)
}

func (f *batchFleet) record(opt flotilla.Options, b *fakeBatch, kind flotilla.RecordKind) flotilla.Record {
	return flotilla.Record{
		Kind: kind, Job: opt.Job, Org: b.org, Pool: b.pool, Tier: "batch", Model: "claude-haiku-4-5", Batch: b.number, At: time.Unix(1_800_000_000, 0),
	}
}

// adopt takes over a batch of an earlier run; one without an id is looked for.
func (f *batchFleet) adopt(d flotilla.Deque, opt flotilla.Options, o *flotilla.OpenBatch) error {
	b := &fakeBatch{o.Number, o.Org, o.Pool, d.Take(o.Rows)}
	if f.at.batches[o.Number] == nil {
		rec := f.record(opt, b, flotilla.BatchRecord)
		rec.Step = flotilla.BatchClosed
		if err := f.append(rec); err != nil {
			return err
		}
		d.Return(b.rows)
		return nil
	}
	f.adopted++
	if o.ID == "" {
		return f.made(opt, b)
	}
	f.open = append(f.open, b)
	return nil
}

// fate is what becomes of a row.
func (f *batchFleet) fate(row *flotilla.Row) string {
	if f.fated != nil {
		return f.fated(row)
	}
	switch n := f.rng.IntN(20); {
	case n == 0 && row.Failed < 2:
		return "overloaded"
	case n == 1 && row.Failed == 0:
		return "expired"
	case n == 2:
		return "missing"
	}
	return "succeeded"
}

// collect ends a batch and takes its results in, in any order.
func (f *batchFleet) collect(ctx context.Context, d flotilla.Deque, opt flotilla.Options, b *fakeBatch, fate func(*flotilla.Row) string) error {
	p := f.at.batches[b.number]
	if p.fate == nil { // a download is repeated, and the same again
		for i := range p.rows {
			p.fate = append(p.fate, fate(&p.rows[i]))
			if p.fate[i] == "succeeded" {
				f.at.wins[p.rows[i].Index]++
			}
		}
	}
	f.rng.Shuffle(len(b.rows), func(i, k int) { b.rows[i], b.rows[k] = b.rows[k], b.rows[i] })
	for _, row := range b.rows {
		at := slices.IndexFunc(p.rows, func(r flotilla.Row) bool { return r.Index == row.Index })
		if err := f.take(ctx, d, opt, b, row, p.fate[at]); err != nil {
			return err
		}
	}
	rec := f.record(opt, b, flotilla.BatchRecord)
	rec.Step = flotilla.BatchClosed
	return f.append(rec)
}

func (f *batchFleet) take(ctx context.Context, d flotilla.Deque, opt flotilla.Options, b *fakeBatch, row flotilla.Row, fate string) error {
	rec := f.record(opt, b, flotilla.OutcomeRecord)
	rec.Row, rec.Hash, rec.Nth, rec.Worst, rec.Attempts, rec.Type = row.Index, row.Facts.Hash, row.Nth, row.Facts.Worst.ByBatch(), 1, fate
	body, err := d.Body(row.Index)
	if err != nil {
		return err
	}
	res := f.answer(row.Index, body)
	switch {
	case fate == "canceled" && opt.CancelBatches:
		res.Err, res.Message = &flotilla.CanceledError{}, nil
	case fate == "expired" && row.Failed > 0: // attempts are used up
		res.Err, res.Message = &flotilla.ExpiredError{Attempts: 2}, nil
	case fate == "succeeded":
		rec.Type = "succeeded"
		rec.Answer, rec.StopReason, rec.Cost, rec.Charged, rec.Out = res.Message, res.StopReason, res.Cost/2, res.Cost/2, outputTokens(res.Message)
	default:
		rec.Kind, rec.Type = flotilla.AttemptRecord, ""
		if err := f.append(rec); err != nil {
			return err
		}
		row.Failed++
		d.Return([]flotilla.Row{row})
		return nil
	}
	if err := f.append(rec); err != nil {
		return err
	}
	res.Row, res.Org, res.Tier, res.Attempts, res.Cost = row.Index, b.org, "batch", 1, rec.Charged
	res.Model, res.At = row.Facts.Model, rec.At
	f.results++
	return d.Settled(ctx, res)
}

// cancel ends what is open: some rows had been answered.
func (f *batchFleet) cancel(ctx context.Context, d flotilla.Deque, opt flotilla.Options) error {
	for _, b := range f.open {
		err := f.collect(ctx, d, opt, b, func(*flotilla.Row) string { return []string{"canceled", "succeeded"}[f.rng.IntN(2)] })
		if err != nil {
			return err
		}
	}
	f.open = nil
	return nil
}
