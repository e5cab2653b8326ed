package flotilla

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// allowance is what a Purse granted to its streams, of which one may begin
// after the other: what those before have spent was granted to them all.
type allowance struct {
	ledger sched.LedgerID // -1: the stream has no purse
	base   Money          // spent before the period under way
	has    Money          // granted in it
	until  time.Duration  // when it lapses; 0: never
	asking bool           // a Grant is under way
	dry    bool           // the last Grant gave nothing

	// Where it is dry: what may come back of what is reserved, and when it is asked
	// again while calls wait for that (0: it is not).
	free   Money
	again  time.Duration
	rounds int // Grants that were answered
}

// Money that others hold back is asked for again every moneyAgain while calls
// wait for it, and a call whose time is over is told to come again after
// moneyPause: nobody knows when it comes.
const (
	moneyAgain = 2 * time.Second
	moneyPause = 5 * time.Second
)

// allowanceOf is the allowance of a purse in the period under way.
func (f *Fleet) allowanceOf(now time.Duration, purse Purse) *allowance {
	if purse == nil {
		return &allowance{ledger: -1}
	}
	if !reflect.TypeOf(purse).Comparable() { // its streams cannot be told
		return &allowance{ledger: f.addLedger(now, sched.Ledger{})}
	}
	p := f.allowances[purse]
	if p == nil {
		p = &allowance{ledger: f.addLedger(now, sched.Ledger{})}
		f.allowances[purse] = p
	}
	if p.dry = false; p.until > 0 && now >= p.until { // a stream that begins asks anew
		f.lapse(now, p)
	}
	return p
}

// want asks a purse for more money, beside the loop.
func (f *Fleet) want(w *sched.Want) {
	for _, s := range f.streams {
		if s.purse.ledger != w.Ledger || s.purse.asking || s.ended() {
			continue
		}
		s.purse.asking = true
		need, has := Money(w.Nanos), s.purse.has
		f.flights.Add(1)
		go func() {
			defer f.flights.Done()
			granted, until, err := s.opt.Purse.Grant(f.ctx, need)
			free := Money(0)
			if purse, ok := s.opt.Purse.(PatientPurse); ok && err == nil && granted <= has {
				free, err = purse.Free(f.ctx)
			}
			f.inbox.put(message{run: func(now time.Duration) {
				s.purse.free = free
				f.granted(now, s.purse, granted, until, err)
			}})
		}()
	}
}

func (f *Fleet) granted(now time.Duration, p *allowance, granted Money, until time.Time, err error) {
	p.asking, p.again = false, 0
	p.rounds++
	if err != nil {
		for _, s := range f.streams {
			if s.purse == p {
				f.halt(now, s, Stopped, err)
			}
		}
		return
	}
	if !until.IsZero() {
		p.until = max(f.clock.at(until), 1)
	}
	if p.until > 0 && now >= p.until {
		f.lapse(now, p) // the period ended while we asked: freed and wanted anew
		return
	}
	p.dry = granted <= p.has
	if p.dry {
		if p.free > 0 {
			p.again = now + moneyAgain
		}
		return
	}
	p.has = granted
	f.step(now, &sched.SetLedger{Ledger: p.ledger, Limit: int64(p.base + granted)})
}

// askAgain asks a purse that gave nothing once more, and tells when that is due.
func (f *Fleet) askAgain(now time.Duration, p *allowance) time.Duration {
	switch {
	case p.again == 0 || p.asking:
		return sched.Never
	case now < p.again:
		return p.again
	}
	p.again = 0
	limit, _, _ := f.core.Ledger(p.ledger)
	f.step(now, &sched.SetLedger{Ledger: p.ledger, Limit: limit})
	return sched.Never
}

// lapses ends the periods that are over, before anything is sent in the next.
func (f *Fleet) lapses(now time.Duration) {
	for _, s := range f.streams {
		if s.purse.until > 0 && now >= s.purse.until && !s.ended() {
			f.lapse(now, s.purse)
			f.forgetAllowances()
		}
	}
}

// forgetAllowances leaves those that no stream has to a period that is over.
func (f *Fleet) forgetAllowances() {
	maps.DeleteFunc(f.allowances, func(_ Purse, p *allowance) bool {
		return !slices.ContainsFunc(f.streams, func(s *stream) bool { return s.purse == p && !s.ended() })
	})
}

// lapse ends a period: what is unspent is gone. What is in flight was reserved
// in the period that is over, and still counts against the one to come, so that
// neither can be overdrawn.
func (f *Fleet) lapse(now time.Duration, p *allowance) {
	_, spent, _ := f.core.Ledger(p.ledger)
	p.base, p.has, p.until, p.dry = Money(spent), 0, 0, false
	p.again = 0
	f.step(now, &sched.SetLedger{Ledger: p.ledger, Limit: spent})
}
