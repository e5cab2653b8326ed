package flotilla

import (
	"errors"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// block is money that a line reserved ahead in the Store. What is drawn is
// not given back: an outcome moves the whole worst case of its attempt out of
// the block, and what the call did not cost is free again.
type block struct {
	number int64
	left   Money // not yet drawn
	out    int   // attempts that drew on it and have no record yet
	opened time.Duration
	spent  bool // nothing more is drawn on it
}

// blocks are a line's: one that is drawn on, perhaps one ahead of it.
type blocks struct {
	now, next *block
	asking    bool // the record of a block is on its way
	size      Money
	ahead     Money      // reserved and not drawn, of all that are not closed
	waiting   []*attempt // that no block covers yet
	idle      time.Duration
}

// A block begins with the worst cases of so many calls, and is doubled where it
// lasted less than blockShort, up to blockMost of them, so that no call waits for
// the Store while a crash leaves little in doubt. It takes no more than a
// quarter of what is left below a cap and not reserved ahead already, unless one
// call needs more: then other lines give back what they have ahead. A line
// without calls gives its block back after blockIdle.
const (
	blockFirst = 8
	blockMost  = 1024
	blockShort = 2 * time.Second
	blockIdle  = 30 * time.Second
)

// draw covers an attempt, or notes that it waits for a block.
func (f *Fleet) draw(now time.Duration, l *Line, a *attempt) bool {
	m := &l.money
	m.idle = now
	if m.now != nil && m.now.left < a.worst && m.next != nil && m.next.left >= a.worst {
		f.useUp(now, l, m.now)
		m.now, m.next = m.next, nil
	}
	if m.now == nil || m.now.left < a.worst {
		m.waiting = append(m.waiting, a)
		f.askBlock(now, l, a.worst)
		return false
	}
	f.drawOn(m.now, a)
	if m.next == nil && m.now.left < m.size/2 {
		f.askBlock(now, l, a.worst)
	}
	return true
}

func (f *Fleet) drawOn(b *block, a *attempt) {
	b.left -= a.worst
	a.call.line.line.money.ahead -= a.worst
	b.out++
	a.block = b
}

// askBlock reserves a further block; worst is what it must cover at least. Where a
// cap leaves no room for it beside what is reserved ahead already, it waits:
// tendLine asks again.
func (f *Fleet) askBlock(now time.Duration, l *Line, worst Money) {
	m := &l.money
	free := f.freeFor(now, l, worst)
	if m.asking || free < worst {
		return
	}
	m.asking = true
	switch {
	case m.size == 0:
		m.size = blockFirst * worst
	case m.now != nil && now-m.now.opened < blockShort:
		m.size = min(2*m.size, blockMost*worst)
	case m.now != nil && now-m.now.opened > blockIdle:
		m.size = max(m.size/2, blockFirst*worst)
	}
	b := &block{number: f.batchNumber(), left: max(worst, min(m.size, free/4)), opened: now}
	m.ahead += b.left
	// What ended and is not recorded yet counts at its worst case in the Store, in
	// the ledgers no more: it goes first.
	f.flushLines()
	f.commits.put(entry{record: f.blockRecord(now, l, b, BlockOpen), then: func(err error) {
		f.inbox.put(message{run: func(now time.Duration) { f.blockOpen(now, l, b, err) }})
	}})
}

func (f *Fleet) blockRecord(now time.Duration, l *Line, b *block, step BatchStep) Record {
	return Record{Kind: BlockRecord, Step: step, Job: l.opt.Job, Block: b.number, Worst: b.left, At: f.clock.wall(now)}
}

// blockOpen takes in that a block is durable: what waits for it may go.
func (f *Fleet) blockOpen(now time.Duration, l *Line, b *block, err error) {
	m := &l.money
	m.asking = false
	waiting := m.waiting
	m.waiting = nil
	switch {
	case err != nil:
		m.ahead -= b.left
	case m.now == nil:
		m.now = b
	case len(waiting) > 0: // what is left of the old one covers none of them
		f.useUp(now, l, m.now)
		m.now = b
	default:
		if m.next != nil { // too small for a call that has gone meanwhile
			f.useUp(now, l, m.next)
		}
		m.next = b
	}
	for _, a := range waiting {
		switch {
		case err != nil || l.stream.closed:
			a.dropped = ErrClosed
			f.launchLine(a)
		case f.draw(now, l, a):
			f.launchLine(a)
		}
	}
}

// useUp ends the drawing on a block; it is closed once all that drew on it is
// recorded.
func (f *Fleet) useUp(now time.Duration, l *Line, b *block) {
	b.spent = true
	f.closeBlock(now, l, b)
}

func (f *Fleet) closeBlock(now time.Duration, l *Line, b *block) {
	if b.spent && b.out == 0 {
		l.money.ahead -= b.left
		f.keepLine(now, l, f.blockRecord(now, l, b, BlockClosed))
	}
}

// recorded notes that an attempt's record is written: it no longer needs its
// block.
func (f *Fleet) recordedOn(now time.Duration, l *Line, b *block) {
	if b != nil {
		b.out--
		f.closeBlock(now, l, b)
	}
}

// tendBlocks gives the money of a line back that has had no call for a while,
// and says when to look again.
func (f *Fleet) tendBlocks(now time.Duration, l *Line) time.Duration {
	m := &l.money
	switch {
	case len(m.waiting) == 0 || m.asking:
	case l.stream.closed:
		f.dropWaiting(l, func(*attempt) bool { return true })
	default:
		f.askBlock(now, l, m.waiting[0].worst) // a cap had no room for it
	}
	if m.now == nil && m.next == nil || m.asking {
		return sched.Never
	}
	due := m.idle + blockIdle
	if !l.stream.closed && now < due {
		return due
	}
	f.returnBlocks(now, l)
	return sched.Never
}

// dropWaiting lets attempts that no block covers yet end unsent.
func (f *Fleet) dropWaiting(l *Line, which func(a *attempt) bool) {
	m := &l.money
	m.waiting = slices.DeleteFunc(m.waiting, func(a *attempt) bool {
		if !which(a) {
			return false
		}
		a.dropped = errNoBlock
		f.launchLine(a)
		return true
	})
}

var errNoBlock = errors.New("not sent: its money was not reserved")

// returnBlocks ends the drawing on what a line has ahead.
func (f *Fleet) returnBlocks(now time.Duration, l *Line) {
	m := &l.money
	for _, b := range []*block{m.now, m.next} {
		if b != nil {
			f.useUp(now, l, b)
		}
	}
	m.now, m.next = nil, nil
}
