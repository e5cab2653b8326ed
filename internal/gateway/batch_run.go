package gateway

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// batchRun carries one batch of a client until it has ended.
type batchRun struct {
	b        *batches
	id       string
	client   string
	expires  time.Time
	canceled chan struct{} // closed: its end was asked for
	once     sync.Once
	book     job.Book      // of its job, once begun; of carry alone
	job      atomic.Int64  // that carries it; 0: not begun by this process
	waits    atomic.Value  // string: what the pause is for, as Gateway.Held has it; "": there is none
	broke    atomic.Bool   // its money is spent for good: what is left errors
	shut     time.Duration // the next pause of pauseShut
}

// Pauses before a batch is tried again, on real time: it could not be carried to
// its end, and nothing tells when it can.
const (
	pauseFault  = 30 * time.Second // journal or disk
	pauseHeld   = time.Minute      // another gateway carries it
	pauseBudget = 10 * time.Second // others have reserved the money
	pauseShut   = time.Minute      // its lanes are closed, or a day's money is spent: doubled each time …
	pauseLong   = 16 * time.Minute // … up to here
)

// overdue is how long after it expired a batch has for the ends of its batches at
// the provider, and its job for its own. Then it ends without them.
const overdue = time.Hour

// start lets a batch run that does not yet. One that comes while the gateway
// closes is left to the next.
func (b *batches) start(rec *journal.ClientBatch) {
	run := &batchRun{b: b, id: rec.ID, client: rec.Client, expires: rec.Expires, canceled: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil || b.runs[rec.ID] != nil {
		return
	}
	b.runs[rec.ID] = run
	b.work.Go(func() {
		run.carry(b.ctx)
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.runs, rec.ID)
	})
}

// giveUp lets what is pending settle as canceled.
func (run *batchRun) giveUp() { run.once.Do(func() { close(run.canceled) }) }

// ending says that nothing of the batch is sent any more.
func (run *batchRun) ending() bool {
	select {
	case <-run.canceled:
		return true
	default:
		return run.broke.Load() || run.expired()
	}
}

func (run *batchRun) expired() bool { return !run.b.now().Before(run.expires) }

// carry tries until the batch has ended, or the gateway closes.
func (run *batchRun) carry(ctx context.Context) {
	run.shut = pauseShut
	for ctx.Err() == nil {
		again, err := run.try(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			run.b.log.Error("a batch is not carried on for now", "batch", run.id, "fault", err)
			again = pauseFault
			run.waits.Store("fault")
		case again == 0:
			return
		}
		run.pause(ctx, again)
	}
}

// pause waits. A cancel ends it, but for a batch that was canceled before.
func (run *batchRun) pause(ctx context.Context, d time.Duration) {
	canceled := run.canceled
	if run.ending() {
		canceled = nil
	}
	defer run.waits.Store("")
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-canceled:
	case <-ctx.Done():
	}
}

// try carries the batch as far as it goes; again is the pause before the next
// try, 0 when it has ended.
func (run *batchRun) try(ctx context.Context) (again time.Duration, err error) {
	rec, ok, err := run.b.journal.ClientBatch(ctx, run.id)
	switch {
	case err != nil:
		return 0, err
	case !ok || !rec.Ended.IsZero() || !rec.Deleted.IsZero():
		return 0, nil
	case !rec.CancelInitiated.IsZero():
		run.giveUp()
	}
	if info, err := os.Stat(run.b.files.name(run.id, endRows)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	} else if err == nil && info.Size() > 0 {
		if again, err = run.rows(ctx, &rec); err != nil || again > 0 && !run.overdue() {
			return again, err
		}
	}
	run.b.step(stepCarried)
	return 0, run.end()
}

func (run *batchRun) overdue() bool { return run.b.now().After(run.expires.Add(overdue)) }

// rows carries the batch's job.
func (run *batchRun) rows(ctx context.Context, rec *journal.ClientBatch) (again time.Duration, err error) {
	leave, err := run.b.turns.take(ctx, run, rec.N)
	if err != nil {
		return 0, err
	}
	defer leave()
	cfg, purse, err := run.config(ctx, rec)
	if err != nil {
		return 0, err
	}
	fleet := &batchFleet{Fleet: run.b.cfg.Fleet, run: run, version: rec.Version, betas: rec.Betas}
	r, err := job.Open(ctx, fleet, cfg)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	err = r.Begin(ctx, batchBooks{run: run, purse: purse})
	if held := (*journal.HeldError)(nil); errors.As(err, &held) {
		run.waits.Store("elsewhere")
		return pauseHeld, nil
	} else if err != nil {
		return 0, err
	}
	s, report, err := r.Carry(ctx)
	switch {
	case err != nil, ctx.Err() != nil:
		return 0, errors.Join(err, ctx.Err())
	case s.Pending == 0:
		return 0, nil
	case report.Cause == flotilla.CapReached:
		return run.short(ctx, report.Budget)
	}
	run.waits.Store("closed")
	return run.waitLonger(), nil
}

// waitLonger is the pause where nothing of the batch's own can change anything.
func (run *batchRun) waitLonger() (again time.Duration) {
	again = run.shut
	run.shut = min(2*run.shut, pauseLong)
	return again
}

// short decides what becomes of a batch that a cap holds: where the money is
// spent for good, what is left errors; money that is only reserved, or another
// day's, is waited for.
func (run *batchRun) short(ctx context.Context, budget *flotilla.BudgetExceededError) (again time.Duration, err error) {
	run.waits.Store("budget")
	needs := flotilla.Money(1)
	if budget != nil {
		needs = max(budget.Needs, 1)
	}
	if capped, err := run.capped(ctx, needs); err != nil || capped {
		run.broke.Store(capped)
		return pauseBudget, err
	}
	if budget != nil && budget.Per > 0 {
		return run.waitLonger(), nil
	}
	shared, own, err := run.b.potsOf(ctx, Caller{Name: run.client})
	if err != nil {
		return 0, err
	}
	for i, pot := range slices.Concat(shared, own) {
		limit, spent, _, err := pot.State(ctx)
		if err != nil {
			return 0, err
		}
		switch {
		case limit < 0 || spent+needs <= limit:
		case i < len(shared):
			run.broke.Store(true)
			return pauseBudget, nil
		default:
			return run.waitLonger(), nil
		}
	}
	return pauseBudget, nil
}

// capped says that a cap which somebody set on the batch's job is spent for good:
// nothing of the job is under way.
func (run *batchRun) capped(ctx context.Context, needs flotilla.Money) (bool, error) {
	limit, given, err := run.book.Cap(ctx)
	if err != nil || !given || limit == 0 {
		return false, err
	}
	spent, err := run.book.Spent(ctx)
	return spent+needs > limit, err
}
