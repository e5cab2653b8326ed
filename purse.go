package flotilla

import (
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// allowance is what a stream was granted by its Purse.
type allowance struct {
	ledger sched.LedgerID // -1: the stream has no purse
	base   Money          // spent before the period under way
	has    Money          // granted in it
	until  time.Duration  // when it lapses; 0: never
	asking bool           // a Grant is under way
	dry    bool           // the last Grant gave nothing
}

// want asks a purse for more money, beside the loop.
func (f *Fleet) want(w *sched.Want) {
	for _, s := range f.streams {
		if s.purse.ledger != w.Ledger || s.purse.asking || s.ended() {
			continue
		}
		s.purse.asking = true
		need := Money(w.Nanos)
		f.flights.Add(1)
		go func() {
			defer f.flights.Done()
			granted, until, err := s.opt.Purse.Grant(f.ctx, need)
			f.inbox.put(message{run: func(now time.Duration) { f.granted(now, s, granted, until, err) }})
		}()
	}
}

func (f *Fleet) granted(now time.Duration, s *stream, granted Money, until time.Time, err error) {
	p := &s.purse
	p.asking = false
	if err != nil {
		f.halt(now, s, Stopped, err)
		return
	}
	if !until.IsZero() {
		p.until = max(f.clock.at(until), 1)
	}
	if p.until > 0 && now >= p.until {
		f.lapse(now, s) // the period ended while we asked: freed and wanted anew
		return
	}
	p.dry = granted <= p.has
	if p.dry {
		return
	}
	p.has = granted
	f.step(now, &sched.SetLedger{Ledger: p.ledger, Limit: int64(p.base + granted)})
}

// lapses ends the periods that are over, before anything is sent in the next.
func (f *Fleet) lapses(now time.Duration) {
	for _, s := range f.streams {
		if s.purse.until > 0 && now >= s.purse.until && !s.ended() {
			f.lapse(now, s)
		}
	}
}

// lapse ends a period: what is unspent is gone. What is in flight was reserved
// in the period that is over, and still counts against the one to come, so that
// neither can be overdrawn.
func (f *Fleet) lapse(now time.Duration, s *stream) {
	p := &s.purse
	_, spent, _ := f.core.Ledger(p.ledger)
	p.base, p.has, p.until, p.dry = Money(spent), 0, 0, false
	f.step(now, &sched.SetLedger{Ledger: p.ledger, Limit: spent})
}
