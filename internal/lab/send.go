package lab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// Send carries out one call. A refused or failed call is a Record that says so;
// the error is a *BudgetError or an *AbortError, before which nothing was sent,
// or ctx's.
func (b *Bench) Send(ctx context.Context, s Shot) (Record, error) {
	return b.send(ctx, s, b.clock.Now(), false)
}

func (b *Bench) send(ctx context.Context, s Shot, due time.Duration, canary bool) (Record, error) {
	return b.sendAs(ctx, s, Record{Due: due, Canary: canary})
}

// sendAs sends what r, but for its outcome, describes.
func (b *Bench) sendAs(ctx context.Context, s Shot, r Record) (Record, error) {
	r.Org, r.Model = s.Org, s.Model
	model, ok := b.env.Model(s.Model)
	if b.links[s.Org] == nil || !ok {
		return r, fmt.Errorf("no org %q or no price for %q", s.Org, s.Model)
	}
	release, err := b.slot(ctx, s.Org, s.Model)
	if err != nil {
		return r, err
	}
	defer release()
	body := s.body()
	worst := model.Worst(int64(len(body)), s.Shape.MaxTokens, false, false, false, false, false)
	id, err := b.intend(worst, &r)
	if err != nil {
		return r, err
	}
	doubt := b.exchange(ctx, &s, body, &r)
	if doubt {
		r.InDoubt = worst
	}
	if err := b.settle(id, worst, &r, model.Pool); err != nil {
		return r, err
	}
	return r, ctx.Err()
}

// intend reserves the worst case and writes the intent down.
func (b *Bench) intend(worst price.Nanos, r *Record) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		return 0, b.broken
	}
	if b.guard.abort != nil {
		return 0, b.guard.abort
	}
	if err := b.purse.reserve(worst); err != nil {
		return 0, err
	}
	r.Step = b.step
	id := b.partial.ids + 1
	b.broken = b.partial.write(line{Intent: id, Worst: worst})
	return id, b.broken
}

// settle writes an outcome down and lets everybody see it.
func (b *Bench) settle(id int64, worst price.Nanos, r *Record, pool string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.purse.settle(worst, r.Cost, r.InDoubt > 0)
	b.records = append(b.records, *r)
	b.guard.see(r, pool)
	if key := r.Org + " " + pool; r.Read != nil && (b.newest[key] == nil || r.Sent >= b.newest[key].Sent) {
		b.newest[key] = r
	}
	if err := b.partial.write(line{Intent: id, Record: r, At: r.End}); err != nil {
		b.broken = err
	}
	return b.broken
}

// Open sends by the clock: a call for every arrival, whether or not earlier ones
// have been answered, as long as the etiquette cap has room; where it has none
// the call goes late (Record.Due tells). Arrivals are counted from now and must
// not decrease. It returns when all have ended, with the records in order of
// arrival; after an error nothing new is sent, and those sent are given.
func (b *Bench) Open(ctx context.Context, arrivals iter.Seq[time.Duration], shot func(i int) Shot) ([]Record, error) {
	began := b.clock.Now()
	f := newFlight(ctx)
	i := 0
	for at := range arrivals {
		due := began + at
		if err := b.clock.Until(f.ctx, due); err != nil {
			break
		}
		s := shot(i)
		f.launch(i, func() (Record, error) { return b.send(f.sends, s, due, false) })
		i++
	}
	return f.land()
}

// Ladder sends n calls, conc of them in flight at any time.
func (b *Bench) Ladder(ctx context.Context, conc, n int, shot func(i int) Shot) ([]Record, error) {
	f := newFlight(ctx)
	places := make(chan struct{}, max(conc, 1))
	for i := range n {
		select {
		case places <- struct{}{}:
		case <-f.ctx.Done():
		}
		if f.ctx.Err() != nil {
			break
		}
		s := shot(i)
		f.launch(i, func() (Record, error) {
			defer func() { <-places }()
			return b.send(f.sends, s, b.clock.Now(), false)
		})
	}
	return f.land()
}

// Canary sends the same call each span until stop is called, which waits for
// the last and gives their records: a control of drift (facts/control.md E.1).
func (b *Bench) Canary(ctx context.Context, s Shot, every time.Duration) (stop func() ([]Record, error)) {
	f := newFlight(ctx)
	began := b.clock.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			due := began + time.Duration(i)*every
			if b.clock.Until(f.ctx, due) != nil {
				return
			}
			f.launch(i, func() (Record, error) { return b.send(f.sends, s, due, true) })
		}
	}()
	return func() ([]Record, error) {
		f.cancel(nil)
		<-done
		return f.land()
	}
}

// flight are calls under way together. ctx ends when no more should be sent;
// sends, in which those that left go on, is the caller's.
type flight struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	sends  context.Context
	wg     sync.WaitGroup

	mu      sync.Mutex
	records []Record
	sent    []bool
	err     error
}

func newFlight(ctx context.Context) *flight {
	f := &flight{sends: ctx}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	return f
}

func (f *flight) launch(i int, send func() (Record, error)) {
	f.mu.Lock()
	for len(f.records) <= i {
		f.records, f.sent = append(f.records, Record{}), append(f.sent, false)
	}
	f.mu.Unlock()
	f.wg.Go(func() {
		r, err := send()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.records[i], f.sent[i] = r, r.End > 0
		if err != nil && f.err == nil {
			f.err = err
			f.cancel(err)
		}
	})
}

// land waits for all and gives those that left.
func (f *flight) land() ([]Record, error) {
	f.wg.Wait()
	stopped := f.sends.Err()
	f.cancel(nil)
	kept := f.records[:0]
	for i := range f.records {
		if f.sent[i] {
			kept = append(kept, f.records[i])
		}
	}
	return kept, errors.Join(f.err, onlyNew(stopped, f.err))
}

// onlyNew leaves out an error that is told already.
func onlyNew(err, told error) error {
	if told != nil && errors.Is(told, err) {
		return nil
	}
	return err
}

// Every gives n arrivals at a steady rate a second.
func Every(perSecond float64, n int) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for i := range n {
			if !yield(time.Duration(float64(i) / perSecond * float64(time.Second))) {
				return
			}
		}
	}
}
