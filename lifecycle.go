package flotilla

import (
	"context"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// launch makes the core and starts the loop and what serves it.
func (f *Fleet) launch() {
	f.core = sched.New(f.coreConfig())
	f.tick = &sched.Tick{}
	f.ctx, f.stop = context.WithCancel(context.Background())
	f.commits = newCommitter(f.cfg.Store, f.launchAttempt, deliverSettled, f.dropSettled, f.storeFailed)
	f.trace = newTracer(f.cfg.Trace, f.coreConfig())
	f.running.Store(true)
	go f.run()
}

func (f *Fleet) coreConfig() sched.Config {
	cfg := sched.Config{
		Epoch: f.clock.epoch, Share: sched.ShareMode(f.cfg.Share), Ramp: sched.RampMode(f.cfg.Ramp), Hedge: f.cfg.Hedge,
		SoftFloor: f.cfg.SoftFloor, HardFloor: f.cfg.HardFloor, SoftTokens: f.cfg.SoftTokens, HardTokens: f.cfg.HardTokens,
		MaxAttempts: f.cfg.Retry.MaxAttempts, BaseDelay: f.cfg.Retry.BaseDelay, MaxDelay: f.cfg.Retry.MaxDelay,
		RetryPerMinute: f.cfg.Retry.BudgetPerMin, RetryPerSuccess: f.cfg.Retry.BudgetPerSucc,
	}
	if f.cfg.Spend != 0 {
		cfg.Ledgers = []sched.Ledger{{Limit: int64(max(f.cfg.Spend, 0))}}
	}
	f.ledgers = sched.LedgerID(len(cfg.Ledgers))
	return cfg
}

// addLedger opens a ledger and says which it is.
func (f *Fleet) addLedger(now time.Duration, l sched.Ledger) sched.LedgerID {
	id := f.ledgers
	f.ledgers++
	f.step(now, &sched.AddLedger{Ledger: l})
	return id
}

// wokeUp is what a suspend asks for: connections are dropped, mirrored levels
// forgotten, the ramp begins again; deadlines stay where they are.
func (f *Fleet) wokeUp(now time.Duration) {
	for _, o := range f.orgs {
		o.closeIdle()
	}
	f.step(now, &sched.Woke{})
	if f.cfg.Notify != nil {
		f.cfg.Notify(Notice{At: f.clock.wall(now), Kind: MachineSlept})
	}
}

// storeFailed is told by the committer that records cannot be kept: nothing
// more may be sent.
func (f *Fleet) storeFailed(err error) {
	f.inbox.put(message{run: func(time.Duration) { f.fail(err) }})
}

// deliverSettled sends a durable result on its way to its source.
func deliverSettled(s *settlement) { s.stream.deliveries.put(s) }

// dropSettled takes a result back that could not be journaled: its row stays
// pending there, so it is not shown either.
func (f *Fleet) dropSettled(s *settlement) {
	f.inbox.put(message{run: func(time.Duration) { s.done() }})
}

// fail ends every stream with an error, those still to be opened too: tend does
// it, since the core may be in the middle of a step. It must run in the loop.
func (f *Fleet) fail(err error) {
	if f.fatal != nil {
		return
	}
	f.fatal = err
	if f.cfg.Notify != nil {
		f.cfg.Notify(Notice{At: f.clock.wall(f.clock.now()), Kind: StoreFailed})
	}
	f.kick()
}

// closeDown has tend interrupt every stream; the loop quits when the last has
// ended.
func (f *Fleet) closeDown(time.Duration) { f.quitting = true }

// shutdown cancels what is in flight and writes what has settled.
func (f *Fleet) shutdown() {
	f.stop()
	f.flights.Wait()
	now := f.clock.now()
	for _, m := range f.inbox.take() {
		if m.ended != nil {
			f.ended(now, m.ended)
		}
	}
	f.commits.close()
	f.giveSlotsBack()
	for _, o := range f.orgs {
		o.closeIdle()
	}
	f.trace.close()
}

// closeIdle closes the connections of an org that carry nothing.
func (o *orgState) closeIdle() {
	if t, ok := o.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
