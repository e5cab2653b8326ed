package flotilla

import (
	"context"
	"iter"
)

// Dispatch makes the calls that requests yields and yields each result as it
// completes, in completion order. It pulls requests only as far ahead as it
// needs. A failed call is a Result whose Err says so; a run that hit its cap
// ends with a Result whose Err is a *BudgetExceededError, one that ended before
// its last request for another reason (a deadline, lanes closed for too long,
// Close) with an *IncompleteError, and nothing follows it. Leaving the loop
// early cancels what was not sent; what is in flight settles into the store. A
// context that ends does the same.
//
// When nothing can be sent at all (no usable key, a closed fleet) the one
// Result yielded says so in Err. A body that cannot be sent (not JSON, a model
// without a price, under a cap a tool billed per use) gives a Result with a
// *RequestError.
//
// The iterator runs in a goroutine of its own. After an early end of the loop
// it is told so when it next yields: one that blocks for ever is left behind. A
// panic in it is the program's end: the caller of Dispatch cannot recover it.
//
// Batches are used where Options.Route says so, or where Options.N says that
// there are many requests and Options.Prefer that they need not all come at
// once. An iterator has no far end: batches take from the end of what was pulled
// ahead of the calls, a bounded amount.
func (f *Fleet) Dispatch(ctx context.Context, requests iter.Seq[Request], opt Options) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if opt.Route == nil {
			route := f.chooseRoute(&opt)
			opt.Route = &route
		}
		src := newFeed(f, cancel)
		src.capped = f.cfg.Spend != 0 || opt.MaxSpend != 0 || opt.Purse != nil || capping(opt.Pots)
		go src.pull(ctx, requests)
		var report Report
		var err error
		go func() {
			report, err = f.Carry(ctx, src, opt)
			src.close()
		}()
		if !src.each(yield) {
			return
		}
		switch {
		case err != nil:
			yield(Result{Row: -1, Err: err})
		case report.Budget != nil:
			yield(Result{Row: -1, Err: report.Budget})
		case report.Cause != Finished && ctx.Err() == nil:
			yield(Result{Row: -1, Err: &IncompleteError{Cause: report.Cause, Closed: report.Closed}})
		}
	}
}
