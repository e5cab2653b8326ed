package job

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Carry makes the calls that are still to be made, writes OUT to its end and
// gives the job back to the journal. The error is of input, output, journal or
// a refused canary; how else the run ended is the report's Cause. ExitCode
// makes a number of all three.
func (r *Run) Carry(ctx context.Context) (s Summary, report flotilla.Report, err error) {
	canceled := false
	if r.src.left > 0 && ctx.Err() == nil {
		report, canceled, err = r.carry(ctx)
	} else if r.src.left > 0 {
		report.Cause = flotilla.Interrupted
	}
	keep := context.WithoutCancel(ctx) // what is done is kept, whatever ended the run
	if errors.Is(err, errFailFast) {
		err = nil
	}
	if canceled && err == nil {
		report, err = r.cancelAll(ctx, report)
		report.Cause = flotilla.Finished
	}
	err = errors.Join(err, r.end(keep))
	s, sumErr := r.summary(keep, &report)
	err = errors.Join(err, sumErr)
	var totals json.RawMessage
	if err == nil {
		totals, err = r.totals(s)
	}
	return s, report, errors.Join(err, r.book.End(keep, s.Pending == 0 && r.limit == r.x.calls(), totals))
}

// carry runs the fleet, with an ear for what other processes ask of the job.
// Calls that the craft asks anew at the end are a part of their own. A
// pause ends the fleet's part, what is in flight drains, and another begins
// with what is left once somebody says so.
func (r *Run) carry(ctx context.Context) (total flotilla.Report, canceled bool, err error) {
	for {
		report, signal, err := r.carryUntil(ctx)
		total = addReport(total, report)
		if err == nil && signal == GoOn && report.Cause == flotilla.Finished && r.src.waiting() {
			if err := r.stock(ctx); err != nil {
				return total, false, err
			}
			continue
		}
		if err != nil || signal == Cancel || signal == GoOn {
			return total, signal == Cancel, err
		}
		r.cfg.Say("paused; flotilla jobs resume " + r.plan.Job + " goes on")
		if signal = r.wait(ctx); signal == Cancel || ctx.Err() != nil {
			return total, signal == Cancel, nil
		}
		if err := r.stock(ctx); err != nil {
			return total, false, err
		}
	}
}

// carryUntil runs the fleet until the job ends or a signal comes. A cap that a
// person changes meanwhile holds at once.
func (r *Run) carryUntil(ctx context.Context) (report flotilla.Report, signal Signal, err error) {
	opt, err := r.options(ctx)
	if err != nil {
		return report, GoOn, err
	}
	caps := make(chan flotilla.Money, 1)
	opt.Caps = caps
	inner, stop := context.WithCancel(ctx)
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		limit := opt.MaxSpend
		signal = r.listen(inner, func(s Signal) bool {
			if now, err := r.maxSpend(inner); err == nil && now != limit {
				limit = now
				renew(caps, limit)
			}
			return s != GoOn
		})
		stop()
	}()
	report, err = r.fleet.Carry(inner, r.src, opt)
	stop()
	<-listening
	if report.Cause != flotilla.Interrupted || ctx.Err() != nil {
		signal = GoOn // it ended by itself
	}
	return report, signal, err
}

// renew leaves a value in a channel that holds one, in place of what nobody took.
func renew(c chan flotilla.Money, value flotilla.Money) {
	select {
	case <-c:
	default:
	}
	c <- value // nobody else sends
}

// wait returns when a paused run is to go on or to end.
func (r *Run) wait(ctx context.Context) Signal {
	return r.listen(ctx, func(s Signal) bool { return s != Pause })
}

// signalEvery is how often a run looks whether somebody asked something of it:
// two look-ups by number in the journal.
const signalEvery = time.Second

// listen waits for a signal that counts; GoOn when the context ends first.
func (r *Run) listen(ctx context.Context, counts func(Signal) bool) Signal {
	t := time.NewTicker(signalEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return GoOn
		case <-t.C:
		}
		if signal, err := r.book.Signal(ctx); err == nil && counts(signal) {
			return signal
		}
	}
}

// cancelRest settles what is pending as canceled: somebody asked for it.
func (r *Run) cancelRest() error {
	standing, err := r.book.Standing(context.Background())
	if err != nil {
		return err
	}
	var batch []flotilla.Record
	var answers []Answer
	flush := func() error {
		if err := r.append(batch); err != nil {
			return err
		}
		for i := range answers {
			r.settled(&answers[i], resend{})
			if err := r.w.settle(&answers[i], r.src.again[answers[i].Row].anewFor()); err != nil {
				return err
			}
		}
		batch, answers = batch[:0], answers[:0]
		return nil
	}
	for call := range r.limit {
		if !r.x.holds(call) || standing.Outcome(call) != Pending && !r.src.again[call].craft || r.src.kept.has(call) {
			continue
		}
		if again := r.src.again[call]; again.craft {
			r.chains.settled(r.x, call, &resend{cost: again.cost}) // its first answer was paid for
		}
		e := r.x.row(call)
		a := Answer{Row: call, Outcome: Canceled, Tier: "sync", Model: r.x.kinds[e.kind].model, Hash: e.key, When: r.cfg.Now()}
		batch, answers = append(batch, r.x.record(&a)), append(answers, a)
		if len(batch) == reuseBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// end completes OUT. Rows that --retry was to send again and that had no luck
// keep the answers they had.
func (r *Run) end(ctx context.Context) error {
	var left []int
	for call := range r.src.again {
		if r.w.needs(call) && !r.src.again[call].craft {
			left = append(left, call)
		}
	}
	slices.Sort(left)
	for _, call := range left {
		a, err := r.book.Answer(ctx, r.src.standing.At(call))
		if err == nil {
			err = r.w.write(&a)
		}
		if err != nil {
			return err
		}
	}
	return r.w.finish(ctx)
}

// summary is how the job stands now.
func (r *Run) summary(ctx context.Context, report *flotilla.Report) (s Summary, err error) {
	p := &r.plan
	s = Summary{
		JobID: p.Job, N: p.Rows, Rejected: p.Rejected, Cached: p.Cached, Resumed: p.Settled, InDoubt: p.InDoubt,
		ExpectedUSD: p.Spent + r.expected(), ByLane: []LaneSummary{}, Binding: []BindingSummary{},
	}
	if r.cfg.Emulated != "" {
		s.Emulated = &r.cfg.Emulated
	}
	limit, err := r.maxSpend(ctx)
	if err != nil {
		return s, err
	}
	if limit != 0 {
		limit = max(limit, 0)
		s.CapUSD = &limit
	}
	s.count(r.tally)
	s.take(report)
	s.rates(r.progress.Settled, r.progress.Output)
	if s.CostUSD, err = r.book.Spent(ctx); err != nil {
		return s, err
	}
	s.kept(r.promise, p, report)
	open, err := r.book.Batches(ctx)
	if err != nil {
		return s, err
	}
	s.leave(open, report, r.cfg.Now(), r.cfg.KeyVariable)
	if c := r.x.build.craft; c != nil {
		s.Judge, err = c.Summarize(r.all(ctx))
	}
	return s, err
}
