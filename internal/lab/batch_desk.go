package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// batchShape is what every row of a batch asks: little, as it is the queue that
// is measured (facts/control.md E.3: 25 tokens in, 4 out).
var batchShape = Shape{In: 25, Out: 4, MaxTokens: 4}

// benchDesk hands batches in by a bench.
type benchDesk struct {
	b     *Bench
	model string
}

func (b *Bench) desk() benchDesk { return benchDesk{b, b.env.Cheap().ID} }

func (d benchDesk) now() time.Time { return d.b.clock.Wall(d.b.clock.Now()) }

func (d benchDesk) until(ctx context.Context, at time.Time) error {
	return d.b.clock.Sleep(ctx, at.Sub(d.now()))
}

func (d benchDesk) create(ctx context.Context, key string, l *lot) (wire.Batch, error) {
	return d.b.CreateBatch(ctx, key, l.Org, l.Rows, func(i int) Shot {
		return Shot{Org: l.Org, Model: d.model, Shape: batchShape, Salt: d.b.env.seedFor(key, uint64(i))}
	})
}

func (d benchDesk) made(key string) bool {
	d.b.mu.Lock()
	defer d.b.mu.Unlock()
	_, ok := d.b.partial.batches[key]
	return ok
}

func (d benchDesk) cancel(ctx context.Context, org, id string) error {
	_, err := d.b.CancelBatch(ctx, org, id)
	return err
}

func (d benchDesk) poll(ctx context.Context, org, id string) (wire.Batch, error) {
	return d.b.PollBatch(ctx, org, id)
}

func (d benchDesk) list(ctx context.Context, org string, each func(wire.Batch) bool) error {
	return d.b.ListBatches(ctx, org, each)
}

func (d benchDesk) collect(ctx context.Context, org, id string) (BatchCounts, error) {
	return d.b.BatchResults(ctx, org, id)
}

func (d benchDesk) keep(key string, at time.Time) error { return d.b.Keep(key, at) }

func (d benchDesk) kept(key string) (at time.Time, ok bool, err error) {
	ok, err = d.b.Kept(key, &at)
	return at, ok, err
}

// width is how many creates are under way at once: with one, a deep queue would
// take as long to be filled as to be worked off.
func (d benchDesk) width() int { return 4 }

// round carries a round out as a step of its own, again where an interruption
// fell into it. Where it was given up the outcome is left out.
func (b *Bench) round(ctx context.Context, r round) (seen, error) {
	name := r.Name
	for {
		s, err := Step(b, r.Name, func() (seen, error) { return carry(ctx, b.desk(), &r) })
		if err != nil || !s.Late {
			return s, err
		}
		b.env.log(name + " was interrupted, and is done again")
		r.Name += "+"
	}
}

// queueShare is how much of a queue's cap an experiment fills at most, with what
// others have in it (facts/control.md B.12).
const queueShare = 0.8

// leastQueue is what a queue is taken to hold where nobody told: the smallest
// cap there is (facts/claude-api.md 3.2, legacy tiers).
const leastQueue = 100_000

// queueCap is how many rows an org may have queued, and whether that is known.
func (e *Env) queueCap(o *Org) (rows int64, known bool) {
	if o.BatchQueue > 0 {
		return o.BatchQueue, true
	}
	for i := len(e.Known) - 1; i >= 0; i-- {
		if m, ok := e.Known[i].Metric("batch_queue", o.Name, ""); ok && m.Value > 0 {
			return int64(m.Value), true
		}
	}
	return leastQueue, false
}

// mayQueue is how many rows of an experiment an org's queue has room for when
// nobody else uses it.
func (e *Env) mayQueue(o *Org) int64 {
	rows, _ := e.queueCap(o)
	return int64(queueShare * float64(rows))
}

// roomiest is the batching org whose queue holds most, the first of several;
// nil: none batches.
func (e *Env) roomiest() *Org {
	var best *Org
	for _, o := range e.Batching() {
		if best == nil || e.mayQueue(o) > e.mayQueue(best) {
			best = o
		}
	}
	return best
}

// othersQueued counts the rows of open batches that are not this experiment's.
func (b *Bench) othersQueued(ctx context.Context, org string) (int64, error) {
	sum := int64(0)
	oldest := b.desk().now().Add(-25 * time.Hour)
	err := b.ListBatches(ctx, org, func(batch wire.Batch) bool {
		if _, ours := b.made(batch.ID); !ours && batch.Status != wire.BatchEnded {
			sum += batch.Rows()
		}
		return batch.CreatedAt.After(oldest)
	})
	return sum, err
}

// room waits until an org's queue has room for some rows beside what others
// have in it, for as long as patience; ok is false where it does not come.
func (b *Bench) room(ctx context.Context, org string, rows int64) (ok bool, err error) {
	const patience = 30 * time.Minute
	most := b.env.mayQueue(b.env.Org(org))
	d := b.desk()
	for end := d.now().Add(patience); ; {
		others, err := b.othersQueued(ctx, org)
		if err != nil && (!retryable(err) || ctx.Err() != nil) {
			return false, err
		}
		if err == nil && others+rows <= most {
			return true, nil
		}
		if rows > most || d.now().After(end) {
			return false, nil
		}
		if err := d.until(ctx, d.now().Add(time.Minute)); err != nil {
			return false, err
		}
	}
}

// batchEstimate adds up what lots cost when every row is answered.
func (e *Env) batchEstimate(lots []lot) Estimate {
	var est Estimate
	model := e.Cheap().ID
	rows := map[string]int64{}
	for i := range lots {
		rows[lots[i].Org] += int64(lots[i].Rows)
	}
	for _, o := range e.Batching() {
		if n := rows[o.Name]; n > 0 {
			est.Lines = append(est.Lines, Planned{Org: o.Name, Model: model, Tier: Batch, Calls: n, In: int64(batchShape.In), Out: int64(batchShape.Out)})
		}
	}
	est.Reserve = e.rowCost(int64(0.1 * float64(sumRows(lots))))
	return est
}

// rowCost is what rows of batchShape cost.
func (e *Env) rowCost(rows int64) price.Nanos {
	p := Planned{Model: e.Cheap().ID, Tier: Batch, Calls: rows, In: int64(batchShape.In), Out: int64(batchShape.Out)}
	return p.Cost(e.table())
}

func sumRows(lots []lot) int64 {
	sum := int64(0)
	for i := range lots {
		sum += int64(lots[i].Rows)
	}
	return sum
}

// needBatches refuses an experiment without an org that batches, or without n.
func (e *Env) needBatches(est Estimate, n int) Estimate {
	switch orgs := len(e.Batching()); {
	case orgs == 0:
		est.Refused = "no org may be used for batches"
		est.Hint = "list batch among an org's tiers in flotilla.yaml"
	case orgs < n:
		est.Refused = "it compares one org with several, and there is one that batches"
		est.Hint = "give the key of a second organisation (a second key of the same one shares its queue)"
	}
	return est
}

// needRoom refuses an experiment whose rows an org's queue could not hold.
func (e *Env) needRoom(est Estimate, o *Org, rows int64) Estimate {
	if most := e.mayQueue(o); est.Refused == "" && most < rows {
		est.Refused = fmt.Sprintf("it queues %d rows, and four fifths of what %s may queue are %d", rows, o.Name, most)
		est.Hint = "use an org of a higher tier; flotilla measure limits reads the caps with an admin key"
	}
	return est
}

// reserveNeeded warns of a spend cap that the worst case of what is queued at
// once would pass: it is reserved until the rows are settled.
func (e *Env) reserveNeeded(est *Estimate, rows int64) {
	model := e.Cheap()
	s := Shot{Model: model.ID, Shape: batchShape, Salt: 1e6 - 1}
	worst := price.Nanos(rows) * model.Worst(int64(len(s.body())), batchShape.MaxTokens, false, false, false, false, true)
	if e.MaxSpend > 0 && worst > e.MaxSpend {
		est.Warnings = append(est.Warnings, "until they end, queued rows count at their worst case: rounds that would pass --max-spend are left out (all of them need "+worst.String()+")")
	}
}

// again repeats a call that is free, a few times.
func (b *Bench) again(ctx context.Context, call func() error) error {
	for try := 1; ; try++ {
		err := call()
		if err == nil || !retryable(err) || try == 5 {
			return err
		}
		if err := b.clock.Sleep(ctx, 10*time.Second); err != nil {
			return err
		}
	}
}
