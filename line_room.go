package flotilla

import (
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// A Store counts what lines reserved ahead, the ledgers do not: what is below a
// cap is reserved ahead only as far as both stay below it, so that a crash at any
// moment leaves no more spent and in doubt than the cap.

// freeFor is what a line may reserve ahead. Where that is less than worst and an
// attempt waits for it, the lines that share the cap give back what they have,
// which takes effect as what drew on it ends; a purse is asked for more first.
func (f *Fleet) freeFor(now time.Duration, l *Line, worst Money) Money {
	free := Money(1 << 62)
	for _, id := range l.stream.ledgers {
		room, capped := f.roomOf(id, l)
		if !capped {
			continue
		}
		sharers := f.linesOf(id)
		room -= aheadOf(sharers)
		short := room < worst
		switch p := l.stream.purse; {
		case short && id == p.ledger && !p.dry:
			f.want(&sched.Want{Ledger: id, Nanos: int64(max(worst, l.money.size) - room)})
		case short && len(l.money.waiting) > 0:
			for _, o := range sharers {
				f.returnBlocks(now, o)
			}
			room, _ = f.roomOf(id, l)
			room -= aheadOf(sharers)
		}
		free = min(free, room)
	}
	return free
}

// roomOf is what is left below a ledger's limit but for the attempts of a line
// that wait for a block: they have reserved what the block is to cover.
func (f *Fleet) roomOf(id sched.LedgerID, l *Line) (room Money, capped bool) {
	limit, spent, reserved := f.core.Ledger(id)
	if limit < 0 {
		return 0, false
	}
	room = Money(limit - spent - reserved)
	for _, a := range l.money.waiting {
		room += a.worst
	}
	return room, true
}

// linesOf are the lines that draw on a ledger.
func (f *Fleet) linesOf(id sched.LedgerID) (lines []*Line) {
	for _, s := range f.streams {
		if s.line != nil && slices.Contains(s.ledgers, id) {
			lines = append(lines, s.line)
		}
	}
	return lines
}

func aheadOf(lines []*Line) (sum Money) {
	for _, l := range lines {
		sum += l.money.ahead
	}
	return sum
}

// flushLines puts the records of all lines on their way.
func (f *Fleet) flushLines() {
	for _, s := range f.streams {
		if s.line != nil {
			f.flushLine(s.line)
		}
	}
}
